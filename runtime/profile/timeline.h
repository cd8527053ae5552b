// The timeline that profiles record (runtime/host/profile.h): named ranges of work on each thread, and the memory in use. While nothing
// records, a range costs one relaxed load of a flag.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail {

enum class Work : std::uint8_t {
  trace,       ///< a user's function becomes a program
  compile,     ///< a program becomes code
  program,     ///< a call of a compiled program
  kernel,      ///< generated code
  routine,     ///< code of a library or of weft: a matmul, a sort, a factorisation
  control,     ///< a loop or branch
  collective,  ///< devices exchange
  transfer,    ///< arrays are put on devices, or gathered
  user,        ///< a name of the user's
};

/// The description of a step of a compiled program. It must live as long as the process: see lasting().
struct WorkLabel {
  std::string name;
  std::string program = {};  ///< whose step it is
  std::string scope = {};    ///< the user's names for what it computes, and the lines that it comes from
  double flops = 0, bytes = 0;
  friend bool operator==(const WorkLabel&, const WorkLabel&) = default;
};
/// Interns the label: an equal one that lives as long as the process.
const WorkLabel& lasting(const WorkLabel& label);

extern std::atomic<bool> timeline_is_on;

/// A range of work of the calling thread, for as long as the object lives.
class [[nodiscard]] TimelineRange {
 public:
  TimelineRange(Work work, const std::string& name, int device = -1) {
    if (timeline_is_on.load(std::memory_order_relaxed)) begin(work, name, device);
  }
  TimelineRange(Work work, const char* name, int device = -1) {
    if (timeline_is_on.load(std::memory_order_relaxed)) begin(work, name, device);
  }
  TimelineRange(Work work, const WorkLabel& label) : label_(&label) {
    if (timeline_is_on.load(std::memory_order_relaxed)) begin(work, {}, -1);
  }
  ~TimelineRange() {
    if (begun_ >= 0) end();
  }
  TimelineRange(const TimelineRange&) = delete;
  TimelineRange& operator=(const TimelineRange&) = delete;

 private:
  void begin(Work work, std::string_view name, int device);
  void end();
  std::int64_t begun_ = -1;  // nanoseconds
  const WorkLabel* label_ = nullptr;
  std::string name_ = {};
  int device_ = -1;
  Work work_ = Work::user;
};

/// Records the number of bytes that a device has in use.
void note_memory(int device, std::int64_t bytes) noexcept;

}  // namespace weft::detail
