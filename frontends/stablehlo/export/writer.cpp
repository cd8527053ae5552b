// Modules, functions, blocks and equations (see writer.h).
#include "weft/frontends/stablehlo/export/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_ranges.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/named.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/trace/trace.h"

namespace weft::detail::mlir {
namespace {

const Primitive& primitive_named(std::string_view name) {
  const Primitive* const op = find_primitive(name);
  if (!op) throw Error(fmt::format("a spelling in StableHLO is declared for {}, which is not a primitive", name));
  return *op;
}

Aval words_of_keys(const Aval& aval) { return aval.dtype.is_key() ? Aval{aval.shape.inserted(aval.ndim(), 2), uint32} : aval; }

/// The call of jit that a traced jitted function is, if there is nothing else: its program is the module's.
const JitParams* only_call(const Jaxpr& j) {
  const JaxprData& d = j.data();
  const JitParams* const call = d.eqns.size() == 1 && d.num_consts == 0 ? jit_params(d.eqns[0]) : nullptr;
  if (!call) return nullptr;
  const Eqn& e = d.eqns[0];
  if (e.inputs.size() != static_cast<std::size_t>(d.num_inputs) || e.outputs.size() != d.outputs.size()) return nullptr;
  for (std::size_t i = 0; i < e.inputs.size(); ++i)
    if (e.inputs[i] != Atom::var(static_cast<Var>(i))) return nullptr;
  for (std::size_t i = 0; i < d.outputs.size(); ++i)
    if (d.outputs[i] != Atom::var(e.outputs[i])) return nullptr;
  return call;
}

/// The attribute of a donated argument: the result that may take its memory, the first of its type that is not taken.
class Donations {
 public:
  explicit Donations(std::vector<Aval> results) : results_(std::move(results)), taken_(results_.size(), false) {}
  std::string of(const Aval& argument) {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (taken_[i] || results_[i].shape != argument.shape || results_[i].dtype != argument.dtype) continue;
      taken_[i] = true;
      return fmt::format("tf.aliasing_output = {} : i32", i);
    }
    return "jax.buffer_donor = true";
  }

 private:
  const std::vector<Aval> results_;
  std::vector<bool> taken_;
};

std::string mesh_text(const MeshAxes& axes) {
  std::string s = "<[";
  for (std::size_t i = 0; i < axes.names.size(); ++i) s += fmt::format("{}{}={}", i ? ", " : "", quoted(axes.names[i]), axes.sizes[i]);
  s += "]";
  return s + (axes.device_ids.empty() ? "" : ", device_ids=[" + list_text(axes.device_ids) + "]") + ">";
}

}  // namespace

Spelling::Spelling(std::string_view primitive, StablehloTransform::Function* rule) {
  rule_table<StablehloTransform>().add(primitive_named(primitive), reinterpret_cast<RuleTable::Function*>(rule));
}

// ModuleWriter

std::string ModuleWriter::unused(const std::string& name) {
  std::string out = name;
  for (int i = 0; !symbols_.insert(out).second; ++i) out = fmt::format("{}_{}", name, i);
  return out;
}

std::string ModuleWriter::write(const Jaxpr& program) {
  const JitParams* const call = only_call(program);
  const Jaxpr& j = call ? call->jaxpr : program;
  const std::string name = !options_.name.empty() ? options_.name : call ? call->name : "main";
  symbols_.insert("main");
  const std::string main = function_text("main", j, nullptr, true, call ? call->donated_invars : std::vector<bool>());
  std::string s = fmt::format("module {} attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} {{\n",
                              symbol("jit_" + name), num_partitions_);
  for (const auto& [mesh, axes] : meshes_) s += fmt::format("  sdy.mesh @{} = {}\n", mesh, mesh_text(axes));
  s += main;
  for (const std::string& f : functions_) s += f;
  return s + "}\n";
}

std::string ModuleWriter::function(const std::string& name, const Jaxpr& j, const ManualMesh* within) {
  for (const Written& w : written_)
    if (w.name == name && w.within.has_value() == (within != nullptr) && (!within || *w.within == within->axes) && w.program == j)
      return w.symbol;
  const std::string own = unused(name);
  // Before it is written: what it calls is not itself, as programs have no recursion.
  functions_.push_back(function_text(own, j, within, false, {}));
  written_.push_back({name, own, j, within ? std::optional(within->axes) : std::nullopt});
  return own;
}

