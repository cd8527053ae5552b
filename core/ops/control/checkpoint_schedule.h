// Which states of a loop are kept for its reverse: takes the number of a step, of steps, of states; gives, as operations on traced integers
// that become part of the loop, what is kept where, and how far to go on from a state that is kept.
//
// While a loop runs whose length shows only at its end, states are placed by levels: Q. Wang, P. Moin, G. Iaccarino, Minimal repetition
// dynamic checkpointing algorithm for unsteady adjoint calculation (SIAM J. Sci. Comput. 31, 2009), with room that grows as the logarithm
// of the steps; P. Stumm, A. Walther, New algorithms for optimal online checkpointing (SIAM J. Sci. Comput. 32, 2010) is about the same
// problem. A stretch whose length is known is divided as A. Griewank, A. Walther, Algorithm 799: revolve (ACM Trans. Math. Softw. 26,
// 2000), which evaluates the fewest steps that so many states allow.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

/// The parameter `checkpoints` of a loop: 0 for none, the number of states, or this for floor(log2(steps)) + 4.
inline constexpr int kLogarithmicCheckpoints = -1;

/// How many states are kept at most of a loop of up to `bound` steps; of any number where it is 0.
std::int64_t states_at_most(int checkpoints, std::int64_t bound);
/// How many may be kept of so many steps, never more than `at_most`: i64[].
Array states_of(int checkpoints, const Array& steps, std::int64_t at_most);

/// The states that are kept, oldest first. Beyond `count`, `slots` names those that are free.
struct KeptStates {
  Array count;                 ///< i64[]
  Array slots, steps, levels;  ///< i64[at most]: where each state is, the number of steps before it, and its level
  Array raised;                ///< i64[]: the position of the state that was last given a higher level; 0: none was
};
KeptStates no_states(std::int64_t at_most, SourceLoc loc);
/// Keeps the state before a step in `slot`, after one that is worth least has been given up if there are as many as there may be.
struct PlacedState {
  KeptStates kept;
  Array slot;
};
PlacedState place_state(const KeptStates& kept, const Array& step, const Array& may_be_kept, SourceLoc loc);

/// The next of the states to keep, counted in steps from one that is kept, when `steps` steps from there are to be reversed with `states`
/// states, that one included; steps - 1 where there is nothing to keep in between. i64[].
Array steps_to_next_state(const Array& steps, const Array& states, SourceLoc loc);
/// The states to keep of a known number of steps, the one before the first step included.
std::vector<std::int64_t> binomial_states(std::int64_t steps, std::int64_t states);

/// One element of a vector: a scalar.
Array element_at(const Array& vector, const Array& position, SourceLoc loc);

}  // namespace weft::detail
