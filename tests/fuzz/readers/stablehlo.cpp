// Programs in StableHLO, as text, as bytecode and as files of jax.export.
#include <fmt/format.h>
#include <weft/weft.h>

#include "tests/fuzz/readers/readers.h"
#include "weft/frontends/stablehlo/exported/file.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/program.h"
#include "weft/frontends/stablehlo/read.h"
#include "weft/frontends/stablehlo/stablehlo.h"
#include "weft/frontends/stablehlo/write.h"

namespace weft::fuzz {
namespace {

/// A function whose sizes are open, for inputs with three elements along each of them.
void read_open_sizes(std::string_view bytes) {
  namespace mlir = detail::mlir;
  try {
    const mlir::Module module = mlir::read_module(bytes, "fuzzed", {});
    const mlir::Function* const f = module.find("main");
    if (!f) return;
    std::vector<detail::Aval> inputs;
    bool is_open = false;
    for (const mlir::Type& t : f->body.types) {
      inputs.push_back({t.tensor.shape, t.tensor.dtype});
      if (t.kind != mlir::Type::Kind::open_tensor) continue;
      is_open = true;
      for (const std::int64_t n : t.sizes) inputs.back().shape.push_back(n < 0 ? 3 : std::min<std::int64_t>(n, 1000));
    }
    if (is_open) mlir::Importer(module, "fuzzed", {}).import_function("main", inputs).jaxpr.check();
  } catch (const Error&) {
  }
}

}  // namespace

void read_stablehlo_text(std::string_view bytes) {
  std::optional<StablehloProgram> program;
  read_open_sizes(bytes);
  try {
    program = parse_stablehlo_checks(bytes);
  } catch (const Error&) {
    return;
  }
  try {
    program->jaxpr.check();
    parse_stablehlo(bytes).check();
  } catch (const Error& e) {
    broken("what was read is not in order", fmt::format("{}\n{}", program->jaxpr.to_string(), e.what()));
  }
  // Each check compares two results behind the function's own.
  if (program->jaxpr.out_avals().size() != static_cast<std::size_t>(program->num_results) + 2 * program->checks.size())
    broken("the results are not those of the function and its checks", program->jaxpr.to_string());
  // What is written of it is read.
  std::string written;
  try {
    written = to_stablehlo(program->jaxpr, {.locations = true});
  } catch (const Error&) {
    return;
  }
  try {
    const Jaxpr again = parse_stablehlo(written);
    again.check();
    if (again.out_avals().size() != program->jaxpr.out_avals().size()) broken("what was written has other results", written);
  } catch (const Error& e) {
    broken("what was written is not read", fmt::format("{}\n{}", written, e.what()));
  }
}

void read_stablehlo_binary(std::string_view bytes) {
  if (!is_binary_stablehlo(bytes)) return;
  read_stablehlo_text(bytes);  // it tells the forms apart
  try {
    if (detail::is_exported(bytes)) detail::read_exported(bytes, "fuzzed", {});
    const detail::ImportedProgram p = detail::import_program(bytes, "fuzzed", {});
    if (p.arguments.size() != p.jaxpr.in_avals().size() || p.results.size() != p.jaxpr.out_avals().size())
      broken("what stands beside a program is not of its arguments and results", p.jaxpr.to_string());
  } catch (const Error&) {
  }
}

std::vector<std::string> stablehlo_binary_seeds() {
  std::vector<std::string> seeds = files_of_tree("tests/stablehlo/data", ".mlirbc", 20000);
  const std::vector<std::string> exported = files_of_tree("tests/stablehlo/data", ".exported", 20000);
  seeds.insert(seeds.end(), exported.begin(), exported.end());
  return seeds;
}

std::vector<std::string> stablehlo_text_seeds() {
  const auto main = [](const std::string& operations) { return "func.func @main() {\n" + operations + "\nreturn\n}\n"; };
  return {
      R"(module @m attributes {a.b = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> {jax.x = "y"} loc("a")) -> (tensor<2xf32> {jax.result_info = ""}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = call @f(%arg0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  func.func private @f(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.add"(%a, %a) {x = [1, 2], y = #stablehlo<precision HIGHEST>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
#loc = loc("f":1:2))",
      R"(func.func @main(%x: tensor<?x3xf32>) -> tensor<?x?xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %m = stablehlo.maximum %n, %n : tensor<i32>
  %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %k = stablehlo.constant dense<3> : tensor<1xi32>
  %s = stablehlo.concatenate %m1, %k, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %c = stablehlo.compare EQ, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%c, %n) {error_message = "it is {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %y = func.call @f(%x, %n) : (tensor<?x3xf32>, tensor<i32>) -> tensor<?x3xf32>
  %z = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [0, 1] : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}
func.func private @f(%x: tensor<?x3xf32>, %n: tensor<i32>) -> tensor<?x3xf32> {
  %0 = stablehlo.tanh %x : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
})",
      main(R"(%a = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
    %b = stablehlo.constant dense<[(1.0, -2.0), (0x7FC00000, 1e3)]> : tensor<2xcomplex<f32>>
    %c = stablehlo.constant dense<[[true], [false]]> : tensor<2x1xi1>
    %d = stablehlo.slice %a [0:2:2] : (tensor<2xf32>) -> tensor<1xf32>
    %e = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x4xui8>
    check.expect_eq_const %d, dense<1.0> : tensor<1xf32>)"),
      main(R"(%i = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
    %0:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<3x2xf32>
    cond {
      %c = stablehlo.compare LT, %k, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %last = stablehlo.subtract %n, %one : tensor<i32>
      %at = stablehlo.subtract %last, %k : tensor<i32> loc("f.py":12:3)
      %row = stablehlo.dynamic_slice %x, %at, %i, sizes = [1, 2] : (tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
      %z = stablehlo.dynamic_update_slice %y, %row, %k, %i : (tensor<3x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
      %j = stablehlo.add %k, %one : tensor<i32> loc(#later)
      stablehlo.return %j, %z : tensor<i32>, tensor<3x2xf32>
    })"),
      main(R"(%i = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%k = %i, %y = %i) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LT, %k, %i, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %y, %k : tensor<i32>, tensor<i32>
    })"),
      main(R"(%a = stablehlo.iota dim = 0 : tensor<4xf32>
    %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %i = stablehlo.constant dense<[[1], [3]]> : tensor<2x1xi64>
    %1 = "stablehlo.gather"(%0, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>}> : (tensor<4xf32>, tensor<2x1xi64>) -> tensor<2x2xf32>
    %2 = "stablehlo.scatter"(%a, %i, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      stablehlo.return %y : tensor<f32>
    }) : (tensor<4xf32>, tensor<2x1xi64>, tensor<2x2xf32>) -> tensor<4xf32>)"),
      main(R"(%a = stablehlo.iota dim = 2 : tensor<1x1x4xf32>
    %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> tensor<1x1x0xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 1, 2>, padding = dense<[[0, 0], [0, 0], [1, 0]]> : tensor<3x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<1x1x4xf32>, tensor<f32>) -> tensor<1x1x4xf32>
    %t = stablehlo.tuple %0, %1 : tuple<tensor<1x1x0xf32>, tensor<1x1x4xf32>>
    %u = stablehlo.get_tuple_element %t[1] : (tuple<tensor<1x1x0xf32>, tensor<1x1x4xf32>>) -> tensor<1x1x4xf32>
    %v, %w = stablehlo.optimization_barrier %u, %1 : tensor<1x1x4xf32>, tensor<1x1x4xf32>)"),
  };
}

}  // namespace weft::fuzz
