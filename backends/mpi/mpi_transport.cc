// Messages over MPI: the plugin weft_mpi, opened by distributed::initialize().
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/transport.h"

namespace {

using weft::detail::Transport;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

static_assert(sizeof(MPI_Request) <= sizeof(Transport::Request));
MPI_Request load(const Transport::Request& r) {
  MPI_Request m;
  std::memcpy(&m, &r.handle, sizeof m);
  return m;
}
Transport::Request store(MPI_Request m) {
  Transport::Request r;
  std::memcpy(&r.handle, &m, sizeof m);
  return r;
}

class MpiTransport final : public Transport {
 public:
  MpiTransport() {
    int there = 0, given = MPI_THREAD_SINGLE;
    check(MPI_Initialized(&there), "MPI_Initialized");
    ours_ = !there;
    if (ours_)
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "MPI_Init_thread");
    else
      check(MPI_Query_thread(&given), "MPI_Query_thread");
    if (given < MPI_THREAD_SERIALIZED) throw std::runtime_error("MPI_Init_thread: MPI_THREAD_SERIALIZED is needed, which this MPI does not give");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  std::string description() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    return std::string(text, static_cast<std::size_t>(length));
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Request send(int to, int tag, const void* data, std::size_t bytes) override {
    MPI_Request m;
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm_, &m), "MPI_Isend");
    return store(m);
  }
  Request receive(int from, int tag, void* data, std::size_t bytes) override {
    MPI_Request m;
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, comm_, &m), "MPI_Irecv");
    return store(m);
  }
  bool test(Request& request) override {
    MPI_Request m = load(request);
    int done = 0;
    check(MPI_Test(&m, &done, MPI_STATUS_IGNORE), "MPI_Test");
    request = store(m);
    return done != 0;
  }
  void finalize() override {
    check(MPI_Comm_free(&comm_), "MPI_Comm_free");
    int over = 0;
    MPI_Finalized(&over);
    if (ours_ && !over) check(MPI_Finalize(), "MPI_Finalize");
  }
  void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool ours_ = false;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) weft::detail::Transport* weft_open_transport(int version, char* problem, std::size_t problem_bytes) {
  try {
    if (version != weft::detail::kTransportVersion) throw std::runtime_error("the plugin was built for another version of the library");
    return new MpiTransport;
  } catch (const std::exception& e) {
    std::snprintf(problem, problem_bytes, "%s", e.what());
    return nullptr;
  }
}
