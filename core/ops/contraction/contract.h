// Contractions of two arrays whose dimensions carry labels: what matmul and einsum are made of.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

/// An array and a label for each of its dimensions; no label occurs twice.
struct Labelled {
  Array array;
  std::vector<int> labels;
};
/// The product of two arrays of one dtype. A label of both is a batch dimension if it is in `kept`, else it is summed over; sizes must
/// match.
Labelled contract_pair(const Labelled& a, const Labelled& b, const std::vector<int>& kept, SourceLoc loc, std::optional<DType> dtype = {});
/// The array with its dimensions in the order of the labels, which are all of its labels.
Array ordered(const Labelled& x, const std::vector<int>& labels, SourceLoc loc);
/// Both operands in their common dtype.
std::pair<Array, Array> promoted(const Arg& a, const Arg& b);

}  // namespace weft::detail
