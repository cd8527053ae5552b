// Ranges on the timelines of NVIDIA's profilers. A profiler that starts a program names a library in NVTX_INJECTION64_PATH, which is opened
// at the first range; without a profiler a range costs a load and a branch. After the public description of how tools attach to NVTX 3.
#pragma once

namespace weft::detail::cuda {

/// A range of the calling thread, as long as the object lives.
class [[nodiscard]] ProfilerRange {
 public:
  explicit ProfilerRange(const char* name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace weft::detail::cuda
