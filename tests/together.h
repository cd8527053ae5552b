// Several threads that begin at once.
#pragma once
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace weft::test {

/// Runs body(number) on each of the threads, which start together; rethrows what the first of them threw.
template <class F>
void together(int count, F&& body) {
  std::atomic<int> ready = 0;
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      try {
        body(t);
      } catch (...) {
        failures[static_cast<std::size_t>(t)] = std::current_exception();
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : failures)
    if (e) std::rethrow_exception(e);
}

}  // namespace weft::test
