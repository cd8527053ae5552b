// Programs that run after their call has returned: their pending results are read, passed on, donated, deleted and copied, and their errors
// arrive with the event.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <thread>

#include "plugin.h"

using namespace pjrt_test;

namespace {

/// So many steps of x / 2 + 1, which end at 2. A call of half a million takes some hundredths of a second.
constexpr const char* kSteps = R"(module @jit_steps {
  func.func public @main(%n: tensor<i32>, %x: tensor<16xf32>DONOR) -> tensor<16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<16xf32>
    %one = stablehlo.constant dense<1.0> : tensor<16xf32>
    %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<16xf32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %next = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %next : tensor<i32>
        %p = stablehlo.multiply %y, %half : tensor<16xf32>
        %q = stablehlo.add %p, %one : tensor<16xf32>
        stablehlo.return %j, %q : tensor<i32>, tensor<16xf32>
      }
    return %r#1 : tensor<16xf32>
  }
})";
constexpr const char* kAdd = R"(module @jit_add {
  func.func public @main(%x: tensor<16xf32>) -> tensor<16xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<16xf32>
    %0 = stablehlo.add %x, %one : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
})";
// More bytes than addresses there are.
constexpr const char* kHuge = R"(module @jit_huge {
  func.func public @main(%x: tensor<16xf32>) -> tensor<16x17592186044416xf32> {
    %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<16xf32>) -> tensor<16x17592186044416xf32>
    return %0 : tensor<16x17592186044416xf32>
  }
})";
constexpr const char* kOfHuge = R"(module @jit_of_huge {
  func.func public @main(%x: tensor<16x17592186044416xf32>) -> tensor<16xf32> {
    %0 = stablehlo.slice %x [0:16, 0:1] : (tensor<16x17592186044416xf32>) -> tensor<16x1xf32>
    %1 = stablehlo.reshape %0 : (tensor<16x1xf32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
})";

std::string steps(bool donates) {
  std::string text = kSteps;
  text.replace(text.find("DONOR"), 5, donates ? " {jax.buffer_donor = true}" : "");
  return text;
}

Buffer* put_int(const TestClient& c, std::int32_t n) {
  auto a = args<FromHostArgs>();
  a.client = c.client, a.data = &n, a.type = ElementType::s32, a.semantics = HostSemantics::only_during_call, a.device = c.devices.at(0);
  CALL(Client_BufferFromHostBuffer, a);
  destroy(plugin().Event_Destroy, a.done_with_host);
  return a.buffer;
}

bool is_ready(Buffer* b) {
  Event* e = value_of(plugin().Buffer_ReadyEvent, b);
  const bool out = value_of(plugin().Event_IsReady, e);
  destroy(plugin().Event_Destroy, e);
  return out;
}

Outcome await(Buffer* b) {
  auto wait = args<ObjectArgs<Event>>();
  wait.object = value_of(plugin().Buffer_ReadyEvent, b);
  const Outcome done = outcome(plugin().Event_Await(&wait));
  destroy(plugin().Event_Destroy, wait.object);
  return done;
}

Buffer* call(LoadedExecutable* e, std::vector<Buffer*> arguments) {
  std::vector<std::vector<Buffer*>> out;
  std::vector<Event*> events;
  const Outcome done = start(e, {std::move(arguments)}, 1, out, events);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  destroy(plugin().Event_Destroy, events[0]);
  return out[0][0];
}

/// A program in the queue for about half a second: the chain of its calls, of which each takes the result of the one before.
struct Chain {
  Chain(const TestClient& c, bool donates) : program(c.compile(steps(donates))), count(put_int(c, 500000)) {
    last = call(program, {count, c.put(std::vector<float>(16, 7.f), {16})});  // the first call says how long it takes
    CHECK(is_ready(last));
    for (int i = 0; i < 12; ++i) {
      Buffer* next = call(program, {count, last});
      destroy(plugin().Buffer_Destroy, last);
      last = next;
    }
  }
  ~Chain() {
    destroy(plugin().Buffer_Destroy, last);
    destroy(plugin().Buffer_Destroy, count);
    destroy(plugin().LoadedExecutable_Destroy, program);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  LoadedExecutable* program;
  Buffer *count, *last;
};

}  // namespace

