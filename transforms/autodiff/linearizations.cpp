#include "weft/transforms/autodiff/linearizations.h"

#include <algorithm>

#include "weft/core/base/config.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/ir/effects.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/recently_used.h"
#include "weft/transforms/autodiff/forward.h"

namespace weft::detail {
namespace {

constexpr std::size_t kKept = 256;

bool same_lines(const Jaxpr& a, const Jaxpr& b) {
  return std::equal(a.eqns().begin(), a.eqns().end(), b.eqns().begin(), b.eqns().end(), [](const Eqn& x, const Eqn& y) {
    return x.loc.line() == y.loc.line() && x.loc.file() == y.loc.file() && x.loc.called() == y.loc.called();
  });
}

class Kept {
 public:
  Ref<Linearization> find(std::size_t hash, const Jaxpr& traced, const std::vector<bool>& nonzero) {
    const std::lock_guard lock(mutex_);
    return known_.find(hash, [&](const Linearization& l) { return l.is_of(traced, nonzero); });
  }
  /// Replaces an entry with the same hash: programs with user rules never compare equal to earlier ones, whose captures must not be kept
  /// alive.
  void add(std::size_t hash, const Ref<Linearization>& l) {
    Ref<Linearization> replaced, oldest;  // released after the lock
    const std::lock_guard lock(mutex_);
    replaced = known_.find(hash, [](const Linearization&) { return true; });
    if (replaced) known_.remove(replaced);
    known_.add(hash, l);
    oldest = known_.take_oldest(kKept, [](const Linearization&) { return true; });
  }

 private:
  ProcessMutex mutex_{LockRank::linearizations};
  RecentlyUsed<Linearization> known_;
};

}  // namespace

Linearization::Linearization(const Jaxpr& traced, std::vector<bool> nonzero, std::span<const Array> values)
    : traced_(traced), nonzero_(std::move(nonzero)), program_(linearize_program(traced_, nonzero_, values)) {}

bool Linearization::is_of(const Jaxpr& traced, const std::vector<bool>& nonzero) const {
  return nonzero == nonzero_ && traced.data().avals == traced_.data().avals && same_lines(traced, traced_) && traced == traced_;
}

TransposedProgram Linearization::transposed(const std::vector<bool>& linear, const std::vector<bool>& has_cotangent) {
  const auto wanted = std::pair(linear, has_cotangent);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [of, program] : transposed_)
      if (of == wanted) return program;
  }
  TransposedProgram made = transpose_program(program_.linear, linear, has_cotangent);
  const std::lock_guard lock(mutex_);
  return transposed_.emplace_back(wanted, std::move(made)).second;
}

Jaxpr Linearization::joined(std::pair<std::size_t, std::size_t> results, FunctionRef<Jaxpr()> make) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [of, program] : joined_)
      if (of == results) return program;
  }
  Jaxpr made = make();
  const std::lock_guard lock(mutex_);
  return joined_.emplace_back(results, std::move(made)).second;
}

Ref<Linearization> linearization_of(const Jaxpr& traced, const std::vector<bool>& nonzero, std::span<const Array> values) {
  if (RulesGetValues::active()) return make_ref<Linearization>(traced, nonzero, values);
  // Source lines within loops and branches are not compared, as only messages and callbacks depend on them.
  if (current_trace() || config.debug_nans || config.debug_key_reuse || has_effects(traced) || calls_back(traced))
    return make_ref<Linearization>(traced, nonzero);
  static auto& kept = process_wide<Kept>();
  const std::size_t hash = structural_hash(traced);
  if (Ref<Linearization> known = kept.find(hash, traced, nonzero)) return known;
  auto made = make_ref<Linearization>(traced, nonzero);
  kept.add(hash, made);
  return made;
}

}  // namespace weft::detail
