// Branches, loops and composites.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/ops/control/control.h"
#include "weft/frontends/stablehlo/export/spelling.h"

namespace weft::detail::mlir {
namespace {

Names part(const Names& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}
void append(Names& to, const Names& from) { to.insert(to.end(), from.begin(), from.end()); }

/// An index out of range names the nearest branch, where StableHLO's names the last one. What branches use is around them.
const Spelling cond_spelling("cond", [](ExportCall& c) -> Names {
  const auto& p = c.get<Cond::Params>();
  const Names operands = part(c.in, 1, c.in.size());
  if (p.branches.size() == 1) return c.block.write(p.branches[0], operands);
  const Name last = c.block.number(int32, Number(static_cast<long long>(p.branches.size()) - 1)), zero = c.block.number(int32, Number(0));
  const Aval index{{}, int32};
  const Name clamped =
      c.block.line(fmt::format("stablehlo.clamp {}, {}, {} : tensor<i32>", zero.text, c.in[0].text, last.text), std::span(&index, 1))[0];
  std::string regions;
  for (const Jaxpr& branch : p.branches)
    regions +=
        (regions.empty() ? "" : ", ") + c.block.region({}, [&](BlockWriter& b, const Names&) { return b.write(branch, operands); }, false);
  return c.block.op("stablehlo.case", {clamped}, "", c.out, regions);
});

/// What a loop carries has names of its own in each of its two regions; what it does not change is around it.
const Spelling while_spelling("while", [](ExportCall& c) -> Names {
  const auto& p = c.get<While::Params>();
  const auto of_cond = static_cast<std::size_t>(p.cond_nconsts), of_body = of_cond + static_cast<std::size_t>(p.body_nconsts);
  const Names carry = part(c.in, of_body, c.in.size());
  auto region = [&](const Jaxpr& j, const Names& consts) {
    return c.block.region(
        c.out,
        [&](BlockWriter& b, const Names& carried) {
          Names all = consts;
          append(all, carried);
          return b.write(j, all);
        },
        false);
  };
  const std::string cond = region(p.cond_jaxpr, part(c.in, 0, of_cond)), body = region(p.body_jaxpr, part(c.in, of_cond, of_body));
  return c.block.op("stablehlo.while", carry, "", c.out, cond + ", " + body);
});

/// A loop that counts, takes a slice of each array and puts its results where they belong.
const Spelling scan_spelling("scan", [](ExportCall& c) -> Names {
  const auto& p = c.get<Scan::Params>();
  const auto num_consts = static_cast<std::size_t>(p.num_consts), num_carry = static_cast<std::size_t>(p.num_carry);
  const Names consts = part(c.in, 0, num_consts), xs = part(c.in, num_consts + num_carry, c.in.size());
  if (p.length == 0) {
    // Rows of arrays without rows can't be written down.
    Names out = part(c.in, num_consts, num_consts + num_carry);
    for (std::size_t k = num_carry; k < c.out.size(); ++k)
      out.push_back(c.block.broadcast(c.block.number(c.out[k].dtype, Number(0)), c.out[k].shape));
    return out;
  }
  const DType counter = p.length > INT32_MAX ? int64 : int32;
  Names start{c.block.number(counter, Number(0))};
  append(start, part(c.in, num_consts, num_consts + num_carry));
  for (std::size_t k = num_carry; k < c.out.size(); ++k)
    start.push_back(c.block.broadcast(c.block.number(c.out[k].dtype, Number(0)), c.out[k].shape));
  const std::vector<Aval> types = avals_of(start);
  const Aval index{{}, counter}, predicate{{}, bool_};
  const Name length = c.block.number(counter, Number(static_cast<long long>(p.length))), one = c.block.number(counter, Number(1)),
             first = c.block.number(counter, Number(0));
  const std::string cond = c.block.region(
      types,
      [&](BlockWriter& b, const Names& in) -> Names {
        ExportCall inner(c.eqn, in, {predicate}, b);
        return {compared(inner, "LT", in[0], length, false)};
      },
      false);
  const std::string body = c.block.region(
      types,
      [&](BlockWriter& b, const Names& in) -> Names {
        Name at = in[0];
        if (p.reverse) {
          const Name last = b.number(counter, Number(static_cast<long long>(p.length) - 1));
          at = b.line(fmt::format("stablehlo.subtract {}, {} : {}", last.text, in[0].text, type_text(index)), std::span(&index, 1))[0];
        }
        auto position = [&](int ndim) {
          std::string text = at.text;
          for (int d = 1; d < ndim; ++d) text += ", " + first.text;
          return text;
        };
        auto types_with = [&](const Names& arrays, int ndim, const Aval& out) {
          std::vector<Aval> all = avals_of(arrays);
          all.insert(all.end(), static_cast<std::size_t>(ndim), index);
          return function_type(all, std::span(&out, 1));
        };
        Names operands = consts;
        append(operands, part(in, 1, 1 + num_carry));
        for (const Name& x : xs) {
          const int ndim = x.aval.ndim();
          const Shape sizes = x.aval.shape.with(0, 1);
          const Aval out{sizes, x.aval.dtype};
          const Name row = b.line(fmt::format("stablehlo.dynamic_slice {}, {}, sizes = [{}] : {}", x.text, position(ndim),
                                              list_text(std::span(sizes.begin(), sizes.end())), types_with({x}, ndim, out)),
                                  std::span(&out, 1))[0];
          operands.push_back(b.reshape(row, x.aval.shape.erased(0)));
        }
        const Names results = b.write(p.jaxpr, operands);
        Names next{b.line(fmt::format("stablehlo.add {}, {} : {}", in[0].text, one.text, type_text(index)), std::span(&index, 1))[0]};
        append(next, part(results, 0, num_carry));
        for (std::size_t k = num_carry; k < results.size(); ++k) {
          const Name& all = in[1 + k];
          const Name row = b.reshape(results[k], all.aval.shape.with(0, 1));
          next.push_back(b.line(fmt::format("stablehlo.dynamic_update_slice {}, {}, {} : {}", all.text, row.text, position(all.aval.ndim()),
                                            types_with({all, row}, all.aval.ndim(), all.aval)),
                                std::span(&all.aval, 1))[0]);
        }
        return next;
      },
      false);
  const Names out = c.block.op("stablehlo.while", start, "", types, cond + ", " + body);
  return part(out, 1, out.size());
});

std::string value_text(const weft::Attribute& a) {
  using Kind = weft::Attribute::Kind;
  switch (a.kind()) {
    case Kind::boolean: return a.boolean() ? "true" : "false";
    case Kind::integer: return fmt::format("{} : i64", a.integer());
    case Kind::text: return quoted(a.text());
    case Kind::number: break;
  }
  const double v = a.number();
  std::string dense = dense_text(&v, {{}, float64});
  return dense.substr(6, dense.size() - 7) + " : f64";
}

/// StableHLO's names have their owner's before a dot; what has no such name is a call.
const Spelling composite_spelling("composite", [](ExportCall& c) -> Names {
  const auto& p = c.get<CompositeParams>();
  const std::string body = symbol(c.block.module().function(p.name, p.jaxpr, c.block.manual()));
  if (p.name.find('.') == std::string::npos) {
    std::string operands;
    for (const Name& x : c.in) operands += (operands.empty() ? "" : ", ") + x.text;
    return c.block.line(fmt::format("func.call {}({}) : {}", body, operands, function_type(c.in, c.out)), c.out);
  }
  std::string attributes;
  for (const auto& [key, value] : p.attributes)
    attributes += fmt::format("{}{} = {}", attributes.empty() ? "" : ", ", symbol(key).substr(1), value_text(value));
  return c.block.op("stablehlo.composite", c.in,
                    fmt::format("composite_attributes = {{{}}}, decomposition = {}, name = {}, version = {} : i32", attributes, body,
                                quoted(p.name), p.version),
                    c.out);
});

}  // namespace
}  // namespace weft::detail::mlir
