// A program and the stages of its compilation, as an HTML page.
#pragma once
#include <string>

#include "weft/core/array/array_functions.h"
#include "weft/transforms/flat.h"

namespace weft {

/// Options of to_html.
struct ViewOptions {
  std::string title = {};  ///< empty: the function's name
  bool measured = true;    ///< with arrays that have values the compiled program is run some times, and each of its steps timed
  std::string source_folder =
      {};               ///< where the compiler was run, for lines of files that it names relative to that; empty: the working folder
  bool sources = true;  ///< the lines of the user's files that the program comes from are on the page, where the files can be read
  bool code = true;     ///< the kernels' LLVM code and assembly are on the page
};

namespace detail {

std::string flat_to_html(FlatFunction& f, const ViewOptions& options);

template <class F>
class ToHtml : public Callable<ToHtml<F>> {
 public:
  using weft_inner = F;
  ToHtml(F f, ViewOptions options) : f_(std::move(f)), options_(std::move(options)) {}
  template <class... A>
  std::string call(SourceLoc loc, const A&... args) const {
    FlatCall<F, A...> flat(f_, loc, args...);
    return flat_to_html(flat, options_);
  }

 private:
  mutable F f_;
  ViewOptions options_;
};

}  // namespace detail

/// `to_html(f)(x, ...)`: a page that shows the program which f is for these arguments (arrays, or ShapeDtypeStructs): as it was traced,
/// before and after each transform and pass, and what it is compiled to. Equations are linked to the user's lines, to the kernels that
/// compute them, and to these kernels' loops, LLVM code and assembly; sizes and expected costs stand beside them, the times of the steps as
/// colors, and pictures of where sharded arrays are. The page is one file that needs nothing else; it is a std::string. A program with
/// callbacks is not run.
template <class F = UnaryFunction>
detail::ToHtml<F> to_html(F f, ViewOptions options = {}) {
  return {std::move(f), std::move(options)};
}
/// Writes to_html's page. Throws IoError where it can't be written.
void save_html(const std::string& path, const std::string& page, SourceLoc loc = SourceLoc::here());

}  // namespace weft
