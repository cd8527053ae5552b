// Programs that end in one way each, named by the first argument, while weft is at work. run.py knows how each must end.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <thread>

#include "weft/progress.h"
#include "weft/weft.h"

using namespace weft;

namespace {

/// A program that no other number has, of some milliseconds of compiling.
float compiled_anew(int number, int n = 100) {
  const auto f = jit([number](Array x) {
    for (int k = 0; k < 12; ++k) x = sin(x) * (0.5f + float(number + k) * 1e-3f) + cos(x);
    return sum(x * 0.f) + 1.f;
  });
  return f(ones({n + number % 7})).item<float>();
}

void say(const char* words) {
  std::printf("%s\n", words);
  std::fflush(stdout);
}
/// `words`, if a new program gives what it should.
void compute_and_say(const char* words, int number) {
  if (compiled_anew(number) == 1.f) say(words);
}

std::atomic<int> made{0};
/// Compiles one program after the other.
[[noreturn]] void compile_for_ever(int first) {
  for (int i = 0;; ++i) compiled_anew(first + i), ++made;
}
/// Calls the libraries that weft computes with.
[[noreturn]] void compute_for_ever() {
  const Array a = ones({300, 300}, float64), b = ones({300, 300});
  const auto f = jit([](Array x) { return matmul(x, x); });
  for (;; ++made) f(a), f(b), linalg::svd(a), linalg::cholesky(eye(200) + 1.f);
}
void wait_for(int count) {
  while (made < count) std::this_thread::yield();
}

template <class F>
struct AtEnd {
  F f;
  ~AtEnd() { f(); }
};
template <class F>
AtEnd(F) -> AtEnd<F>;

template <class F>
Array call_back(F f, Array x) {
  return pure_callback(f, ShapeDtypeStruct{{}, float32}, x);
}

[[noreturn]] void wait_for_child(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) say("child ended well");
  std::exit(WIFEXITED(status) ? 0 : 1);
}

// Older than anything of weft's, but for what loading it made.
bool at_last = false;
struct First {
  ~First() {
    if (at_last) compute_and_say("static object", 1);
  }
} first;

