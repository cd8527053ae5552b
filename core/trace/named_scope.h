// Names that the user gives to parts of a program. An equation carries its scope in its location: the location's file name is then one of
// a table of names made for it, which reads as the file's name and stands for the scope too. So scopes go wherever locations go, and cost
// nothing where there are none.
#pragma once
#include <string>
#include <string_view>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// Equations that this thread traces get the name, behind those of the scopes around it: `decoder/attention`. For the object's life.
class [[nodiscard]] NameScope {
 public:
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  const std::string* const outer_;
};

/// The location within the scope that the thread is in; one that has a scope keeps it.
SourceLoc in_name_scope(SourceLoc loc);
/// The scope of a location, empty if it has none. It lives as long as the process.
std::string_view name_scope_of(SourceLoc loc);
/// Of an equation in the body of a call: its own scope within that of the call.
SourceLoc joined_name_scope(SourceLoc loc, SourceLoc call);

}  // namespace weft::detail