ManualMesh ModuleWriter::mesh(MeshAxes axes) {
  // It may list spare devices.
  if (std::ssize(axes.device_ids) > axes.num_devices()) axes.device_ids.resize(static_cast<std::size_t>(axes.num_devices()));
  if (axes.device_ids.empty())
    for (int d = 0; d < axes.num_devices(); ++d) axes.device_ids.push_back(d);
  bool in_order = true;
  for (std::size_t i = 0; i < axes.device_ids.size(); ++i) {
    int& device = axes.device_ids[i];
    device = partition_of_.try_emplace(device, static_cast<int>(partition_of_.size())).first->second;
    in_order = in_order && device == static_cast<int>(i);
  }
  if (in_order) axes.device_ids.clear();
  num_partitions_ = std::max(num_partitions_, std::ssize(partition_of_));
  for (const auto& [name, known] : meshes_)
    if (known == axes) return {name, axes};
  meshes_.emplace_back(unused("mesh"), axes);
  return {meshes_.back().first, axes};
}

std::string ModuleWriter::function_text(const std::string& own, const Jaxpr& j, const ManualMesh* within, bool is_main,
                                        const std::vector<bool>& donated) {
  check_nesting("functions inside functions");
  const JaxprData& d = j.data();
  std::vector<Aval> results = d.output_avals(), taken(d.input_avals().begin(), d.input_avals().end());
  // Who calls it has keys as their two words.
  if (is_main)
    for (std::vector<Aval>* list : {&results, &taken})
      for (Aval& a : *list) a = words_of_keys(a);
  int next_name = 0;
  BlockWriter block(*this, next_name, 2, within);
  std::string arguments;
  Names inputs;
  Donations donations(results);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    inputs.push_back({fmt::format("%arg{}", i), taken[i]});
    arguments += fmt::format("{}{}: {}", i ? ", " : "", inputs[i].text, type_text(taken[i]));
    if (i < donated.size() && donated[i]) arguments += " {" + donations.of(taken[i]) + "}";
    if (is_main && i < options_.argument_names.size() && !options_.argument_names[i].empty())
      arguments += " loc(" + quoted(options_.argument_names[i]) + ")";
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const Aval& want = d.input_avals()[i]; is_main && want.dtype.is_key())
      inputs[i] = block.op("stablehlo.bitcast_convert", {inputs[i]}, "", std::span(&want, 1))[0];
  Names out = block.write(j, inputs);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_main && out[i].aval.dtype.is_key()) out[i] = block.op("stablehlo.bitcast_convert", {out[i]}, "", std::span(&results[i], 1))[0];
  block.end("func.return", out);
  std::string types;
  for (std::size_t i = 0; i < results.size(); ++i) {
    types += (i ? ", " : "") + type_text(results[i]);
    if (is_main && i < options_.result_names.size() && !options_.result_names[i].empty())
      types += " {jax.result_info = " + quoted(options_.result_names[i]) + "}";
  }
  return fmt::format("  func.func {} {}({}) -> ({}) {{\n{}  }}\n", is_main ? "public" : "private", symbol(own), arguments, types,
                     block.text());
}

// BlockWriter

std::string BlockWriter::location() const {
  if (!module_.options().locations || !loc_) return {};
  return fmt::format(" loc({}:{}:1)", quoted(loc_.file()), loc_.line());
}

Names BlockWriter::line(const std::string& operation, std::span<const Aval> out) {
  Names results;
  const int first = next_name_++;
  for (std::size_t i = 0; i < out.size(); ++i)
    results.push_back({out.size() == 1 ? fmt::format("%{}", first) : fmt::format("%{}#{}", first, i), out[i]});
  text_ += indentation();
  if (!out.empty()) text_ += out.size() == 1 ? fmt::format("%{} = ", first) : fmt::format("%{}:{} = ", first, out.size());
  text_ += operation + location() + "\n";
  return results;
}

