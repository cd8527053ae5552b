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

namespace {
struct Listed {
  std::mutex mutex;
  std::vector<const RuleTable*> tables;
};
Listed& listed() {
  static Listed& all = *new Listed;
  return all;
}
}  // namespace

RuleTable::RuleTable(std::string_view n, std::string_view d, std::optional<Kind> k) : name(n), doc(d), every(k), entries_(new Entries) {
  if (name.empty()) return;
  const std::lock_guard lock(listed().mutex);
  listed().tables.push_back(this);
}

std::vector<const RuleTable*> rule_tables() {
  std::vector<const RuleTable*> all;
  {
    const std::lock_guard lock(listed().mutex);
    all = listed().tables;
  }
  std::sort(all.begin(), all.end(), [](const RuleTable* a, const RuleTable* b) { return a->name < b->name; });
  return all;
}

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
