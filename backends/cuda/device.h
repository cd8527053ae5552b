// CUDA devices: contexts, streams, memory.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/backends/codegen/gpu/gpu_emit.h"
#include "weft/backends/cuda/driver.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/device.h"

namespace weft::detail::cuda {

class GraphMemory;

/// One device. All its work goes through one stream, so that memory operations, copies and kernels are ordered.
class GpuDevice {
 public:
  GpuDevice(int ordinal, int id);
  ~GpuDevice();
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  int id() const { return id_; }
  int ordinal() const { return ordinal_; }  ///< among the driver's
  const std::string& name() const { return name_; }
  std::string label() const;  ///< cuda:0
  const GpuTarget& target() const { return target_; }
  int multiprocessors() const { return multiprocessors_; }
  /// Where all work goes; while a graph within a graph is captured, the stream for that.
  Stream stream() const { return inner_ > 0 ? inner_streams_[inner_ - 1] : stream_; }
  Context context() const { return context_; }
  /// Makes it the calling thread's current device. Other code may change the current device, so it is set each time.
  void enter();
  /// The same for destructors, which ignore errors.
  void enter_to_destroy() noexcept;

  /// Stream-ordered memory of at least one byte. If it is exhausted, the pool is trimmed and the allocation is retried.
  DevicePointer allocate(std::size_t bytes, const std::string& what);
  void release(DevicePointer p, std::size_t bytes) noexcept;
  MemoryStats memory_stats();

  /// Lets another device work on this one's memory, if the hardware can: NCCL reads and writes arrays of devices of one process directly.
  void share_memory_with(const GpuDevice& other);

  /// The kernels that set conditions of graphs, loaded at the first call.
  struct ConditionKernels {
    Function go_on = nullptr;   ///< whether a byte is not 0
    Function chosen = nullptr;  ///< whether a clamped index is a number
  };
  const ConditionKernels& condition_kernels();
  /// Redirects work to another stream that is capturing, and back. Call with order() held.
  void begin_inner();
  void end_inner() { --inner_; }

  /// From host memory, through pinned memory where that pays; the caller's memory is free when this returns.
  void upload(DevicePointer to, const void* from, std::size_t bytes);
  /// Waits for the device.
  void download(void* to, DevicePointer from, std::size_t bytes);
  /// Waits for the work that is in the stream now. Other threads may continue to launch work.
  void wait(const std::string& what);

  /// The lock that keeps a sequence of launches on the stream together.
  std::recursive_mutex& order() { return order_; }
  /// The memory that places arrays while a replayed mapped program runs; or null. Call with order() held.
  GraphMemory* supply() const { return graph_memory_; }
  void set_supply(GraphMemory* s) { graph_memory_ = s; }

 private:
  /// A piece of pinned memory.
  struct Staging {
    void* memory = nullptr;
    Event done = nullptr;
    bool used = false;
  };
  Staging& staging(int which);
  Staging& small_staging();
  void free_for_use(Staging& s);
  void give_up() noexcept;

  const int ordinal_, id_;
  int handle_ = 0;  // of the driver
  std::string name_;
  GpuTarget target_;
  int multiprocessors_ = 1;
  std::int64_t total_memory_ = 0;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  MemoryPool pool_ = nullptr;
  std::recursive_mutex order_;
  GraphMemory* graph_memory_ = nullptr;
  std::vector<Stream> inner_streams_;
  std::size_t inner_ = 0;
  Module conditions_ = nullptr;
  ConditionKernels condition_kernels_;
  static constexpr int kSmall = 16;
  Staging staging_[2], small_[kSmall];
  int next_small_ = 0;
  std::atomic<std::int64_t> in_use_{0}, peak_{0};
};

/// A mark in a device's stream.
class Mark {
 public:
  Mark(GpuDevice& device, const std::string& what);
  ~Mark();
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  Event event() const { return event_; }

 private:
  Event event_ = nullptr;
};

/// All devices; empty where there is no driver. The devices are made at first use and last as long as the process.
const std::vector<GpuDevice*>& devices();
/// The device with an id of devices().
GpuDevice& device_of(int id);

/// Memory of a device.
class GpuBuffer final : public Buffer {
 public:
  GpuBuffer(GpuDevice& device, std::size_t bytes);
  ~GpuBuffer() override;
  void* data() override { return reinterpret_cast<void*>(pointer_); }
  std::size_t bytes() const override { return bytes_; }
  int device_id() const override { return device_.id(); }
  bool on_host() const override { return false; }
  DevicePointer pointer() const { return pointer_; }

 private:
  GpuDevice& device_;
  std::size_t bytes_;
  bool owned_ = true;
  DevicePointer pointer_;
};

}  // namespace weft::detail::cuda
