// export_object: a compiled function's program, and its derivative, as what the backend writes into an object file.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "weft/core/base/counted.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/transforms/autodiff/grad.h"
#include "weft/transforms/autodiff/vjp.h"
#include "weft/transforms/jaxpr_api.h"
#include "weft/transforms/jit/compiled_function.h"

namespace weft {
namespace {

using Arrays = std::vector<Array>;
using Entry = detail::ObjectRequest::Entry;

bool is_word(std::string_view s) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) && std::all_of(s.begin(), s.end(), is_part);
}

/// Throws CompileError, which says that it is no `what`, for what is no word or one that C or C++ keeps for itself: the header is for both.
void check_name(const std::string& name, const std::string& what, SourceLoc loc) {
  constexpr std::string_view reserved =
      " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await "
      "co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do "
      "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
      "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
      "return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try "
      "typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq _Alignas _Alignof _Atomic "
      "_Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local ";
  if (!is_word(name)) throw CompileError(fmt::format("export_object: `{}` is not a name {}", name, what), loc);
  if (reserved.find(" " + name + " ") != reserved.npos)
    throw CompileError(fmt::format("export_object: `{}` is not a name {}: C or C++ keeps the word for itself", name, what), loc);
}

/// The path of an array as a word of C: `args[0].weights` is arg0_weights.
std::string word_of(std::string_view path, std::string_view root, std::string_view head) {
  if (path.starts_with(root)) path.remove_prefix(root.size());
  std::string word(head);
  bool apart = false;
  for (const char c : path)
    if (std::isalnum(static_cast<unsigned char>(c))) {
      if (apart && word.size() > head.size()) word += '_';
      word += c, apart = false;
    } else {
      apart = true;
    }
  return word;
}

/// One name for each array, all different from each other and from those taken.
std::vector<std::string> names_of(const std::vector<std::string>& given, const std::vector<std::string>& paths, std::string_view root,
                                  std::string_view head, std::string_view what, std::set<std::string>& taken, SourceLoc loc) {
  if (!given.empty() && given.size() != paths.size())
    throw CompileError(fmt::format("export_object: {} given for {}", detail::counted(given.size(), fmt::format("{} name", what)),
                                   detail::counted(paths.size(), "array")),
                       loc);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::string name = given.empty() ? word_of(paths[i], root, head) : given[i];
    check_name(name, fmt::format("in C, as {} {} must have one", what, i), loc);
    if (!given.empty() && taken.contains(name))
      throw CompileError(fmt::format("export_object: two arrays are called `{}`; names must differ", name), loc);
    while (taken.contains(name)) name += '_';
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

/// Which of these have derivatives.
std::vector<std::size_t> inexact(std::span<const detail::Aval> avals) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < avals.size(); ++i)
    if (avals[i].dtype.is_inexact()) which.push_back(i);
  return which;
}

/// The entry of the derivative: with the result's value where that is one real number; else with cotangents among the inputs.
Entry derivative_of(const Entry& f) {
  const std::span<const detail::Aval> in = f.program.data().input_avals();
  const std::vector<detail::Aval> out = f.program.data().output_avals();
  const std::vector<std::size_t> varied = inexact(in), results = inexact(out);
  if (varied.empty() || results.empty())
    throw CompileError("export_object: " + f.name + " has no derivative: " +
                       (varied.empty() ? "none of its inputs is" : "none of its results is") + " a floating or complex array");
  const Jaxpr& program = f.program;
  const auto with = [&](const Arrays& inputs, const Arrays& values) {
    Arrays all(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(in.size()));
    for (std::size_t k = 0; k < varied.size(); ++k) all[varied[k]] = values[k];
    return all;
  };
  const auto chosen = [&](const Arrays& inputs) {
    Arrays values;
    for (const std::size_t i : varied) values.push_back(inputs[i]);
    return values;
  };
  std::vector<ShapeDtypeStruct> types = program.in_avals();
  std::vector<std::string> gradients;
  for (const std::size_t i : varied) gradients.push_back("grad_" + f.inputs[i]);
  if (out.size() == 1 && out[0].ndim() == 0 && !out[0].dtype.is_complex()) {
    const Jaxpr made = make_jaxpr([&](const Arrays& inputs) {
      const auto loss = [&](const Arrays& values) { return detail::eval_jaxpr(program, with(inputs, values))[0]; };
      auto [value, gradient] = value_and_grad(loss)(chosen(inputs));
      gradient.insert(gradient.begin(), value);
      return gradient;
    })(types);
    Entry e{f.name + "_grad", "the value of " + f.name + " and its derivatives by the floating inputs.", made, f.inputs, f.outputs};
    e.outputs.insert(e.outputs.end(), gradients.begin(), gradients.end());
    return e;
  }
  Entry e{f.name + "_vjp", "of the cotangents of " + f.name + "'s floating results, those of its floating inputs.", program, f.inputs,
          gradients};
  for (const std::size_t i : results) {
    types.push_back(program.out_avals()[i]);
    e.inputs.push_back("cotangent_" + f.outputs[i]);
  }
  e.program = make_jaxpr([&](const Arrays& inputs) {
    const auto values_of = [&](const Arrays& values) {
      const Arrays all = detail::eval_jaxpr(program, with(inputs, values));
      Arrays floating;
      for (const std::size_t i : results) floating.push_back(all[i]);
      return floating;
    };
    const auto [values, pull] = vjp(values_of, chosen(inputs));
    const auto [cotangents] = pull(Arrays(inputs.begin() + static_cast<std::ptrdiff_t>(in.size()), inputs.end()));
    return cotangents;
  })(types);
  return e;
}

}  // namespace

void export_object(const detail::CompiledBase& compiled, const std::string& name, const ExportOptions& options, SourceLoc loc) try {
  const std::size_t slash = name.rfind('/');
  const std::string symbol = slash == std::string::npos ? name : name.substr(slash + 1);
  check_name(symbol, "for a C function", loc);
  auto& f = static_cast<detail::CompiledFunction&>(compiled.program());
  std::set<std::string> taken{symbol, "inputs", "outputs"};
  Entry entry{symbol, "the compiled function " + f.name() + ".", f.jaxpr(), {}, {}};
  entry.inputs = names_of(options.input_names, detail::leaf_paths(compiled.argument_paths()), "args", "arg", "input", taken, loc);
  entry.outputs = names_of(options.output_names, detail::leaf_paths(compiled.result_paths()), "", "out", "output", taken, loc);
  detail::ObjectRequest request{symbol, {entry}, options.targets};
  if (options.gradient) request.entries.push_back(derivative_of(entry));
  const detail::Object object = f.executable().export_object(request);
  // Both files are written completely before either is renamed to its place.
  detail::NewFile code("export_object", name + ".o", loc), header("export_object", name + ".h", loc);
  code.write(object.object), header.write(object.header);
  code.finish(), header.finish();
  code.place(), header.place();
} catch (...) {
  detail::rethrow_as_error("export_object", loc);
}

}  // namespace weft
