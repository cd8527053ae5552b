// The start and the end of a program of several processes.
#pragma once
#include <optional>
#include <string>

#include "weft/core/array/integer.h"
#include "weft/core/errors/source_loc.h"

/// Several processes that run one program over the devices of all of them (jax.distributed).
namespace weft::distributed {

/// Options of initialize. Those not given are read from the environment: WEFT_COORDINATOR, WEFT_NUM_PROCESSES, WEFT_PROCESS_ID, WEFT_TOKEN,
/// WEFT_COLLECTIVE_TIMEOUT (seconds), WEFT_CHECK_COLLECTIVES (1); under mpirun or srun nothing need be given.
struct InitializeOptions {
  std::string coordinator_address = {};               ///< "host:port" on which process 0 listens; not needed under MPI
  std::optional<Int> num_processes = {};              ///< all of them, on all machines
  std::optional<Int> process_id = {};                 ///< which of them this is, from 0
  std::string token = {};                             ///< a secret that all processes share; connections without it are refused
  std::optional<double> timeout = {};                 ///< seconds that a collective waits for another process; 60 if not given
  std::optional<double> initialization_timeout = {};  ///< seconds that processes wait for each other at the start; 120 if not given
  std::optional<bool> check_collectives =
      {};  ///< before each collective, compare what all processes ran so far: finds differences at once, at some cost
};

/// Connects this process to the others; must be called before a device is used. Without others (not under MPI, no coordinator) it does
/// nothing. Afterwards devices() lists those of all processes, process 0's first, and collectives, shard_map, pmap and arrays may span
/// them. At its end the program waits for the others. Throws DistributedError if the others can't be reached, if a device was used before,
/// or if MPI is needed and missing.
///
/// With WEFT_DRY_RUN=64x4 in the environment the program runs alone, as process 0 of 64 with 4 devices each: everything is compiled for
/// that mesh, nothing is sent, data from other processes is zeros, and at its end it prints each collective and its bytes.
void initialize(InitializeOptions options = {}, SourceLoc loc = SourceLoc::here());
/// Whether initialize() has been called and shutdown() not.
bool is_initialized();
/// Waits for the other processes, then disconnects. The end of the program does it too.
void shutdown();

}  // namespace weft::distributed
