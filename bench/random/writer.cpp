#include "writer.h"

#include <fmt/args.h>
#include <fmt/ranges.h>

#include <cmath>

using namespace weft;

namespace bench::random_programs {

std::string text_of(const Shape& s) {
  std::string text;
  for (const std::int64_t n : s) text += fmt::format("{}, ", n);
  return "(" + text + ")";
}
std::string text_of(const std::vector<int>& s) { return fmt::format("({},)", fmt::join(s, ", ")); }
std::string text_of(const Values& vs) {
  std::string text;
  for (const Value& v : vs) text += v.name + ", ";
  return "[" + text + "]";
}

std::uint64_t Writer::draw() {  // splitmix64 (Steele, Lea and Flood 2014)
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int Writer::size_near(double log2) {
  const int exact = static_cast<int>(std::lround(std::exp2(log2)));
  if (chance(.4)) return 1 << static_cast<int>(std::lround(log2));
  return std::max(1, exact + between(-exact / 4, exact / 4));
}

Value Writer::input(Shape shape, DType dtype, double scale, double shift) {
  const std::size_t k = inputs_.size();
  inputs_.push_back({shape, dtype, scale, shift, static_cast<unsigned>(k)});
  return {arguments_.empty() ? zeros(shape, dtype) : arguments_.at(k), "a" + std::to_string(k)};
}

void Writer::line(const std::string& text) {
  if (!silent_) text_ += indentation_ + text + "\n";
}

Value Writer::name_it(Array result, const std::string& expression) {
  const std::string name = "v" + std::to_string(names_++);
  line(name + " = " + expression);
  return {std::move(result), name};
}

void Writer::begin(const std::string& name, const std::vector<std::string>& parameters, std::uint64_t state, bool again) {
  state_ = state;
  silent_ += again;
  line(fmt::format("def {}({}):", name, fmt::join(parameters, ", ")));
  indentation_ += "    ";
}

std::vector<Array> Writer::end(const Values& results, const char* returned, bool again) {
  fmt::dynamic_format_arg_store<fmt::format_context> names;
  std::vector<Array> arrays;
  for (const Value& v : results) {
    names.push_back(v.name);
    arrays.push_back(v.array);
  }
  line("return " + fmt::vformat(returned, names));
  indentation_.resize(indentation_.size() - 4);
  silent_ -= again;
  return arrays;
}

Values write_program(Writer& w) {
  struct Family {
    const char* name;
    Values (*write)(Writer&);
  };
  static constexpr Family kFamilies[] = {
      {"elementwise", elementwise_chain},
      {"integers", integer_chain},
      {"movements", movements},
      {"reductions", reductions},
      {"running", running_reductions},
      {"matmuls", matmuls},
      {"contractions", contractions},
      {"convolutions", convolutions},
      {"indexing", indexing},
      {"segments", segments},
      {"sorting", sorting},
      {"images", images},
      {"attention", attention},
      {"dense_network", dense_network},
      {"convolutional_network", convolutional_network},
      {"recurrent_network", recurrent_network},
      {"recurrences", recurrences},
      {"grids", grids},
      {"large_matrices", large_matrices},
      {"small_matrices", small_matrices},
      {"spectra", spectra},
      {"complex", complex_numbers},
  };
  w.draw();
  const Family& family = kFamilies[w.draw() % std::size(kFamilies)];
  w.family = family.name;
  return family.write(w);
}

}  // namespace bench::random_programs
