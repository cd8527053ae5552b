// Samples of convolutions, windows, reductions by a program, and Fourier transforms.
#include "samples.h"

namespace weft::test {

using namespace detail;

namespace {

struct ConvText {
  std::string lhs, rhs, out;  ///< sizes, as in `2,3,5`
  std::string specs = "lhs_spec=(0, 1, 2), rhs_spec=(0, 1, 2), out_spec=(0, 1, 2)";
  std::string strides = "(1,)", padding = "((0, 0),)", lhs_dilation = "(1,)", rhs_dilation = "(1,)";
  int features = 1, batches = 1;
  std::string preferred = "None";
};
SampleText conv(const ConvText& c) {
  return {"conv_general_dilated",
          kNumber,
          "a:$d[" + c.lhs + "] b:$d[" + c.rhs + "]. let c:$d[" + c.out +
              "] = conv_general_dilated[batch_group_count=" + std::to_string(c.batches) + " dimension_numbers=ConvDimensionNumbers(" +
              c.specs + ") feature_group_count=" + std::to_string(c.features) + " lhs_dilation=" + c.lhs_dilation +
              " padding=" + c.padding + " precision=None preferred_element_type=" + c.preferred + " rhs_dilation=" + c.rhs_dilation +
              " window_strides=" + c.strides + "] a b in (c,)",
          0,
          2,
          true,
          4};
}

/// Of one operand a:$d[2,5,4], by the name of the operation.
SampleText window(std::string_view op, unsigned dtypes, const std::string& out, const std::string& params, const std::string& scalar = "") {
  return {op, dtypes,
          std::string("a:$d[2,5,4]") + (scalar.empty() ? "" : " z:$d[]") + ". let b:$d[" + out + "] = " + std::string(op) + "[" + params +
              "] a" + (scalar.empty() ? "" : " z") + " in (b,)"};
}
const std::string kPlain =
    "base_dilation=(1, 1, 1) padding=((0, 0), (0, 0), (0, 0)) window_dilation=(1, 1, 1) window_dimensions=(1, 2, 2) "
    "window_strides=(1, 1, 2)";
const std::string kPlainOut = "2,4,2";
const std::string kDilated =
    "base_dilation=(1, 2, 1) padding=((0, 0), (1, 0), (2, 1)) window_dilation=(1, 1, 2) window_dimensions=(1, 3, 2) "
    "window_strides=(1, 2, 1)";
const std::string kDilatedOut = "2,4,5";
const std::string kPadded =
    "base_dilation=(1, 1, 1) padding=((0, 0), (1, 0), (1, 1)) window_dilation=(1, 1, 1) window_dimensions=(1, 3, 2) "
    "window_strides=(1, 1, 2)";
const std::string kPaddedOut = "2,4,3";

SampleText unsmooth(SampleText t) {
  t.smooth = false;
  return t;
}
const std::string kProduct = "jaxpr={ lambda ; a:$d[] b:$d[]. let c:$d[] = mul a b in (c,) }";

}  // namespace

std::vector<SampleText> window_samples() {
  std::vector<SampleText> all = {
      conv({.lhs = "2,3,6", .rhs = "4,3,3", .out = "2,4,4"}),
      conv({.lhs = "2,3,6", .rhs = "4,3,2", .out = "2,4,3", .strides = "(3,)", .padding = "((1, 2),)", .rhs_dilation = "(2,)"}),
      conv({.lhs = "1,2,4", .rhs = "2,2,3", .out = "1,2,7", .padding = "((1, 1),)", .lhs_dilation = "(2,)"}),
      conv({.lhs = "2,4,5", .rhs = "6,2,3", .out = "2,6,3", .features = 2, .preferred = "$n"}),
      conv({.lhs = "4,2,5", .rhs = "6,2,3", .out = "2,6,3", .batches = 2}),
      conv({.lhs = "2,3",
            .rhs = "4,3",
            .out = "2,4",
            .specs = "lhs_spec=(0, 1), rhs_spec=(0, 1), out_spec=(0, 1)",
            .strides = "()",
            .padding = "()",
            .lhs_dilation = "()",
            .rhs_dilation = "()"}),
      conv({.lhs = "2,5,3", .rhs = "3,3,4", .out = "2,3,4", .specs = "lhs_spec=(0, 2, 1), rhs_spec=(2, 1, 0), out_spec=(0, 2, 1)"}),
      conv({.lhs = "1,4,5,2",
            .rhs = "2,2,2,3",
            .out = "1,4,3,3",
            .specs = "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)",
            .strides = "(1, 2)",
            .padding = "((1, 0), (0, 1))",
            .lhs_dilation = "(1, 1)",
            .rhs_dilation = "(1, 1)"}),
      window("reduce_window_sum", kNumber, kPlainOut, kPlain),
      window("reduce_window_sum", kNumber, kDilatedOut, kDilated),
      window("reduce_window_max", kReal, kPlainOut, kPlain),
      window("reduce_window_max", kReal, kPaddedOut, kPadded),
      window("reduce_window_min", kReal, kPlainOut, kPlain),
      window("reduce_window_min", kReal, "2,4,5",
             "base_dilation=(1, 2, 1) padding=((0, 0), (1, 0), (1, 1)) window_dilation=(1, 1, 1) window_dimensions=(1, 3, 2) "
             "window_strides=(1, 2, 1)"),
      // The extrema over dilated windows have no reverse derivative, as in JAX.
      unsmooth(window("reduce_window_min", kReal, kDilatedOut, kDilated)),
      window("reduce_window", kNumber, kPlainOut, kProduct + " " + kPlain, "z"),
      window("reduce_window", kNumber, kDilatedOut, kProduct + " " + kDilated, "z"),
      {"reduce", kNumber, "a:$d[3,4] z:$d[]. let b:$d[3] = reduce[dimensions=(1,) " + kProduct + "] a z in (b,)"},
      {"reduce", kReal,
       "a:$d[2,3,2] b:$d[2,3,2] y:$d[] z:$d[]. let c:$d[3] d:$d[3] = reduce[dimensions=(0, 2) jaxpr={ lambda ; a:$d[] b:$d[] c:$d[] "
       "d:$d[]. "
       "let e:bool[] = ge a c; f:$d[] = select_n e c a; g:$d[] = select_n e d b in (f, g) }] a b y z in (c, d)"},
      {"select_and_gather_add", kInteger | kFloating,
       "a:$d[2,5,4] b:$d[2,5,4]. let c:$d[2,4,2] = select_and_gather_add[select_prim=ge " + kPlain + "] a b in (c,)"},
      {"select_and_gather_add", kInteger | kFloating,
       "a:$d[2,5,4] b:$d[2,5,4]. let c:$d[" + kDilatedOut + "] = select_and_gather_add[select_prim=le " + kDilated + "] a b in (c,)", 0, 2,
       false},
      {"select_and_scatter_add", kInteger | kFloating,
       "a:$d[2,4,2] b:$d[2,5,4]. let c:$d[2,5,4] = select_and_scatter_add[padding=((0, 0), (0, 0), (0, 0)) select_prim=ge "
       "window_dimensions=(1, 2, 2) window_strides=(1, 1, 2)] a b in (c,)"},
      {"select_and_scatter_add", kInteger | kFloating,
       "a:$d[2,4,3] b:$d[2,5,4]. let c:$d[2,5,4] = select_and_scatter_add[padding=((0, 0), (1, 0), (1, 1)) select_prim=le "
       "window_dimensions=(1, 3, 2) window_strides=(1, 1, 2)] a b in (c,)"},
      {"fft", kComplex, "a:$d[2,6]. let b:$d[2,6] = fft[fft_lengths=(6,) fft_type=0] a in (b,)", 0, 2, true, 4},
      {"fft", kComplex, "a:$d[3,5]. let b:$d[3,5] = fft[fft_lengths=(3, 5) fft_type=1] a in (b,)", 0, 2, true, 4},
      {"fft", kWideFloat, "a:$d[2,7]. let b:$c[2,4] = fft[fft_lengths=(7,) fft_type=2] a in (b,)", 0, 2, true, 4},
      {"fft", kComplex, "a:$d[2,4]. let b:$r[2,6] = fft[fft_lengths=(6,) fft_type=3] a in (b,)", 0, 2, true, 4},
      {"fft", kComplex, "a:$d[3,3]. let b:$r[3,5] = fft[fft_lengths=(3, 5) fft_type=3] a in (b,)", 0, 2, true, 4},
      {"fft_along", kComplex, "a:$d[5,2]. let b:$d[5,2] = fft_along[axes=(0,) fft_lengths=(5,) fft_type=0] a in (b,)", 0, 2, true, 4},
      {"fft_along", kComplex, "a:$d[3,2,4]. let b:$d[3,2,4] = fft_along[axes=(0, 2) fft_lengths=(3, 4) fft_type=1] a in (b,)", 0, 2, true,
       4},
      {"sort", kAny,
       "a:$d[4,3] b:$d[4,3] c:$d[4,3]. let d:$d[4,3] e:$d[4,3] f:$d[4,3] = sort[dimension=0 is_stable=True num_keys=2] a b c in (d, e, f)"},
      {"top_k", kReal, "a:$d[4,3]. let b:$d[2,3] c:i32[2,3] = top_k[axis=0 k=2] a in (b, c)"},
  };
  return all;
}

}  // namespace weft::test