Names BlockWriter::op(std::string_view name, const Names& in, const std::string& properties, std::span<const Aval> out,
                      const std::string& regions, const std::string& discardable) {
  std::string s = fmt::format("\"{}\"(", name);
  for (std::size_t i = 0; i < in.size(); ++i) s += (i ? ", " : "") + in[i].text;
  s += ")";
  if (!properties.empty()) s += " <{" + properties + "}>";
  if (!regions.empty()) s += " (" + regions + ")";
  if (!discardable.empty()) s += " {" + discardable + "}";
  return line(s + " : " + function_type(in, out), out);
}

void BlockWriter::end(const std::string& terminator, const Names& values) {
  text_ += indentation() + terminator;
  for (std::size_t i = 0; i < values.size(); ++i) text_ += (i ? ", " : " ") + values[i].text;
  for (std::size_t i = 0; i < values.size(); ++i) text_ += (i ? ", " : " : ") + type_text(values[i].aval);
  text_ += "\n";
}

const Name* BlockWriter::find_constant(const std::string& key) const {
  if (const auto found = constants_.find(key); found != constants_.end()) return &found->second;
  return around_ ? around_->find_constant(key) : nullptr;
}

Name BlockWriter::constant(const void* elements, const Aval& aval) {
  const std::string text = "stablehlo.constant " + dense_text(elements, aval) + " : " + type_text(aval);
  if (const Name* known = find_constant(text)) return {known->text, aval};
  const Name name = line(text, std::span(&aval, 1))[0];
  constants_.emplace(text, name);
  return name;
}

Name BlockWriter::constant(const Array& x) {
  const Aval aval{x.shape(), x.dtype()};
  if (const LiteralArray* literal = as_literal(x)) return constant(literal->bits.data(), aval);
  const Array value = concrete_or_empty(x);
  if (value.is_empty_handle() || as_traced(value))
    throw Error(fmt::format("to_stablehlo: the function uses an array of {} that is being traced around it; pass it as an argument",
                            to_string(aval)),
                loc_);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(aval.bytes()));
  read_elements(value, aval.dtype, bytes.data(), "to_stablehlo", loc_);
  return constant(bytes.data(), aval);
}

Name BlockWriter::number(DType dtype, const Number& value) { return constant(make_literal(value, dtype)); }

Name BlockWriter::broadcast(const Name& x, const Shape& shape) {
  if (x.aval.shape == shape) return x;
  std::vector<int> dims;
  for (int d = 0; d < x.aval.ndim(); ++d) dims.push_back(d);
  const Aval out{shape, x.aval.dtype};
  return line(
      fmt::format("stablehlo.broadcast_in_dim {}, dims = [{}] : {}", x.text, list_text(dims), function_type({x}, std::span(&out, 1))),
      std::span(&out, 1))[0];
}

Name BlockWriter::reshape(const Name& x, const Shape& shape) {
  if (x.aval.shape == shape) return x;
  const Aval out{shape, x.aval.dtype};
  return line(fmt::format("stablehlo.reshape {} : {}", x.text, function_type({x}, std::span(&out, 1))), std::span(&out, 1))[0];
}

Names BlockWriter::arguments(std::span<const Aval> avals, std::string& text) {
  Names names;
  for (const Aval& a : avals) {
    names.push_back({fmt::format("%{}", next_name_++), a});
    text += fmt::format("{}{}: {}", names.size() > 1 ? ", " : "", names.back().text, type_text(a));
  }
  return names;
}

std::string BlockWriter::region(std::span<const Aval> argument_types, FunctionRef<Names(BlockWriter&, const Names&)> body, bool isolated,
                                std::string_view terminator) {
  BlockWriter inner = within(manual_, isolated);
  inner.loc_ = loc_;
  std::string list;
  const Names args = arguments(argument_types, list);
  const Names out = body(inner, args);
  inner.end(std::string(terminator), out);
  return "{\n" + (args.empty() ? "" : indentation() + "^bb0(" + list + "):\n") + inner.text_ + indentation() + "}";
}

