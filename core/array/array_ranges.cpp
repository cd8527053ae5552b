#include "weft/core/array/array_ranges.h"

#include <fmt/format.h>

#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft {

template <std::same_as<Array> A>
RowIterator begin(const A& x, SourceLoc loc) {
  if (x.ndim() == 0)
    throw ShapeError(fmt::format("iteration over an array {}, which has no axis; its one element is item<T>()", to_string(x.aval())),
                     detail::effective_loc(loc));
  return {x, 0};
}
template <std::same_as<Array> A>
RowIterator end(const A& x) {
  return {x, x.shape()[0]};
}
template RowIterator begin(const Array&, SourceLoc);
template RowIterator end(const Array&);

namespace detail {

void throw_ragged(int depth, std::int64_t size, std::int64_t other, SourceLoc loc) {
  throw ShapeError(fmt::format("array: ragged rows: in dimension {} one has {}, another {}; all must have as many", depth,
                               counted(size, "element"), other),
                   effective_loc(loc));
}

}  // namespace detail
}  // namespace weft
