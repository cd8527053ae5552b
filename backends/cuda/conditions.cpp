#include "weft/backends/cuda/conditions.h"

#include <exception>

namespace weft::detail::cuda {
namespace {

// The driver defines this function when it loads the code.
constexpr const char* kPtx = R"(
.version 6.3
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);
.visible .entry weft_go_on(.param .u64 condition, .param .u64 place)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p<1>;
  ld.param.u64 %rd0, [condition];
  ld.param.u64 %rd1, [place];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.u8 %r0, [%rd2];
  setp.ne.u32 %p0, %r0, 0;
  selp.u32 %r1, 1, 0, %p0;
  {
    .param .b64 a;
    .param .b32 b;
    st.param.b64 [a], %rd0;
    st.param.b32 [b], %r1;
    call.uni cudaGraphSetConditional, (a, b);
  }
  ret;
}
.visible .entry weft_chosen(.param .u64 condition, .param .u64 place, .param .u64 number, .param .u64 last)
{
  .reg .b64 %rd<5>;
  .reg .b32 %r<5>;
  .reg .pred %p<1>;
  ld.param.u64 %rd0, [condition];
  ld.param.u64 %rd1, [place];
  ld.param.u64 %rd3, [number];
  ld.param.u64 %rd4, [last];
  cvta.to.global.u64 %rd2, %rd1;
  ld.global.s32 %r0, [%rd2];
  cvt.u32.u64 %r1, %rd3;
  cvt.u32.u64 %r2, %rd4;
  max.s32 %r0, %r0, 0;
  min.s32 %r0, %r0, %r2;
  setp.eq.s32 %p0, %r0, %r1;
  selp.u32 %r3, 1, 0, %p0;
  {
    .param .b64 a;
    .param .b32 b;
    st.param.b64 [a], %rd0;
    st.param.b32 [b], %r3;
    call.uni cudaGraphSetConditional, (a, b);
  }
  ret;
}
)";

// Parameters come as addresses of each; read as pointers they are told from memory, whose accesses the emulator checks.
constexpr const char* kEmulated = R"(
declare void @weft_emulated_set_condition(i64, i32)
define void @weft_go_on(ptr %parameters) {
  %a0 = load ptr, ptr %parameters
  %condition_bits = load ptr, ptr %a0
  %condition = ptrtoint ptr %condition_bits to i64
  %p1 = getelementptr ptr, ptr %parameters, i64 1
  %a1 = load ptr, ptr %p1
  %place = load ptr, ptr %a1
  %byte = load i8, ptr %place
  %holds = icmp ne i8 %byte, 0
  %value = zext i1 %holds to i32
  call void @weft_emulated_set_condition(i64 %condition, i32 %value)
  ret void
}
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
define void @weft_chosen(ptr %parameters) {
  %a0 = load ptr, ptr %parameters
  %condition_bits = load ptr, ptr %a0
  %condition = ptrtoint ptr %condition_bits to i64
  %p1 = getelementptr ptr, ptr %parameters, i64 1
  %a1 = load ptr, ptr %p1
  %place = load ptr, ptr %a1
  %p2 = getelementptr ptr, ptr %parameters, i64 2
  %a2 = load ptr, ptr %p2
  %number_bits = load ptr, ptr %a2
  %number = ptrtoint ptr %number_bits to i64
  %p3 = getelementptr ptr, ptr %parameters, i64 3
  %a3 = load ptr, ptr %p3
  %last_bits = load ptr, ptr %a3
  %last = ptrtoint ptr %last_bits to i64
  %index = load i32, ptr %place
  %top = trunc i64 %last to i32
  %not_below = call i32 @llvm.smax.i32(i32 %index, i32 0)
  %clamped = call i32 @llvm.smin.i32(i32 %not_below, i32 %top)
  %wanted = trunc i64 %number to i32
  %holds = icmp eq i32 %clamped, %wanted
  %value = zext i1 %holds to i32
  call void @weft_emulated_set_condition(i64 %condition, i32 %value)
  ret void
}
)";

/// The graph into which a stream is being captured, and the nodes on which the next one depends.
struct Capture {
  Graph graph = nullptr;
  const Node* behind = nullptr;
  std::size_t count = 0;
  Result result = kSuccess;

  explicit Capture(Stream stream) {
    int status = 0;
    std::uint64_t id = 0;
    const void* edges = nullptr;
    result = driver().cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &behind, &edges, &count);
    if (result == kSuccess && status != kCaptureGoesOn) result = kCaptureUnsupported + 1;  // it is no longer valid
  }
};

}  // namespace

std::string condition_code(const GpuTarget& target) { return target.emulated ? kEmulated : kPtx; }

void GraphCondition::check_call(Result r, const char* call) const { check(r, call, device_.label() + ": " + what_); }

GraphCondition::GraphCondition(GpuDevice& device, std::string what) : device_(device), what_(std::move(what)) {
  const Capture now(device.stream());
  check_call(now.result, "cuStreamGetCaptureInfo");
  check_call(driver().cuGraphConditionalHandleCreate(&condition_, now.graph, device.context(), 0, 0), "cuGraphConditionalHandleCreate");
}

void GraphCondition::set_by_byte(DevicePointer p) {
  void* parameters[] = {&condition_, &p, nullptr};
  check_call(driver().cuLaunchKernel(device_.condition_kernels().go_on, 1, 1, 1, 1, 1, 1, 0, device_.stream(), parameters, nullptr),
             "cuLaunchKernel");
}

void GraphCondition::set_by_index(DevicePointer p, std::int64_t number, std::int64_t last) {
  void* parameters[] = {&condition_, &p, &number, &last, nullptr};
  check_call(driver().cuLaunchKernel(device_.condition_kernels().chosen, 1, 1, 1, 1, 1, 1, 0, device_.stream(), parameters, nullptr),
             "cuLaunchKernel");
}

void GraphCondition::run(int kind, const std::function<void()>& body) {
  const Driver& d = driver();
  const Stream outer = device_.stream();
  const Capture now(outer);
  check_call(now.result, "cuStreamGetCaptureInfo");
  ConditionalNode node;
  node.condition = condition_, node.kind = kind, node.context = device_.context();
  Node made = nullptr;
  check_call(d.cuGraphAddNode_v2(&made, now.graph, now.behind, nullptr, now.count, &node), "cuGraphAddNode");
  check_call(d.cuStreamUpdateCaptureDependencies_v2(outer, &made, nullptr, 1, kSetDependencies), "cuStreamUpdateCaptureDependencies");
  device_.begin_inner();
  const Stream inner = device_.stream();
  const Result begun = d.cuStreamBeginCaptureToGraph(inner, node.bodies[0], nullptr, nullptr, 0, kCaptureThreadLocal);
  if (begun != kSuccess) {
    device_.end_inner();
    check_call(begun, "cuStreamBeginCaptureToGraph");
  }
  std::exception_ptr problem;
  try {
    body();
  } catch (...) {
    problem = std::current_exception();
  }
  Graph same = nullptr;  // the node's own
  const Result ended = d.cuStreamEndCapture(inner, &same);
  device_.end_inner();
  if (problem) std::rethrow_exception(problem);
  check_call(ended, "cuStreamEndCapture");
}

}  // namespace weft::detail::cuda
