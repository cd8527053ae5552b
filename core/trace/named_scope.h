// Names that the user gives to parts of a program (jax.named_scope). An equation carries its scope in its location: the location's file
// name is interned in a table that maps it to the file and the scope. So scopes are copied wherever locations are copied, and cost nothing
// where there are none.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// Equations that this thread traces while the object lives get the name, after those of the scopes around it: `decoder/attention`.
class [[nodiscard]] NameScope {
 public:
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  const std::string* const outer_;
};

/// The location with the thread's current scope; a location that has a scope keeps it.
SourceLoc in_name_scope(SourceLoc loc);
/// The scope of a location, empty if it has none. It lives as long as the process.
std::string_view name_scope_of(SourceLoc loc);
/// The location of an equation in the body of a call, its scope nested in that of the call.
SourceLoc joined_name_scope(SourceLoc loc, SourceLoc call);

}  // namespace weft::detail
