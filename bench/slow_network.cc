// Preloaded into processes under MPI: what they receive takes as long as over a network of the given latency (seconds) and bandwidth (bytes
// a second), during which their processors are free, as network cards move data by themselves.
//
//     mpirun -x LD_PRELOAD=bench/slow_network.so -x SLOW_LATENCY=2e-5 -x SLOW_BANDWIDTH=1e9 -n 2 bench/overlap
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double number(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atof(text) : otherwise;
}
std::map<MPI_Request, double> arrivals;  // weft calls MPI from one thread at a time
double link_is_free = 0;

}  // namespace

extern "C" __attribute__((visibility("default"))) int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                                                                MPI_Request* request) {
  static const double latency = number("SLOW_LATENCY", 2e-5), bandwidth = number("SLOW_BANDWIDTH", 1e9);
  int size = 0;
  PMPI_Type_size(type, &size);
  const int code = PMPI_Irecv(data, count, type, from, tag, comm, request);
  link_is_free = std::max(link_is_free, now()) + static_cast<double>(size) * count / bandwidth;
  arrivals[*request] = link_is_free + latency;
  return code;
}

extern "C" __attribute__((visibility("default"))) int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const auto arrival = arrivals.find(*request);
  if (arrival != arrivals.end() && now() < arrival->second) return *done = 0, MPI_SUCCESS;
  const int code = PMPI_Test(request, done, status);
  if (arrival != arrivals.end() && *done) arrivals.erase(arrival);
  return code;
}
