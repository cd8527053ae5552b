// Writes a random program twice at once: as weft's operations on arrays, and as the text of a JAX program that computes the same.
// Takes a seed; a family of programs draws its sizes and operations from it (families.h). The same seed always gives the same program, so
// that the function can be traced any number of times.
#pragma once
#include <fmt/format.h>
#include <weft/weft.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

namespace bench::random_programs {

/// An array while the program is traced, and its name in the text.
struct Value {
  weft::Array array;
  std::string name;
  const weft::Shape& shape() const { return array.shape(); }
  weft::DType dtype() const { return array.dtype(); }
  int rank() const { return static_cast<int>(array.shape().size()); }
  std::int64_t size(int axis) const { return array.shape()[axis]; }
};
using Values = std::vector<Value>;

/// How an input is filled: uniform in [shift - scale / 2, shift + scale / 2), rounded down for integers.
struct Input {
  weft::Shape shape;
  weft::DType dtype = weft::float32;
  double scale = 1, shift = 0;
  unsigned seed = 0;
};

// What a value is written as in Python.
inline std::string text_of(const Value& v) { return v.name; }
inline std::string text_of(const std::string& s) { return s; }
inline std::string text_of(const char* s) { return s; }
inline std::string text_of(weft::DType d) { return "jnp." + std::string(d.name()); }
template <std::integral T>
std::string text_of(T i) {
  return std::to_string(i);
}
inline std::string text_of(double x) {
  const std::string text = fmt::format("{}", x);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}
std::string text_of(const weft::Shape& s);
std::string text_of(const std::vector<int>& s);
std::string text_of(const Values& vs);

class Writer {
 public:
  /// `arguments`: the arrays that inputs stand for, in order; empty: inputs are zeros, and are only noted down.
  Writer(std::uint64_t seed, std::vector<weft::Array> arguments) : state_(seed * 2 + 1), arguments_(std::move(arguments)) {}

  // Draws. All are functions of the seed and of what was drawn before.
  std::uint64_t draw();
  int between(int low, int high) { return low + static_cast<int>(draw() % static_cast<std::uint64_t>(high - low + 1)); }
  bool chance(double p) { return static_cast<double>(draw() >> 11) < p * 9007199254740992.0; }
  /// A number with two decimals, so that both languages read the same.
  double number(double low, double high) {
    return static_cast<double>(between(static_cast<int>(low * 100), static_cast<int>(high * 100))) / 100;
  }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[draw() % from.size()];
  }
  /// A size near 2^log2, odd or not.
  int size_near(double log2);

  Value input(weft::Shape shape, weft::DType dtype, double scale = 2, double shift = 0);
  /// The result of an operation, whose text is the pattern with the operands' in place of `{}`.
  template <class... T>
  Value put(weft::Array result, const char* pattern, const T&... operands) {
    return name_it(std::move(result), fmt::format(fmt::runtime(pattern), text_of(operands)...));
  }
  /// Writes a nested function: its body is called on values of the given names and returns values. Called again for a second trace of
  /// the same function, it repeats its draws and writes nothing.
  class Function {
   public:
    Function(Writer& w, std::string name, std::vector<std::string> parameters)
        : w_(w), name_(std::move(name)), parameters_(std::move(parameters)), at_(w.state_) {}
    /// `returned`: the pattern of what the text returns, with a `{}` for each result.
    template <class Body>
    std::vector<weft::Array> operator()(const std::vector<weft::Array>& arrays, const char* returned, Body body) {
      Values values;
      for (std::size_t i = 0; i < arrays.size(); ++i) values.push_back({arrays[i], parameters_[i]});
      w_.begin(name_, parameters_, at_, calls_++ > 0);
      const Values results = body(values);
      return w_.end(results, returned, calls_ > 1);
    }
    const std::string& name() const { return name_; }

   private:
    Writer& w_;
    std::string name_;
    std::vector<std::string> parameters_;
    std::uint64_t at_;
    int calls_ = 0;
  };
  Function function(std::vector<std::string> parameters) {
    return Function(*this, "f" + std::to_string(functions_++), std::move(parameters));
  }
  /// A line of the text by itself.
  void line(const std::string& text);

  const std::vector<Input>& inputs() const { return inputs_; }
  const std::string& text() const { return text_; }
  std::string family;  ///< set by the family

 private:
  Value name_it(weft::Array result, const std::string& expression);
  void begin(const std::string& name, const std::vector<std::string>& parameters, std::uint64_t state, bool again);
  std::vector<weft::Array> end(const Values& results, const char* returned, bool again);

  std::uint64_t state_;
  std::vector<weft::Array> arguments_;
  std::vector<Input> inputs_;
  std::string text_, indentation_ = "    ";
  int names_ = 0, functions_ = 0, silent_ = 0;
};

/// The results of the program with this seed, of the arrays that its inputs stand for.
Values write_program(Writer& w);

// Families: each writes one program.
Values elementwise_chain(Writer& w);
Values integer_chain(Writer& w);
Values movements(Writer& w);
Values reductions(Writer& w);
Values running_reductions(Writer& w);
Values matmuls(Writer& w);
Values contractions(Writer& w);
Values convolutions(Writer& w);
Values indexing(Writer& w);
Values segments(Writer& w);
Values sorting(Writer& w);
Values images(Writer& w);
Values attention(Writer& w);
Values dense_network(Writer& w);
Values convolutional_network(Writer& w);
Values recurrent_network(Writer& w);
Values recurrences(Writer& w);
Values grids(Writer& w);
Values large_matrices(Writer& w);
Values small_matrices(Writer& w);
Values spectra(Writer& w);
Values complex_numbers(Writer& w);

}  // namespace bench::random_programs
