// What passes over kernels that only move elements share.
#pragma once
#include <functional>

#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// Whether it is a choice between elements, or part of the condition of one.
bool is_choice(const Node& n);
/// Whether each point of the kernel's loops stores elements that it has loaded somewhere, or constants, as conditions on its position tell,
/// or what at most so many operations make of them.
bool only_moves(const Kernel& k, int operations);

/// The position in another kernel, where `index` gives the index along a loop.
NodeId copied_position(const Dag& from, NodeId position, Dag& to, const std::function<NodeId(int)>& index);
NodeId copied_position(const Dag& from, const Affine& position, Dag& to, const std::function<NodeId(int)>& index);

}  // namespace weft::detail