Names BlockWriter::write(const Jaxpr& j, const Names& inputs) {
  check_nesting("programs inside programs");
  const JaxprData& d = j.data();
  if (inputs.size() != static_cast<std::size_t>(d.num_inputs))
    throw Error(fmt::format("to_stablehlo: internal error: {} operands of a program of {} inputs", inputs.size(), d.num_inputs), loc_);
  std::vector<Name> names(d.avals.size());
  std::vector<bool> used(static_cast<std::size_t>(d.num_consts), false);
  auto mark = [&](Atom a) {
    if (!a.is_literal() && a.var() < d.first_input()) used[a.var()] = true;
  };
  for (const Eqn& e : d.eqns)
    for (const Atom a : e.inputs) mark(a);
  for (const Atom a : d.outputs) mark(a);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) names[i] = constant(d.consts[i]);
  for (std::size_t i = 0; i < inputs.size(); ++i) names[d.first_input() + i] = {inputs[i].text, d.input_avals()[i]};
  auto name_of = [&](Atom a) {
    if (!a.is_literal()) return names[a.var()];
    const Literal& l = d.literals[a.literal()];
    return constant(l.bits.data(), {l.aval.shape, l.aval.dtype});
  };
  const SourceLoc before = loc_;
  for (const Eqn& e : d.eqns) {
    if (e.loc) loc_ = e.loc;
    Names in;
    for (const Atom a : e.inputs) in.push_back(name_of(a));
    std::vector<Aval> out;
    for (const Var v : e.outputs) out.push_back({d.avals[v].shape, d.avals[v].dtype});
    const Names results = write_eqn(e, std::move(in), out);
    if (results.size() != out.size())
      throw Error(fmt::format("to_stablehlo: internal error: {} gives {} results in place of {}", e.op->name, results.size(), out.size()),
                  e.loc);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (type_text(results[i].aval) != type_text(out[i]))
        throw Error(fmt::format("to_stablehlo: internal error: {} is written as {} in place of {}", e.op->name, type_text(results[i].aval),
                                type_text(out[i])),
                    e.loc);
      names[e.outputs[i]] = {results[i].text, out[i]};
    }
    loc_ = before;
  }
  Names results;
  for (const Atom a : d.outputs) results.push_back(name_of(a));
  return results;
}

Names BlockWriter::write_eqn(const Eqn& e, Names in, std::vector<Aval> out) {
  if (StablehloTransform::Function* const rule = find_rule<StablehloTransform>(*e.op)) {
    ExportCall call(e, std::move(in), std::move(out), *this);
    return rule(call);
  }
  if (e.op->kind == Kind::random) return write(expand_random(e, avals_of(in)), in);
  if (e.op->kind != Kind::call) {
    ExportCall(e, in, out, *this).fail("has no spelling in StableHLO", "remove it from the exported function");
  }
  const Jaxpr body = executed_body(*e.op, *e.params, avals_of(in));
  std::string name(e.op->name);
  const std::vector<ParamText> params = e.op->params_list(*e.params);
  if (const ParamText* const given = find_named(params, "name"); given && !given->text.empty()) name = given->text;
  // Constants of a body that was made for the call are its own.
  const std::string callee = module_.function(name, body, manual_);
  std::string operands;
  for (const Name& n : in) operands += (operands.empty() ? "" : ", ") + n.text;
  return line(fmt::format("func.call {}({}) : {}", symbol(callee), operands, function_type(in, out)), out);
}

// ExportCall

Names ExportCall::expand(const Names& operands, FunctionRef<std::vector<Array>(std::span<const Array>)> f) {
  const LocScope scope(eqn.loc);
  const Jaxpr program = trace_jaxpr({std::string(eqn.op->name), avals_of(operands), {}}, [&](std::span<const Array> xs) { return f(xs); });
  return block.write(program, operands);
}

std::string ExportCall::combining(std::string_view name, DType dtype) {
  const Aval scalar{{}, dtype};
  const Aval both[] = {scalar, scalar};
  return block.region(both, [&](BlockWriter& b, const Names& xs) -> Names {
    return b.line(fmt::format("{} {}, {} : {}", name, xs[0].text, xs[1].text, type_text(scalar)), std::span(&scalar, 1));
  });
}

void ExportCall::fail(const std::string& problem, const std::string& remedy) const {
  std::string types;
  for (const Name& n : in) types += (types.empty() ? " of " : ", ") + to_string(n.aval);
  throw Error(fmt::format("to_stablehlo: {}{} {}; {}", eqn.op->name, types, problem, remedy), eqn.loc);
}

}  // namespace weft::detail::mlir
