#include "weft/core/ops/control/composite.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "weft/core/array/array_impl.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/varying_rule.h"

namespace weft {

std::string print_param(const Attributes& v) {
  std::string s;
  for (const auto& [name, value] : v) {
    s += (s.empty() ? "" : ", ") + detail::quoted(name) + ": ";
    switch (value.kind()) {
      case Attribute::Kind::boolean: s += detail::print_param(value.boolean()); break;
      case Attribute::Kind::integer: s += detail::print_param(value.integer()); break;
      case Attribute::Kind::number: s += detail::print_double(value.number()); break;
      case Attribute::Kind::text: s += detail::quoted(value.text()); break;
    }
  }
  return "{" + s + "}";
}
void read_param(detail::ParamReader& r, Attributes& v) {
  v.clear();
  r.expect("{");
  while (!r.accept("}")) {
    std::string name = r.read_string();
    r.expect(":");
    const char c = r.peek();
    Attribute value;
    if (c == '\'' || c == '"') {
      value = r.read_string();
    } else if (c == 'T' || c == 'F') {
      value = r.read_bool();
    } else {
      const std::size_t begin = r.offset();
      const double number = r.read_double();
      const std::string_view text = r.text().substr(begin, r.offset() - begin);
      if (text.find_first_of(".eEin") == std::string_view::npos) {
        r.seek(begin);
        value = r.read_int();
      } else {
        value = number;
      }
    }
    v.emplace_back(std::move(name), std::move(value));
    if (r.peek() != '}') r.expect(",");
  }
}

namespace detail {

struct CompositeTable::Entries {
  mutable std::shared_mutex mutex;
  std::unordered_map<std::string, Function*> rules;
};
CompositeTable::CompositeTable() : entries_(new Entries) {}
void CompositeTable::add(std::string_view name, Function* rule) {
  const std::lock_guard lock(entries_->mutex);
  entries_->rules[std::string(name)] = rule;
}
CompositeTable::Function* CompositeTable::find(const std::string& name) const {
  const std::shared_lock lock(entries_->mutex);
  const auto found = entries_->rules.find(name);
  return found == entries_->rules.end() ? nullptr : found->second;
}

namespace {

struct Composite {
  static constexpr std::string_view name = "composite",
                                    doc = "A named call that a backend or a transform may implement by its name; otherwise its body runs.";
  static constexpr Kind kind = Kind::call;
  using Params = CompositeParams;
  static const Jaxpr& body(const Params& p) { return p.jaxpr; }
  static std::vector<Aval> abstract_eval(const OpContext& c) { return call_types(c, c.get<Params>().jaxpr); }
  static JvpResult jvp_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    if (const auto rule = find_composite_rule<CompositeJvp>(p.name))
      if (std::optional<JvpResult> own = rule(c)) return std::move(*own);
    return jvp_of_call(c, p.jaxpr, run_in_place);
  }
  static JvpResult linearize_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    if (const auto rule = find_composite_rule<CompositeLinearize>(p.name))
      if (std::optional<JvpResult> own = rule(c)) return std::move(*own);
    return linearize_of_call(c, p.jaxpr, run_in_place);
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    const Params& p = c.get<Params>();
    if (const auto rule = find_composite_rule<CompositeTranspose>(p.name))
      if (std::optional<std::vector<Tangent>> own = rule(c)) return std::move(*own);
    return transpose_of_call(c, p.jaxpr, run_in_place);
  }
  static BatchResult batch(const BatchContext& c) {
    const Params& p = c.get<Params>();
    if (const auto rule = find_composite_rule<CompositeBatch>(p.name))
      if (std::optional<BatchResult> own = rule(c)) return std::move(*own);
    return batch_of_call(c, p.jaxpr, run_in_place);
  }
};

const CallRule<Composite> composite_traits([] {
  return CallTraits{.compiled_as = [](const ParamsBase& p) -> const std::string& { return params_as<CompositeParams>(p).name; }};
});
constexpr ParamValue kLeftOut[] = {{"attributes", "{}"}};
const TextRule<Composite> composite_text([] { return TextTraits{.left_out = kLeftOut}; });
const VaryingRule<Composite> composite_varying(varying_of_body);
const MarkVaryingRule<Composite> composite_marks(mark_body);

}  // namespace

std::vector<Array> bind_composite(CompositeParams params, std::span<const Array> inputs, SourceLoc loc) {
  Hoisted h = hoist_consts(params.jaxpr);
  params.jaxpr = std::move(h.jaxpr);
  std::vector<Array> all = std::move(h.consts);
  all.insert(all.end(), inputs.begin(), inputs.end());
  return bind_all<Composite>(std::move(params), all, loc);
}

Array named(std::string_view name, Attributes attributes, std::span<const Array> operands, SourceLoc loc,
            FunctionRef<Array(std::span<const Array>)> body) {
  if (std::none_of(operands.begin(), operands.end(), [](const Array& x) { return as_traced(x); })) return body(operands);
  TraceRequest request{std::string(name), {}, {}};
  for (const Array& x : operands) request.inputs.push_back(x.aval());
  const Jaxpr program = trace_jaxpr(request, [&](std::span<const Array> in) { return std::vector<Array>{body(in)}; });
  return bind_composite({std::move(attributes), program, std::string(name), 0}, operands, loc)[0];
}

Attribute axes_attribute(std::span<const int> axes) {
  std::string s;
  for (int a : axes) s += (s.empty() ? "" : ", ") + std::to_string(a);
  return s;
}

const CompositeParams* as_composite(const Eqn& e) {
  return e.op == &primitive_of<Composite> ? &params_as<CompositeParams>(*e.params) : nullptr;
}

PrimitiveList composite_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Composite>};
  return list;
}

}  // namespace detail
}  // namespace weft
