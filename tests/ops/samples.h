// Sample programs of one equation for every primitive: what the generated tests run. A new primitive needs a line in samples.cpp, or a
// reason there why it has none.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ops/elementwise/elementwise.h"

namespace weft::test {

/// More sets of dtypes, beside kFloating, ...: float32 and float64; uint32 alone.
inline constexpr unsigned kWideFloat = 1u << 16, kUint32 = 1u << 17, kWideInexact = kWideFloat | detail::kComplex;
bool is_among(DType dtype, unsigned dtypes);

/// A sample as it is written: the text of a program with `$d` for the dtype, `$n` for NumPy's name of it, `$r` for its real part, `$c` for
/// the complex dtype of its parts.
struct SampleText {
  std::string_view op;              ///< the primitive that it is a sample of
  unsigned dtypes;                  ///< those that it is defined for: kFloating | ...
  std::string text;                 ///< `{ lambda ; ` and ` }` left out; empty: what `trace` gives
  int ints_from = 0;                ///< operands of int32 and not of the sample's dtype are drawn from here ...
  int ints_to = 2;                  ///< ... to here
  bool smooth = true;               ///< its derivatives can be compared with differences
  double rounding = 1;              ///< how many times more than others it may differ from its value in a wider dtype; 0: it is another one
  Jaxpr (*trace)(DType) = nullptr;  ///< of what no text holds: a program that refers to C++ functions
};
/// All of them: the lists of the files samples*.cpp.
const std::vector<SampleText>& sample_texts();
std::vector<SampleText> basic_samples();
std::vector<SampleText> linalg_samples();
std::vector<SampleText> window_samples();
std::vector<SampleText> random_samples();
std::vector<SampleText> traced_samples();

struct UnsampledPrimitive {
  std::string_view op, reason;
};
const std::vector<UnsampledPrimitive>& unsampled_primitives();

/// One sample in one dtype.
struct Sample {
  std::string title;
  const detail::Primitive* op;
  DType dtype;
  Jaxpr program;
  bool smooth = true;
  double rounding = 1;
  detail::Domain domain = {-1, 1};
  int ints_from = 0, ints_to = 2;
  const SampleText* text = nullptr;  ///< null: an elementwise primitive's
  int form = 0;                      ///< of an elementwise one: 1 with operands to be broadcast

  /// Arguments; another seed, other values.
  std::vector<Array> arguments(int seed = 0) const;
};
/// Values without a pattern, no two alike where the dtype allows it, in the domain; integers in [from, to].
Array sample_array(const detail::Aval& aval, detail::Domain domain, int from, int to, int seed);
/// All samples that are defined for the dtype: those of the table, and every elementwise primitive's.
std::vector<Sample> samples_in(DType dtype);
/// The sample of the table in a dtype; throws where it is not defined for it.
Sample make_sample(const SampleText& text, DType dtype);
/// The same sample in another dtype.
Sample in_dtype(const Sample& s, DType dtype);

}  // namespace weft::test
