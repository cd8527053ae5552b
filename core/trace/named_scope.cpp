#include "weft/core/trace/named_scope.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "weft/core/base/process_wide.h"

namespace weft::detail {
namespace {

/// Every scope's name, and every file's name in every scope: they live for ever, so that locations can point to them.
struct Names {
  std::shared_mutex mutex;
  std::set<std::string, std::less<>> scopes;
  std::map<std::pair<std::string, const std::string*>, const char*> by_file;
  std::map<const char*, const std::string*> scope_of;  // of file names that were made here

  const std::string* scope(std::string_view name) {
    const std::lock_guard lock(mutex);
    return &*scopes.emplace(name).first;
  }
  const char* file(const char* name, const std::string* scope) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = by_file.try_emplace({name, scope}, nullptr);
    if (is_new) {
      at->second = at->first.first.c_str();
      scope_of.emplace(at->second, scope);
    }
    return at->second;
  }
  const std::string* find(const char* file) {
    const std::shared_lock lock(mutex);
    const auto found = scope_of.find(file);
    return found == scope_of.end() ? nullptr : found->second;
  }
};
Names& names() {
  static Names& n = process_wide<Names>();
  return n;
}

// Null: none was ever named, and no location has one.
std::atomic<bool> any_scope{false};
thread_local const std::string* current = nullptr;

SourceLoc with_scope(SourceLoc loc, const std::string* scope) {
  return SourceLoc::at(names().file(loc.file(), scope), loc.line()).of(loc.called());
}

}  // namespace

NameScope::NameScope(std::string_view name) : outer_(current) {
  any_scope.store(true, std::memory_order_relaxed);
  current = names().scope(outer_ ? *outer_ + "/" + std::string(name) : std::string(name));
}
NameScope::~NameScope() { current = outer_; }

SourceLoc in_name_scope(SourceLoc loc) { return !current || names().find(loc.file()) ? loc : with_scope(loc, current); }

std::string_view name_scope_of(SourceLoc loc) {
  if (!any_scope.load(std::memory_order_relaxed)) return {};
  const std::string* const scope = names().find(loc.file());
  return scope ? std::string_view(*scope) : std::string_view();
}

SourceLoc joined_name_scope(SourceLoc loc, SourceLoc call) {
  if (!any_scope.load(std::memory_order_relaxed)) return loc;
  const std::string* const outer = names().find(call.file());
  if (!outer) return loc;
  const std::string* const inner = names().find(loc.file());
  if (!inner) return with_scope(loc, outer);
  // One that was traced within the call's scope has its name already.
  return inner == outer || inner->starts_with(*outer + "/") ? loc : with_scope(loc, names().scope(*outer + "/" + *inner));
}

}  // namespace weft::detail