TEST_CASE("pjrt: a program that takes its time runs while its caller goes on") {
  const TestClient c;
  const std::vector<float> twos(16, 2.f), threes(16, 3.f);
  SUBCASE("its result is read") {
    for (const bool donates : {false, true}) {
      CAPTURE(donates);
      const Chain chain(c, donates);
      CHECK(!is_ready(chain.last));
      CHECK(get(chain.last) == twos);
    }
  }
  SUBCASE("its result is waited for") {
    const Chain chain(c, false);
    CHECK(await(chain.last).code == Code::ok);
    CHECK(is_ready(chain.last));
    CHECK(get(chain.last) == twos);
  }
  SUBCASE("its result goes to a small program, and to a device") {
    const Chain chain(c, false);
    LoadedExecutable* add = c.compile(kAdd);
    Buffer* sum = call(add, {chain.last});
    CHECK(!is_ready(sum));
    auto copy = args<CopyArgs<Device>>();
    copy.buffer = sum, copy.to = c.devices.at(1);
    CALL(Buffer_CopyToDevice, copy);
    destroy(plugin().Buffer_Destroy, sum);
    CHECK(get(copy.copy) == threes);
    CHECK(value_of(plugin().Buffer_Device, copy.copy) == c.devices[1]);
    destroy(plugin().Buffer_Destroy, copy.copy);
    destroy(plugin().LoadedExecutable_Destroy, add);
  }
  SUBCASE("its result is deleted") {
    const Chain chain(c, false);
    auto gone = args<ObjectArgs<Buffer>>();
    gone.object = chain.last;
    CALL(Buffer_Delete, gone);
    std::vector<std::vector<Buffer*>> out;
    CHECK(run(chain.program, {{chain.count, chain.last}}, 1, out).message.find("deleted") != std::string::npos);
  }
  SUBCASE("nobody waits for it") { const Chain chain(c, true); }
  SUBCASE("threads wait for it") {
    const Chain chain(c, false);
    std::vector<std::thread> threads;
    std::vector<std::vector<float>> seen(4);
    for (std::vector<float>& s : seen) threads.emplace_back([&] { s = get(chain.last); });
    for (std::thread& t : threads) t.join();
    for (const std::vector<float>& s : seen) CHECK(s == twos);
  }
}

TEST_CASE("pjrt: what goes wrong in the queue is the event's error, and that of the programs after it") {
  const TestClient c;
  const Chain chain(c, false);
  LoadedExecutable *huge = c.compile(kHuge), *of_huge = c.compile(kOfHuge);
  Buffer* failed = call(huge, {chain.last});
  Buffer* after = call(of_huge, {failed});
  for (Buffer* b : {failed, after}) {
    const Outcome done = await(b);
    CHECK(done.code == Code::resource_exhausted);
    CHECK_MESSAGE(done.message.find("memory") != std::string::npos, done.message);
  }
  auto read = args<ToHostArgs>();
  float memory[16];
  read.buffer = after, read.out = memory, read.size = sizeof memory;
  FAILS(Buffer_ToHostBuffer, read, Code::resource_exhausted, "memory");
  std::vector<std::vector<Buffer*>> out;
  CHECK(run(of_huge, {{failed}}, 1, out).code == Code::resource_exhausted);
  CHECK(get(chain.last) == std::vector<float>(16, 2.f));
  destroy(plugin().Buffer_Destroy, failed);
  destroy(plugin().Buffer_Destroy, after);
  destroy(plugin().LoadedExecutable_Destroy, huge);
  destroy(plugin().LoadedExecutable_Destroy, of_huge);
}

TEST_CASE("pjrt: the child of a fork doesn't wait for what its parent computes, and runs programs of its own") {
  const TestClient c;
  const Chain chain(c, false);
  LoadedExecutable* add = c.compile(kAdd);
  REQUIRE(!is_ready(chain.last));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Outcome done = await(chain.last);
    bool right = is_ready(chain.last) && done.code == Code::aborted && done.message.find("before the fork") != std::string::npos;
    Buffer* sum = call(add, {c.put(std::vector<float>(16, 1.f), {16})});
    right = right && get(sum) == std::vector<float>(16, 2.f);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(await(chain.last).code == Code::ok);
  CHECK(get(chain.last) == std::vector<float>(16, 2.f));
  destroy(plugin().LoadedExecutable_Destroy, add);
}

TEST_CASE("pjrt: a process ends while programs are in the queue") {
  // What is written so far would be written by the child, too.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // As Python ends: by exit(), with the client and what it was asked for left as they are.
    auto* c = new TestClient;
    new Chain(*c, false);
    alarm(60);
    std::exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
