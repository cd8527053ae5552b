// What the checks of a distributed test say, and those that live in other files.
#pragma once
#include <fmt/core.h>
#include <weft/weft.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tools/programs.h"

namespace weft::test {

inline int failures = 0;

inline void expect(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "process %d: %s\n", process_index(), what.c_str());
}
template <class A, class B>
void equal(const A& got, const B& want, const std::string& what) {
  expect(got == want, fmt::format("{}: {}, wanted {}", what, got, want));
}
inline void counts(std::int64_t got, std::int64_t want, const std::string& what) {
  expect(got == want, fmt::format("{}: {}, wanted {}", what, got, want));
}
inline void same(const Array& got, const Array& want, const std::string& what) {
  const std::string wrong = tools::difference(got, want, nullptr, {0, 0, true});
  expect(wrong.empty(), what + ": " + wrong);
}
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}
inline void says(const std::string& message, const std::string& part) {
  expect(message.find(part) != std::string::npos, fmt::format("no `{}` in the message `{}`", part, message));
}

inline Array numbers(Shape shape, DType dtype = float32) {
  return convert(reshape(arange(static_cast<int>(shape.num_elements())), shape), dtype);
}

/// The collective of all devices' rows, of each of which this process passes its own, against vmap on all rows.
template <class F>
void as_vmap(F f, const Array& whole, const std::string& what) {
  const int local = local_device_count(), me = process_index();
  const Array wanted = vmap(f, {.axis_name = "i"})(whole);
  const Array got = pmap(f, {.axis_name = "i"})(whole(slice(local * me, local * (me + 1))));
  const std::string wrong =
      tools::difference(device_get(got), wanted(slice(local * me, local * (me + 1))), nullptr, {1e-5, 1e-5, !whole.dtype().is_inexact()});
  expect(wrong.empty(), what + ": " + wrong);
}

/// Maps in maps, rows in rounds, groups of different sizes; donated arguments.
void nested_maps();
/// Maps, vmap, jit and grad around each other in all orders.
void nestings();
/// Operations along a dimension that the processes' devices divide, and maps over some of a mesh's axes.
void sharded_pieces();
void donation();
/// Collectives that begin before they are waited for.
void overlap();
/// Prints the bytes on the heap that each of many collectives over a mesh of processes x 1 takes.
void many_collectives();
/// What gradients are that are summed while others are computed.
std::vector<Array> overlapped_gradients();
/// A program with collectives, in which processes fail: "overlap", "halo", "rounds", or a sum.
std::function<Array(Array)> faulty_program(const std::string& what);
/// Devices beyond the hosts' of several processes: what they know of each other, groups, replays, checkpoints in a folder.
void gpus(const std::string& folder);
/// Each entry point of the libraries fails once on one process: all hear of it, and go on.
void gpu_failures();
/// The same of each single call that a collective makes, the first or in a graph, of each process.
void gpu_collective_failures();

}  // namespace weft::test
