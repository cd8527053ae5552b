#include "weft/core/ops/control/checkpoint_schedule.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kBesideLogarithm = 4;

Array number(std::int64_t n) { return make_literal(n, int64); }

}  // namespace

std::int64_t states_at_most(int checkpoints, std::int64_t bound) {
  const auto steps = static_cast<std::uint64_t>(bound > 0 ? bound : std::numeric_limits<std::int64_t>::max());
  const std::int64_t states = checkpoints > 0 ? checkpoints : std::bit_width(steps) - 1 + kBesideLogarithm;
  return std::max<std::int64_t>(2, bound > 0 ? std::min(states, bound) : states);
}

Array states_of(int checkpoints, const Array& steps, std::int64_t at_most) {
  if (checkpoints > 0) return number(std::min<std::int64_t>(checkpoints, at_most));
  return minimum(63 + kBesideLogarithm - clz(maximum(steps, number(1))), number(at_most));
}

Array element_at(const Array& vector, const Array& position, SourceLoc loc) {
  return reshape_to(dynamic_slice(vector, {position}, {1}), {}, loc);
}

KeptStates no_states(std::int64_t at_most, SourceLoc loc) {
  const Array zeros = fill_shape(number(0), {at_most}, loc);
  return {number(0), iota_array(int64, {at_most}, 0, loc), zeros, zeros, number(0)};
}

// The state that goes is the one in front of the last that was raised, as long as its level is lower: what comes later in the loop then has
// a state nearby that is more lasting. Where there is none, the newest state makes room and its successor is raised above it.
PlacedState place_state(const KeptStates& kept, const Array& step, const Array& may_be_kept, SourceLoc loc) {
  const Array one = number(1);
  const Array& n = kept.count;
  const Array before = maximum(kept.raised - one, number(0));
  const Array grows = n < may_be_kept;
  const Array drops = (kept.raised > one) & (element_at(kept.levels, before, loc) < element_at(kept.levels, kept.raised, loc));
  const Array newest = maximum(n - one, number(0));
  const Array last = where(grows, n, newest), from = where(grows | ~drops, last, before);
  const Array level = where(grows | drops, number(0), element_at(kept.levels, newest, loc) + one);
  const Array slot = element_at(kept.slots, from, loc);

  const std::int64_t size = kept.slots.shape()[0];
  const Array position = iota_array(int64, {size}, 0, loc);
  const Array is_moved = (position >= from) & (position < last), is_last = position == last;
  const auto with = [&](const Array& row, const Array& value) {
    const Array next = concatenate_along(std::vector<Array>{slice_axis(row, 0, 1, size, loc), slice_axis(row, 0, 0, 1, loc)}, 0, loc);
    return where(is_last, value, where(is_moved, next, row));
  };
  return {{last + one, with(kept.slots, slot), with(kept.steps, step), with(kept.levels, level),
           where(grows, kept.raised, where(drops, before, newest))},
          slot};
}

// With c states and r repetitions C(c + r, c) steps can be reversed. r is the least that suffices; each of the two parts then gets as many
// steps as it can reverse with its share of both (Griewank and Walther, section 2).
Array steps_to_next_state(const Array& steps, const Array& states, SourceLoc loc) {
  const Aval scalar{{}, int64, false};
  const Array c = maximum(states, number(2));
  While::Params search;
  search.cond_nconsts = 1, search.body_nconsts = 1;
  search.cond_jaxpr = make_program("while", {scalar, scalar, scalar}, [](std::span<const Array> a) { return std::vector{a[2] < a[0]}; });
  search.body_jaxpr = make_program("while", {scalar, scalar, scalar}, [](std::span<const Array> a) {
    const Array r = a[1] + number(1);
    return std::vector{r, div(a[2] * (a[0] + r), r)};
  });
  const std::vector<Array> found = bind_while(search, std::vector{steps, c, number(0), number(1)}, loc);
  const Array& r = found[0];
  const Array first = div(found[1] * r, c + r);                                // C(c + r - 1, c)
  const Array second = div(first * c, maximum(c + r - number(1), number(1)));  // C(c + r - 2, c - 1)
  const Array binomial = maximum(minimum(first, steps - second), number(1));
  return minimum(where(states < number(2), steps, binomial), steps - number(1));
}

std::vector<std::int64_t> binomial_states(std::int64_t steps, std::int64_t states) {
  std::vector<std::int64_t> kept;
  for (std::int64_t at = 0; at < steps && states > 0; --states) {
    kept.push_back(at);
    const std::int64_t left = steps - at;
    if (states < 2 || left < 2) break;
    std::int64_t r = 0, all = 1;
    for (; all < left; all = all * (states + r) / r) ++r;
    const std::int64_t first = all * r / (states + r), second = first * states / (states + r - 1);
    at += std::clamp<std::int64_t>(std::min(first, left - second), 1, left - 1);
  }
  return kept;
}

}  // namespace weft::detail
