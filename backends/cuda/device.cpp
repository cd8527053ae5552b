#include "weft/backends/cuda/device.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "weft/backends/cuda/collectives.h"
#include "weft/backends/cuda/conditions.h"
#include "weft/backends/cuda/graph_memory.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail::cuda {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;
constexpr std::size_t kSmallBytes = std::size_t{64} << 10;

}  // namespace

GpuDevice::GpuDevice(int ordinal, int id) : ordinal_(ordinal), id_(id) {
  const Driver& d = driver();
  int major = 0, minor = 0;
  check(d.cuDeviceGet(&handle_, ordinal), "cuDeviceGet", label());
  char name[256] = {};
  check(d.cuDeviceGetName(name, sizeof name, handle_), "cuDeviceGetName", label());
  name_ = name;
  std::size_t bytes = 0;
  check(d.cuDeviceTotalMem_v2(&bytes, handle_), "cuDeviceTotalMem", label());
  total_memory_ = static_cast<std::int64_t>(bytes);
  check(d.cuDeviceGetAttribute(&multiprocessors_, kAttributeMultiprocessors, handle_), "cuDeviceGetAttribute", label());
  check(d.cuDeviceGetAttribute(&major, kAttributeMajor, handle_), "cuDeviceGetAttribute", label());
  check(d.cuDeviceGetAttribute(&minor, kAttributeMinor, handle_), "cuDeviceGetAttribute", label());
  // No device has capability 0.0: that is the emulator of the tests.
  target_.emulated = major == 0 && minor == 0;
  if (!target_.emulated) target_.architecture = known_architecture(10 * major + minor);
  // The primary context is the one that NVIDIA's libraries use.
  check(d.cuDevicePrimaryCtxRetain(&context_, handle_), "cuDevicePrimaryCtxRetain", label());
  try {
    enter();
    check(d.cuStreamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate", label());
    check(d.cuDeviceGetDefaultMemPool(&pool_, handle_), "cuDeviceGetDefaultMemPool", label());
    std::uint64_t keep = ~std::uint64_t{0};  // otherwise each synchronisation would return memory to the system
    check(d.cuMemPoolSetAttribute(pool_, kPoolReleaseThreshold, &keep), "cuMemPoolSetAttribute", label());
  } catch (...) {
    give_up();
    throw;
  }
}

GpuDevice::~GpuDevice() { give_up(); }

void GpuDevice::give_up() noexcept {
  const Driver& d = driver();
  if (stream_) d.cuStreamDestroy_v2(stream_);
  d.cuDevicePrimaryCtxRelease_v2(handle_);
}

std::string GpuDevice::label() const { return fmt::format("cuda:{}", id_ - processes().num_devices()); }

void GpuDevice::enter() { check(driver().cuCtxSetCurrent(context_), "cuCtxSetCurrent", label()); }

void GpuDevice::enter_to_destroy() noexcept {
  try {
    enter();
  } catch (const Error&) {
    // The error can't be reported here; the next call fails with it.
  }
}

const GpuDevice::ConditionKernels& GpuDevice::condition_kernels() {
  if (conditions_) return condition_kernels_;
  const Driver& d = driver();
  const std::string what = label() + ": loading the kernels that set conditions", code = condition_code(target_);
  Module module = nullptr;
  check(d.cuModuleLoadDataEx(&module, code.c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx", what);
  ConditionKernels found;
  const char* missing = "weft_go_on";
  Result r = d.cuModuleGetFunction(&found.go_on, module, missing);
  if (r == kSuccess) missing = "weft_chosen", r = d.cuModuleGetFunction(&found.chosen, module, missing);
  if (r != kSuccess) d.cuModuleUnload(module);
  check(r, "cuModuleGetFunction", what);
  conditions_ = module;
  return condition_kernels_ = found;
}

void GpuDevice::begin_inner() {
  if (inner_ == inner_streams_.size()) {
    Stream made = nullptr;
    check(driver().cuStreamCreate(&made, kStreamNonBlocking), "cuStreamCreate", label());
    inner_streams_.push_back(made);
  }
  ++inner_;
}

DevicePointer GpuDevice::allocate(std::size_t bytes, const std::string& what) {
  enter();
  const std::size_t size = std::max<std::size_t>(bytes, 16);
  DevicePointer p = 0;
  const Driver& d = driver();
  const std::lock_guard lock(order_);
  Result r = d.cuMemAllocAsync(&p, size, stream_);
  if (r == kOutOfMemory) {
    if (d.cuStreamSynchronize(stream_) == kSuccess && d.cuMemPoolTrimTo(pool_, 0) == kSuccess) r = d.cuMemAllocAsync(&p, size, stream_);
    if (r == kOutOfMemory) {
      const MemoryStats s = memory_stats();
      throw MemoryError(fmt::format(
          "{}: out of memory: {} bytes for {} (cuMemAllocAsync gives CUDA_ERROR_OUT_OF_MEMORY); {} bytes of {} are in use by arrays",
          label(), bytes, what, s.bytes_in_use, s.bytes_limit));
    }
  }
  check(r, "cuMemAllocAsync", fmt::format("{}: {} bytes for {}", label(), bytes, what));
  const std::int64_t now = in_use_ += static_cast<std::int64_t>(size);
  for (std::int64_t most = peak_; most < now && !peak_.compare_exchange_weak(most, now);) {
  }
  return p;
}

void GpuDevice::release(DevicePointer p, std::size_t bytes) noexcept {
  enter_to_destroy();
  {
    const std::lock_guard lock(order_);
    driver().cuMemFreeAsync(p, stream_);
  }
  in_use_ -= static_cast<std::int64_t>(std::max<std::size_t>(bytes, 16));
}

MemoryStats GpuDevice::memory_stats() { return {in_use_, peak_, total_memory_}; }

GpuDevice::Staging& GpuDevice::staging(int which) {
  Staging& s = staging_[which];
  const Driver& d = driver();
  if (!s.done) check(d.cuEventCreate(&s.done, kEventNoTiming), "cuEventCreate", label());
  if (!s.memory) check(d.cuMemAllocHost_v2(&s.memory, kStagingBytes), "cuMemAllocHost", label() + ": pinned memory for transfers");
  free_for_use(s);
  return s;
}

GpuDevice::Staging& GpuDevice::small_staging() {
  const Driver& d = driver();
  if (!small_[0].memory) {
    void* all = nullptr;
    check(d.cuMemAllocHost_v2(&all, kSmall * kSmallBytes), "cuMemAllocHost", label() + ": pinned memory for transfers");
    for (int i = 0; i < kSmall; ++i) small_[i].memory = static_cast<char*>(all) + static_cast<std::size_t>(i) * kSmallBytes;
  }
  Staging& s = small_[next_small_];
  next_small_ = (next_small_ + 1) % kSmall;
  if (!s.done) check(d.cuEventCreate(&s.done, kEventNoTiming), "cuEventCreate", label());
  free_for_use(s);
  return s;
}

void GpuDevice::free_for_use(Staging& s) {
  if (s.used) check(driver().cuEventSynchronize(s.done), "cuEventSynchronize", label() + ": a transfer");
  s.used = false;
}

void GpuDevice::share_memory_with(const GpuDevice& other) {
  const std::string what = fmt::format("{}: sharing memory with {}", label(), other.label());
  int can = 0;
  check(driver().cuDeviceCanAccessPeer(&can, other.handle_, handle_), "cuDeviceCanAccessPeer", what);
  if (!can) return;
  const PoolAccess access{.device = other.handle_};
  check(driver().cuMemPoolSetAccess(pool_, &access, 1), "cuMemPoolSetAccess", what);
}

void GpuDevice::upload(DevicePointer to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  enter();
  const Driver& d = driver();
  const std::string what = fmt::format("{}: copying {} bytes to the device", label(), bytes);
  const std::lock_guard lock(order_);
  // Never from the caller's own memory: where the device can read pageable memory, the driver need not copy it before it returns.
  if (bytes <= kSmallBytes) {
    Staging& s = small_staging();
    std::memcpy(s.memory, from, bytes);
    check(d.cuMemcpyHtoDAsync_v2(to, s.memory, bytes, stream_), "cuMemcpyHtoDAsync", what);
    s.used = true;
    check(d.cuEventRecord(s.done, stream_), "cuEventRecord", what);
    return;
  }
  int which = 0;
  for (std::size_t at = 0; at < bytes; at += kStagingBytes, which = 1 - which) {
    const std::size_t n = std::min(kStagingBytes, bytes - at);
    Staging& s = staging(which);
    std::memcpy(s.memory, static_cast<const char*>(from) + at, n);
    check(d.cuMemcpyHtoDAsync_v2(to + at, s.memory, n, stream_), "cuMemcpyHtoDAsync", what);
    check(d.cuEventRecord(s.done, stream_), "cuEventRecord", what);
    s.used = true;
  }
}

void GpuDevice::download(void* to, DevicePointer from, std::size_t bytes) {
  enter();
  const Driver& d = driver();
  const std::string what = fmt::format("{}: copying {} bytes to the host", label(), bytes);
  wait_for_collectives(*this, what);  // these may never end
  const std::lock_guard lock(order_);
  if (bytes == 0) return wait(what);
  if (bytes <= kSmallBytes) {
    Staging& s = small_staging();
    check(d.cuMemcpyDtoHAsync_v2(s.memory, from, bytes, stream_), "cuMemcpyDtoHAsync", what);
    check(d.cuEventRecord(s.done, stream_), "cuEventRecord", what);
    check(d.cuEventSynchronize(s.done), "cuEventSynchronize", what);
    std::memcpy(to, s.memory, bytes);
    return;
  }
  // One piece is copied out of pinned memory while the next one arrives in the other.
  std::size_t before = 0, before_bytes = 0;
  int which = 0;
  for (std::size_t at = 0; at < bytes; at += kStagingBytes, which = 1 - which) {
    const std::size_t n = std::min(kStagingBytes, bytes - at);
    Staging& s = staging(which);
    check(d.cuMemcpyDtoHAsync_v2(s.memory, from + at, n, stream_), "cuMemcpyDtoHAsync", what);
    check(d.cuEventRecord(s.done, stream_), "cuEventRecord", what);
    s.used = true;
    if (before_bytes > 0) std::memcpy(static_cast<char*>(to) + before, staging(1 - which).memory, before_bytes);
    before = at, before_bytes = n;
  }
  std::memcpy(static_cast<char*>(to) + before, staging(1 - which).memory, before_bytes);
}

void GpuDevice::wait(const std::string& what) {
  const Mark here(*this, what);
  check(driver().cuEventSynchronize(here.event()), "cuEventSynchronize", what);
}

Mark::Mark(GpuDevice& device, const std::string& what) {
  device.enter();
  const std::lock_guard lock(device.order());
  check(driver().cuEventCreate(&event_, kEventNoTiming), "cuEventCreate", what);
  const Result r = driver().cuEventRecord(event_, device.stream());
  if (r != kSuccess) driver().cuEventDestroy_v2(event_);
  check(r, "cuEventRecord", what);
}
Mark::~Mark() { driver().cuEventDestroy_v2(event_); }

namespace {

/// Places among the driver's devices of those that this process drives; not set: all.
std::optional<std::vector<int>>& chosen() {
  static auto& list = *new std::optional<std::vector<int>>;
  return list;
}

/// How many the driver has; 0 where there is none.
int driver_devices() {
  std::string problem;
  int n = 0;
  if (has_driver(problem)) check(driver().cuDeviceGetCount(&n), "cuDeviceGetCount", "cuda");
  return n;
}

}  // namespace

const std::vector<GpuDevice*>& devices() {
  static const std::vector<GpuDevice*>& all = *new std::vector<GpuDevice*>([] {
    std::vector<std::unique_ptr<GpuDevice>> made;
    const int first = processes().first_local_accelerator();
    std::vector<int> places;
    if (chosen())
      places = *chosen();
    else if (!several_processes())
      for (int i = 0, n = driver_devices(); i < n; ++i) places.push_back(i);
    for (int place : places) made.push_back(std::make_unique<GpuDevice>(place, first + static_cast<int>(made.size())));
    std::vector<GpuDevice*> list;
    for (auto& d : made) list.push_back(d.release());
    return list;
  }());
  return all;
}

GpuDevice& device_of(int id) {
  if (!processes().is_local(id)) throw DeviceError(fmt::format("{} is process {}'s", Device::of_id(id), processes().process_of(id)));
  return *devices().at(static_cast<std::size_t>(id - processes().first_local_accelerator()));
}

GpuBuffer::GpuBuffer(GpuDevice& device, std::size_t bytes) : device_(device), bytes_(bytes) {
  const std::lock_guard lock(device.order());
  GraphMemory* s = device.supply();
  owned_ = !s || s->mode() == GraphMemory::Mode::noting;
  pointer_ = owned_ ? device.allocate(bytes, "an array") : 0;
  if (s) pointer_ = s->take(device, bytes, pointer_);
}

GpuBuffer::~GpuBuffer() {
  const std::lock_guard lock(device_.order());
  if (GraphMemory* s = device_.supply()) s->released(device_, pointer_);
  if (owned_) device_.release(pointer_, bytes_);
}

namespace {

class CudaDevices final : public Accelerators {
 public:
  std::string_view platform() const override { return "cuda"; }
  std::vector<std::string> found() override {
    std::vector<std::string> kinds;
    for (int i = 0, n = driver_devices(); i < n; ++i) {
      int handle = 0;
      char name[256] = {};
      check(driver().cuDeviceGet(&handle, i), "cuDeviceGet", "cuda");
      check(driver().cuDeviceGetName(name, sizeof name, handle), "cuDeviceGetName", "cuda");
      kinds.emplace_back(name);
    }
    return kinds;
  }
  void choose(std::vector<int> places) override { chosen() = std::move(places); }
  int count() override { return static_cast<int>(devices().size()); }
  std::string why_none() override {
    std::string problem;
    return has_driver(problem) ? "the CUDA driver finds no device" : problem;
  }
  std::string kind(int id) override { return device_of(id).name(); }
  MemoryStats memory_stats(int id) override { return device_of(id).memory_stats(); }
  Ref<Buffer> allocate(std::size_t bytes, int id) override { return Ref<Buffer>(new GpuBuffer(device_of(id), bytes)); }
  Ref<Buffer> upload(const void* from, std::size_t bytes, int id) override {
    GpuDevice& d = device_of(id);
    needs_host(d);
    Ref<Buffer> out(new GpuBuffer(d, bytes));
    d.upload(static_cast<GpuBuffer&>(*out).pointer(), from, bytes);
    return out;
  }
  void download(const Ref<Buffer>& from, void* to) override {
    auto& b = static_cast<GpuBuffer&>(*from);
    needs_host(device_of(b.device_id()));
    device_of(b.device_id()).download(to, b.pointer(), b.bytes());
  }
  Ref<Buffer> copy(const Ref<Buffer>& from, int id) override {
    auto& b = static_cast<GpuBuffer&>(*from);
    GpuDevice &source = device_of(b.device_id()), &target = device_of(id);
    Ref<Buffer> out(new GpuBuffer(target, b.bytes()));
    const DevicePointer to = static_cast<GpuBuffer&>(*out).pointer();
    const std::string what = fmt::format("copying {} bytes from {} to {}", b.bytes(), source.label(), target.label());
    if (&source == &target) {
      target.enter();
      const std::lock_guard lock(target.order());
      check(driver().cuMemcpyDtoDAsync_v2(to, b.pointer(), b.bytes(), target.stream()), "cuMemcpyDtoDAsync", what);
      return out;
    }
    needs_host(source), needs_host(target);
    // The target waits for the source's contents, and the source for the copy, after which its memory may be freed.
    const std::scoped_lock lock(source.order(), target.order());
    wait_for(target, source, what);
    target.enter();
    check(driver().cuMemcpyPeerAsync(to, target.context(), b.pointer(), source.context(), b.bytes(), target.stream()), "cuMemcpyPeerAsync",
          what);
    wait_for(source, target, what);
    return out;
  }
  void wait(const Ref<Buffer>& buffer) override {
    GpuDevice& d = device_of(buffer->device_id());
    needs_host(d);
    wait_watching(d, d.label() + ": waiting for an array");
  }
  void join(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
            std::span<const int> device_ids) override {
    join_group(plan, group, in, out, device_ids);
  }
  void exchange(std::span<const int> device_ids, std::span<const DeviceMessage> going, std::span<const DeviceMessage> coming,
                const CollectiveLabel& label) override {
    exchange_messages(device_ids, going, coming, label);
  }

 private:
  static void needs_host(GpuDevice& d) {
    const std::lock_guard lock(d.order());
    if (d.supply()) d.supply()->needs_host();
  }
  static void wait_for(GpuDevice& who, GpuDevice& whom, const std::string& what) {
    const Mark there(whom, what);
    who.enter();
    check(driver().cuStreamWaitEvent(who.stream(), there.event(), 0), "cuStreamWaitEvent", what);
  }
};

}  // namespace
}  // namespace weft::detail::cuda

namespace weft::detail {
Accelerators& accelerators() {
  static auto& devices = process_wide<cuda::CudaDevices>();
  return devices;
}
}  // namespace weft::detail
