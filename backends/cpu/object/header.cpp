// The header of an object file.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "weft/backends/cpu/object/export.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/version.h"

namespace weft::detail {
namespace {

/// The elements' type in C, and in C++.
std::string element_type(DType t) {
  if (t.is_key()) return "uint64_t";
  if (t.is_bool()) return "uint8_t";
  if (t == float16 || t == bfloat16) return "uint16_t";
  if (t == float32) return "float";
  if (t == float64) return "double";
  if (t == complex64) return "WEFT_COMPLEX64";
  if (t == complex128) return "WEFT_COMPLEX128";
  return std::string(t.name()) + "_t";
}
std::string about_type(DType t) {
  if (t.is_key()) return "key: the two uint32 words of each";
  if (t == float16 || t == bfloat16) return std::string(t.name()) + ", as its bits";
  return std::string(t.name());
}
std::string numbers(const Shape& s) {
  std::string text;
  for (const std::int64_t n : s) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}
std::string upper(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return s;
}

struct Parameter {
  std::string name;
  Aval aval;
  bool is_input = false;
  std::string c() const { return (is_input ? "const " : "") + element_type(aval.dtype) + "* " + name; }
  std::string cpp() const {
    return fmt::format("std::span<{}{}, {}> {}", is_input ? "const " : "", element_type(aval.dtype), aval.size(), name);
  }
};

std::string declarations(const ObjectRequest::Entry& e) {
  std::vector<Parameter> all;
  const std::span<const Aval> in = e.program.data().input_avals();
  const std::vector<Aval> out = e.program.data().output_avals();
  for (std::size_t i = 0; i < in.size(); ++i) all.push_back({e.inputs[i], in[i], true});
  for (std::size_t i = 0; i < out.size(); ++i) all.push_back({e.outputs[i], out[i], false});
  std::string text = fmt::format("/* {}: {}\n *\n", e.name, e.about);
  std::size_t at = 0;
  for (const Parameter& p : all) {
    if (&p == all.data() + in.size()) at = 0;
    text += fmt::format(" * {}[{}]  {}: {} [{}], {} bytes\n", p.is_input ? "inputs" : "outputs", at++, p.name, about_type(p.aval.dtype),
                        numbers(p.aval.shape), p.aval.bytes());
  }
  text +=
      fmt::format(" */\nint {}(const void* const* inputs, void* const* outputs);\n#define {}_NUM_INPUTS {}\n#define {}_NUM_OUTPUTS {}\n",
                  e.name, upper(e.name), in.size(), upper(e.name), out.size());
  for (const Parameter& p : all) {
    const std::string name = upper(e.name + "_" + p.name);
    text += fmt::format("#define {0}_SIZE {1}\n#define {0}_RANK {2}\n", name, p.aval.size(), p.aval.ndim());
    if (p.aval.ndim() > 0) text += fmt::format("#define {}_SHAPE {{{}}}\n", name, numbers(p.aval.shape));
  }
  const auto list = [&](auto&& of, std::string_view separator) {
    std::string s;
    for (const Parameter& p : all) s += (s.empty() ? "" : std::string(separator)) + of(p);
    return s;
  };
  const auto pointers = [&](bool inputs) {
    std::string s;
    for (const Parameter& p : all)
      if (p.is_input == inputs) s += (s.empty() ? "" : ", ") + p.name;
    return s.empty() ? std::string("0") : s;
  };
  text += fmt::format(
      "/* The same with the arrays one by one. */\nstatic inline int {0}_call({1}) {{\n  const void* const weft_inputs[] = {{{2}}};\n  "
      "void* const weft_outputs[] = {{{3}}};\n"
      "  return {0}(weft_inputs, weft_outputs);\n}}\n",
      e.name, all.empty() ? "void" : list([](const Parameter& p) { return p.c(); }, ", "), pointers(true), pointers(false));
  return text;
}

std::string cpp_declarations(const ObjectRequest::Entry& e) {
  std::string parameters, arguments;
  const std::span<const Aval> in = e.program.data().input_avals();
  const std::vector<Aval> out = e.program.data().output_avals();
  const auto add = [&](const Parameter& p) {
    parameters += (parameters.empty() ? "" : ", ") + p.cpp();
    arguments += (arguments.empty() ? "" : ", ") + p.name + ".data()";
  };
  for (std::size_t i = 0; i < in.size(); ++i) add({e.inputs[i], in[i], true});
  for (std::size_t i = 0; i < out.size(); ++i) add({e.outputs[i], out[i], false});
  return fmt::format("inline void {0}({1}) {{ check(::{0}_call({2})); }}\n", e.name, parameters, arguments);
}

}  // namespace

std::string object_header(const ObjectRequest& request, const std::string& targets) {
  const std::string guard = "WEFT_OBJECT_" + upper(request.name) + "_H";
  std::string text = fmt::format(
      R"(/* {0}.o, made by weft {1} for {2}. Link it with the C library's mathematics (-lm), and with weft's archive for such files (-lweft_aot)
 * where the linker asks for names that begin with weft_aot_.
 *
 * Arrays are row-major and without gaps, each aligned to its elements at least; 64 bytes are best. No two of them may overlap, but for inputs.
 * Functions give 0, or say what is wrong as <weft/aot.h> tells: 1, no memory for temporaries; 2, an array is null or not aligned. They may be
 * called by several threads at a time, and run on the thread that calls.
 */
#ifndef {3}
#define {3}
#include <stdint.h>
#ifdef __cplusplus
#include <complex>
#define WEFT_COMPLEX64 std::complex<float>
#define WEFT_COMPLEX128 std::complex<double>
extern "C" {{
#else
#define WEFT_COMPLEX64 float _Complex
#define WEFT_COMPLEX128 double _Complex
#endif

)",
      request.name, version(), targets, guard);
  for (const ObjectRequest::Entry& e : request.entries) text += declarations(e) + "\n";
  text += R"(#ifdef __cplusplus
}
#if __cplusplus >= 202002L
#include <new>
#include <span>
#include <stdexcept>
#ifndef WEFT_AOT_CHECK
#define WEFT_AOT_CHECK
namespace weft_aot {
inline void check(int status) {
  if (status == 1) throw std::bad_alloc();
  if (status != 0) throw std::invalid_argument("an array is null, or not aligned to its elements");
}
}
#endif
/* For C++20: arrays of just the right sizes; throws std::bad_alloc, std::invalid_argument. */
namespace weft_aot {
)";
  for (const ObjectRequest::Entry& e : request.entries) text += cpp_declarations(e);
  return text + "}\n#endif\n#endif\n#undef WEFT_COMPLEX64\n#undef WEFT_COMPLEX128\n#endif\n";
}

}  // namespace weft::detail
