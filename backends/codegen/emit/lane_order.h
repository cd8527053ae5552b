// Which lanes an access of a vector reaches, and in which order.
#pragma once
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include <vector>

namespace weft::detail {

/// Up to this many lanes, masked gathers and scatters are emitted element by element.
inline constexpr int kFewLanes = 8;

inline std::vector<int> reversed(int lanes) {
  std::vector<int> m;
  for (int i = lanes; i-- > 0;) m.push_back(i);
  return m;
}

/// How many lanes a mask keeps, if that is known and they are the first ones; else -1.
inline int first_lanes(const llvm::Value* mask) {
  const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  if (!c) return -1;
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(c->getType())->getNumElements());
  int kept = 0;
  for (int i = 0; i < lanes; ++i) {
    const llvm::Constant* one = c->getAggregateElement(static_cast<unsigned>(i));
    if (!one || !(one->isOneValue() || one->isNullValue()) || (one->isOneValue() && kept < i)) return -1;
    kept += one->isOneValue();
  }
  return kept;
}

}  // namespace weft::detail
