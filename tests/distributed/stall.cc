// Preloaded into the processes of a fault test: one of them dies, stops or goes astray within MPI, while it makes a communicator.
//
//     WEFT_TEST_STALL=kill|stop|loop WEFT_TEST_STALL_RANK=1
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" __attribute__((visibility("default"))) int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  const char *how = std::getenv("WEFT_TEST_STALL"), *who = std::getenv("WEFT_TEST_STALL_RANK");
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  if (how && who && rank == std::atoi(who)) {
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    std::fprintf(stderr, "FAULT at %.2f\n", now);
    if (std::string(how) == "kill") raise(SIGKILL);
    if (std::string(how) == "stop") kill(getpid(), SIGSTOP);
    while (std::string(how) == "loop") sleep(1);
  }
  return PMPI_Comm_create_group(comm, group, tag, made);
}