int threads() {
  const auto g = jit([](Array x) { return sum(sin(x) * x); });
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      for (int k = 0; k < 50; ++k) g(full({100 + k % 7}, 1.f)).item<float>();
    });
  for (auto& t : all) t.join();
  say("done");
  return 0;
}
int exit_in_main() {
  compute_and_say("done", 2);
  std::exit(3);
}
int exit_in_thread() {
  compiled_anew(3);
  std::thread([] {
    compute_and_say("done", 4);
    std::exit(4);
  }).detach();
  compile_for_ever(100);
}
int exit_in_callback() {
  jit([](Array x) {
    return call_back(
               [](Array) -> Array {
                 say("done");
                 std::exit(5);
               },
               x) +
           1;
  })(1.f);
  return 1;
}
int exit_on_device() {
  pmap([](Array x) {
    return call_back(
        [](Array v) -> Array {
          if (v.item<float>() == 2) {
            say("done");
            std::exit(6);
          }
          return v;
        },
        x);
  })(arange(4.f));
  return 1;
}
int handler_before_use() {
  std::atexit([] { compute_and_say("handler", 5); });
  compute_and_say("done", 6);
  return 0;
}
int handler_only() {
  std::atexit([] { compute_and_say("handler", 7); });
  return 0;
}
int handler_after_use() {
  compute_and_say("done", 8);
  std::atexit([] { compute_and_say("handler", 9); });
  return 0;
}
int static_object() {
  at_last = true;
  compute_and_say("done", 10);
  return 0;
}
int static_object_only() {
  at_last = true;
  return 0;
}
int static_future() {
  static std::future<void> later = std::async(std::launch::async, [] {
    for (int i = 0; i < 20; ++i) compiled_anew(200 + i), ++made;
    say("future");
  });
  wait_for(1);
  say("done");
  return 0;
}
int detached_compiling() {
  for (int t = 0; t < 3; ++t) std::thread(compile_for_ever, 1000 * t).detach();
  wait_for(2);
  say("done");
  return 0;
}
/// The first program of the process is being compiled.
int detached_first() {
  std::thread(compile_for_ever, 300).detach();
  usleep(useconds_t(getpid() % 8) * 500);
  say("done");
  return 0;
}
int detached_computing() {
  for (int t = 0; t < 3; ++t) std::thread(compute_for_ever).detach();
  wait_for(2);
  say("done");
  return 0;
}
int detached_and_static() {
  for (int t = 0; t < 2; ++t) std::thread(compile_for_ever, 1000 * t).detach();
  wait_for(1);
  return static_object();
}
int running_threads() {
  static std::vector<std::thread>& all = *new std::vector<std::thread>;
  for (int t = 0; t < 2; ++t) all.emplace_back(compile_for_ever, 1000 * t), all.emplace_back(compute_for_ever);
  wait_for(2);
  std::exit(0 * (say("done"), 1));
}
int mapped_threads() {
  for (int t = 0; t < 2; ++t)
    std::thread([t] {
      for (int i = 0;; ++i, ++made)
        pmap([t, i](Array x) { return psum(sin(x) * (1.f + float(10 * t + i)), "i"); }, {.axis_name = "i"})(ones({4, 100}));
    }).detach();
  wait_for(2);
  say("done");
  return 0;
}
struct OfThread {
  const char* words;
  int number;
  Array a = ones(3);
  ~OfThread() {
    const float before = (jit([](Array x) { return sum(x) * 2; })(a) + sum(vmap([](Array x) { return x + 1; })(a))).item<float>();
    const Array gradient = grad([](Array x) { return sum(x * x); })(a);
    if (before == 12.f && gradient(1).item<float>() == 2.f) compute_and_say(words, number);
  }
};
/// Made before weft has anything of the thread's, so that it goes after what is younger.
int thread_objects() {
  const auto use = [](const char* words, int number) {
    thread_local OfThread mine{words, number};
    static_cast<void>(mine);
    compiled_anew(number + 50);
  };
  std::thread([&] { use("object of a thread", 11); }).join();
  use("object of the main thread", 12);
  say("done");
  return 0;
}
int quick() {
  std::at_quick_exit([] { compute_and_say("handler", 13); });
  for (int i = 0; i < 5; ++i) compiled_anew(400 + i);
  say("done");
  std::quick_exit(7);
}
int at_once() {
  for (int i = 0; i < 5; ++i) compiled_anew(500 + i);
  say("done");
  _exit(8);
}
int uncaught() {
  compute_and_say("done", 14);
  throw std::runtime_error("out of main");
}
int terminate_handler() {
  std::set_terminate([] {
    compute_and_say("handler", 15);
    std::abort();
  });
  compute_and_say("done", 16);
  throw 1;
}
int terminated() {
  std::thread(compile_for_ever, 600).detach();
  wait_for(1);
  say("done");
  std::raise(SIGTERM);
  return 1;
}
int main_thread_leaves() {
  std::thread([] {
    usleep(20000);
    for (int i = 0; i < 3; ++i) compiled_anew(700 + i);
    say("done");
    std::exit(0);
  }).detach();
  compiled_anew(17);
  pthread_exit(nullptr);
}
/// Much is left to be compiled better and to be stored.
int long_queue() {
  for (int i = 0; i < 25; ++i) {
    const auto f = jit([i](Array x) {
      for (int k = 0; k < 10; ++k) x = sin(x) * (1.f + float(i * 10 + k)) + cos(x);
      return x;
    });
    for (int k = 0; k < 3; ++k) f(ones({1000}));
  }
  say("done");
  return 0;
}
int fork_and_exit() {
  compiled_anew(18);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    if (compiled_anew(18) != 1.f || compiled_anew(19) != 1.f) _exit(1);
    std::exit(0);
  }
  wait_for_child(child);
}
int fork_beside_threads() {
  for (int t = 0; t < 2; ++t) std::thread(compile_for_ever, 1000 * t).detach();
  std::thread(compute_for_ever).detach();
  wait_for(2);
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      if (compiled_anew(20 + i) != 1.f || linalg::det(eye(20)).item<float>() != 1.f) _exit(1);
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::_Exit(1);
  }
  say("done");
  return 0;
}
/// A child made within a loop that shows its progress says nothing of that loop.
int fork_in_progress() {
  setenv("WEFT_PROGRESS", "lines", 1);
  int written[2];
  if (pipe(written) != 0) return 1;
  const int before = dup(2);
  dup2(written[1], 2);
  for (const auto step : progress(3, "loop of the parent")) {
    if (step != 1) continue;
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::_Exit(1);
  }
  dup2(before, 2);
  close(written[1]);
  char text[4096];
  std::string lines;
  for (ssize_t n; (n = read(written[0], text, sizeof text)) > 0;) lines.append(text, static_cast<std::size_t>(n));
  const auto first = lines.find("loop of the parent");
  if (first == lines.npos || lines.find("loop of the parent", first + 1) != lines.npos) std::_Exit(2);
  say("done");
  return 0;
}
/// The child calls what another thread of its parent was about to trace and compile.
int fork_while_traced() {
  static std::atomic<bool> traced{false}, go{false};
  static const auto f = jit([](Array x) {
    if (!traced.exchange(true))
      while (!go) std::this_thread::yield();
    return sum(x) * 2;
  });
  std::thread([] { f(ones(3)); }).detach();
  while (!traced) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    go = true;
    std::exit(f(ones(3)).item<float>() == 6.f ? 0 : 1);
  }
  go = true;
  wait_for_child(child);
}

const std::map<std::string, int (*)()> ways{{"threads", threads},
                                            {"exit_in_main", exit_in_main},
                                            {"exit_in_thread", exit_in_thread},
                                            {"exit_in_callback", exit_in_callback},
                                            {"exit_on_device", exit_on_device},
                                            {"handler_before_use", handler_before_use},
                                            {"handler_only", handler_only},
                                            {"handler_after_use", handler_after_use},
                                            {"static_object", static_object},
                                            {"static_object_only", static_object_only},
                                            {"static_future", static_future},
                                            {"detached_compiling", detached_compiling},
                                            {"detached_first", detached_first},
                                            {"detached_computing", detached_computing},
                                            {"detached_and_static", detached_and_static},
                                            {"running_threads", running_threads},
                                            {"mapped_threads", mapped_threads},
                                            {"thread_objects", thread_objects},
                                            {"quick", quick},
                                            {"at_once", at_once},
                                            {"uncaught", uncaught},
                                            {"terminate_handler", terminate_handler},
                                            {"terminated", terminated},
                                            {"main_thread_leaves", main_thread_leaves},
                                            {"long_queue", long_queue},
                                            {"fork_and_exit", fork_and_exit},
                                            {"fork_beside_threads", fork_beside_threads},
                                            {"fork_in_progress", fork_in_progress},
                                            {"fork_while_traced", fork_while_traced}};

}  // namespace

int main(int argc, char** argv) {
  config.num_cpu_devices = 4;
  const auto way = argc > 1 ? ways.find(argv[1]) : ways.end();
  if (way == ways.end()) {
    for (const auto& [name, f] : ways) std::puts(name.c_str());
    return 2;
  }
  return way->second();
}
