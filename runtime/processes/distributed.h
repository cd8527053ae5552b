#pragma once
#include <optional>
#include <string>

#include "weft/core/array/integer.h"
#include "weft/core/errors/source_loc.h"

/// Several processes that run one program, each with devices of its own, over the devices of all (jax.distributed).
namespace weft::distributed {

/// What is not given here is taken from the environment: WEFT_COORDINATOR, WEFT_NUM_PROCESSES, WEFT_PROCESS_ID, WEFT_TOKEN,
/// WEFT_COLLECTIVE_TIMEOUT (seconds), WEFT_CHECK_COLLECTIVES (1); under mpirun or srun nothing need be given.
struct InitializeOptions {
  std::string coordinator_address = {};               ///< "host:port" on which process 0 listens; not needed under MPI
  std::optional<Int> num_processes = {};              ///< all of them, on all machines
  std::optional<Int> process_id = {};                 ///< which of them this is, from 0
  std::string token = {};                             ///< a secret that all processes share; others are not let in
  std::optional<double> timeout = {};                 ///< seconds that a collective waits for another process; 60 if not given
  std::optional<double> initialization_timeout = {};  ///< seconds that processes wait for each other at the start; 120 if not given
  std::optional<bool> check_collectives =
      {};  ///< before each collective, compare what all processes ran so far: an error at once, for a price
};

/// Joins this process to the others, before the first use of a device; without others (not under MPI, no coordinator) it does nothing.
/// Then devices() are those of all processes, process 0's first, and collectives, shard_map, pmap and arrays may span them. At its end the
/// program waits for the others. Throws DistributedError if the others can't be found, if a device was used before, or where MPI is
/// needed and not there.
///
/// With WEFT_DRY_RUN=64x4 in the environment the program runs alone, as process 0 of 64 with 4 devices each: everything is compiled for
/// that mesh, nothing is sent, what the others would have sent is zeros, and at its end it prints each collective and its bytes.
void initialize(InitializeOptions options = {}, SourceLoc loc = SourceLoc::here());
/// Whether initialize() has been called and shutdown() not.
bool is_initialized();
/// Waits for the others, then parts from them. The program's end does it too.
void shutdown();

}  // namespace weft::distributed
