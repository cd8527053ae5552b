#include "core/error.h"

namespace weft {
namespace {
std::string located(const std::string& message, SourceLoc where) {
  if (!where) return message;
  return message + "\n  at " + where.file() + ":" + std::to_string(where.line());
}
}  // namespace

Error::Error(const std::string& message, SourceLoc where) : std::runtime_error(located(message, where)), where_(where) {}

}  // namespace weft
