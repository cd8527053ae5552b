#include "weft/core/ir/rules.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace weft::detail {

struct RuleTable::Entries {
  mutable std::shared_mutex mutex;
  std::unordered_map<const Primitive*, Function*> rules;
};

RuleTable::RuleTable() : entries_(new Entries) {}

void RuleTable::add(const Primitive& op, Function* rule) {
  const std::lock_guard lock(entries_->mutex);
  entries_->rules[&op] = rule;
}

RuleTable::Function* RuleTable::find(const Primitive& op) const {
  const std::shared_lock lock(entries_->mutex);
  const auto found = entries_->rules.find(&op);
  return found == entries_->rules.end() ? nullptr : found->second;
}

std::vector<const Primitive*> RuleTable::primitives() const {
  std::vector<const Primitive*> all;
  {
    const std::shared_lock lock(entries_->mutex);
    for (const auto& [op, rule] : entries_->rules) all.push_back(op);
  }
  std::sort(all.begin(), all.end(), [](const Primitive* a, const Primitive* b) { return a->name < b->name; });
  return all;
}

}  // namespace weft::detail
