// A program and the stages of its compilation, as an HTML page.
#pragma once
#include <string>

#include "weft/core/array/array_functions.h"
#include "weft/transforms/flat.h"

namespace weft {

/// Options of to_html.
struct ViewOptions {
  std::string title = {};          ///< empty: the function's name
  bool measured = true;            ///< if the arguments are concrete, the compiled program is run and each of its steps is timed
  std::string source_folder = {};  ///< the folder in which the compiler ran, for relative paths of source files; empty: the working folder
  bool sources = true;             ///< the page shows the user's source lines that the program comes from, where the files can be read
  bool code = true;                ///< the page shows the kernels' LLVM IR and assembly
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

/// `to_html(f)(x, ...)`: a page that shows the program of f for these arguments (arrays, or ShapeDtypeStructs): as traced, before
/// and after each transform and pass, and as compiled. Equations are linked to the user's lines, to the kernels that compute
/// them, and to these kernels' loops, LLVM IR and assembly, with sizes and estimated costs, the times of steps as colors, and
/// pictures of the shardings. The page is one self-contained file, returned as a std::string. A program with callbacks is not
/// run.
template <class F = UnaryFunction>
detail::ToHtml<F> to_html(F f, ViewOptions options = {}) {
  return {std::move(f), std::move(options)};
}
/// Writes to_html's page. Throws IoError where it can't be written.
void save_html(const std::string& path, const std::string& page, SourceLoc loc = SourceLoc::here());

}  // namespace weft
