// Messages over MPI: the plugin weft_mpi, opened by distributed::initialize().
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "weft/runtime/processes/transport.h"

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
    if (given < MPI_THREAD_SERIALIZED)
      throw std::runtime_error("MPI_Init_thread: MPI_THREAD_SERIALIZED is needed, which this MPI does not give");
    MPI_Comm all = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(all, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(all, &size_), "MPI_Comm_size");
    channels_.push_back(all);
    MPI_Comm here = MPI_COMM_NULL;
    check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here), "MPI_Comm_split_type");
    check(MPI_Comm_size(here, &processes_here_), "MPI_Comm_size");
    check(MPI_Comm_free(&here), "MPI_Comm_free");
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int processes_here() const override { return processes_here_; }
  Channel open(std::span<const int> ranks, int tag) override {
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    check(MPI_Comm_group(channels_[0], &all), "MPI_Comm_group");
    check(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some), "MPI_Group_incl");
    check(MPI_Comm_create_group(channels_[0], some, tag & 0x7fff, &made), "MPI_Comm_create_group");  // that much is a tag for every MPI
    check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Group_free(&some), "MPI_Group_free");
    check(MPI_Group_free(&all), "MPI_Group_free");
    channels_.push_back(made);
    return static_cast<Channel>(channels_.size()) - 1;
  }
  Request send(Channel channel, int to, int tag, std::span<const Piece> pieces) override {
    MPI_Request m;
    if (is_plain(pieces)) {
      check(
          MPI_Isend(pieces[0].data, static_cast<int>(pieces[0].bytes), MPI_BYTE, to, tag, channels_[static_cast<std::size_t>(channel)], &m),
          "MPI_Isend");
      return store(m);
    }
    const Layout l(pieces);
    check(MPI_Isend(MPI_BOTTOM, 1, l.type, to, tag, channels_[static_cast<std::size_t>(channel)], &m), "MPI_Isend");
    return store(m);
  }
  Request receive(Channel channel, int from, int tag, std::span<const Piece> pieces) override {
    MPI_Request m;
    if (is_plain(pieces)) {
      check(MPI_Irecv(pieces[0].data, static_cast<int>(pieces[0].bytes), MPI_BYTE, from, tag, channels_[static_cast<std::size_t>(channel)],
                      &m),
            "MPI_Irecv");
      return store(m);
    }
    const Layout l(pieces);
    check(MPI_Irecv(MPI_BOTTOM, 1, l.type, from, tag, channels_[static_cast<std::size_t>(channel)], &m), "MPI_Irecv");
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
    // In one order everywhere, as they were made.
    for (MPI_Comm& c : channels_) check(MPI_Comm_free(&c), "MPI_Comm_free");
    int over = 0;
    MPI_Finalized(&over);
    if (ours_ && !over) check(MPI_Finalize(), "MPI_Finalize");
  }
  void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::abort();
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 30;  // MPI counts in int
  static bool is_plain(std::span<const Piece> pieces) { return pieces.size() == 1 && pieces[0].bytes <= kMost; }

  /// Pieces in MPI's terms: a type of absolute addresses.
  struct Layout {
    explicit Layout(std::span<const Piece> pieces) {
      std::vector<int> lengths;
      std::vector<MPI_Aint> addresses;
      for (const Piece& p : pieces)
        for (std::size_t at = 0; at < p.bytes; at += kMost) {
          lengths.push_back(static_cast<int>(std::min(kMost, p.bytes - at)));
          check(MPI_Get_address(static_cast<char*>(p.data) + at, &addresses.emplace_back()), "MPI_Get_address");
        }
      check(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), addresses.data(), MPI_BYTE, &type),
            "MPI_Type_create_hindexed");
      check(MPI_Type_commit(&type), "MPI_Type_commit");
    }
    // A message under way keeps the type.
    ~Layout() { MPI_Type_free(&type); }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
    MPI_Datatype type = MPI_DATATYPE_NULL;
  };

  std::vector<MPI_Comm> channels_;
  int rank_ = 0, size_ = 1, processes_here_ = 1;
  bool ours_ = false;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) weft::detail::Transport* weft_open_transport(int version, char* problem,
                                                                                               std::size_t problem_bytes) {
  try {
    if (version != weft::detail::kTransportVersion) throw std::runtime_error("the plugin was built for another version of the library");
    return new MpiTransport;
  } catch (const std::exception& e) {
    std::snprintf(problem, problem_bytes, "%s", e.what());
    return nullptr;
  }
}
