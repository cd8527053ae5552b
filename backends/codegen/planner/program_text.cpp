// The text of kernels and of programs of them, as the form "kernels" of a compiled program shows it: of a kernel its arguments with the
// traffic of each, its loops, and the equations, reductions and stores of each nest; of a program its steps and where their buffers are.
#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/kernel_cost.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {
namespace {

std::string text(const Affine& a) {
  std::string s;
  for (const AffineTerm& t : a.terms) {
    if (!s.empty()) s += t.coef < 0 ? " - " : " + ";
    const std::int64_t c = s.empty() ? t.coef : std::abs(t.coef);
    if (c == -1)
      s += "-";
    else if (c != 1)
      s += fmt::format("{}*", c);
    s += t.atom >= 0 ? fmt::format("i{}", t.atom) : fmt::format("%{}", ~t.atom);
  }
  if (s.empty()) return std::to_string(a.constant);
  if (a.constant != 0) s += fmt::format(" {} {}", a.constant < 0 ? "-" : "+", std::abs(a.constant));
  return s;
}

std::string_view name_of(Combiner c) {
  switch (c) {
    case Combiner::sum: return "sum";
    case Combiner::prod: return "prod";
    case Combiner::max: return "max";
    case Combiner::min: return "min";
    case Combiner::logical_and: return "and";
    case Combiner::logical_or: return "or";
    case Combiner::bit_xor: return "xor";
    case Combiner::logsumexp: return "logsumexp";
  }
  return "";
}

class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& k) : k_(k), printed_(k.dag.nodes.size()) {}

  std::string print() && {
    out_ = fmt::format("{}: flops={} bytes={}\n", k_.name, k_.cost.flops, k_.cost.bytes);
    arguments();
    out_ += "  outer" + loops("for", k_.outer) + "\n";
    if (k_.row_partition.loop >= 0)
      out_ += fmt::format("  rows partitioned by {} of i{}, below {}\n", operand(k_.row_partition.row), k_.row_partition.loop,
                          k_.row_partition.rows);
    for (const Nest& t : k_.nests) nest(t);
    return std::move(out_);
  }

 private:
  std::string operand(NodeId id) const {
    const Node& n = k_.dag[id];
    switch (n.kind) {
      case NodeKind::constant:
        return n.dtype.is_floating() ? fmt::format("{}:{}", n.floating, n.dtype.short_name())
                                     : fmt::format("{}:{}", n.integer, n.dtype.short_name());
      case NodeKind::index: return text(k_.dag.affine(id));
      case NodeKind::local: return fmt::format("l{}", n.integer);
      default: return fmt::format("%{}", id);
    }
  }
  std::string guard(NodeId id) const { return id >= 0 ? " if " + operand(id) : ""; }

  void arguments() {
    const KernelTraffic traffic = element_traffic(k_);
    for (std::size_t a = 0; a < k_.args.size(); ++a) {
      const KernelArg& arg = k_.args[a];
      out_ += fmt::format("  a{}: {}[{}]", a, arg.dtype.short_name(), arg.elements);
      if (arg.scratch) out_ += " scratch";
      if (traffic.read[a] > 0) out_ += fmt::format(", {} read", traffic.read[a]);
      if (arg.written) out_ += fmt::format(", {} written", traffic.written[a]);
      out_ += "\n";
    }
  }

  std::string loops(std::string_view what, const std::vector<int>& dims) const {
    std::string t;
    for (int d : dims) {
      t += fmt::format(" {} i{} < {}", what, d, k_.dag.dims[static_cast<std::size_t>(d)]);
      if (k_.sequential >> d & 1) t += " in order";
      const LoopLimit& limit = k_.limits[static_cast<std::size_t>(d)];
      if (limit.outer >= 0) t += fmt::format(" (i{} chunks of {})", limit.outer, limit.total);
    }
    return t;
  }

  void nest(const Nest& t) {
    out_ += "  nest" + loops("for", t.parallel) + loops("reduce", t.reduce) + "\n";
    for (const Reduction& r : t.reductions) reduction(r);
    for (const Repeat& r : t.repeats) repeat(r, "    ");
    for (const bool within : {true, false})
      for (const Store& w : t.stores)
        if (w.in_reduction == within) store(w);
  }

  /// The equation of a node that has none yet, after those of its operands.
  void equation(NodeId id) {
    if (id < 0 || printed_[static_cast<std::size_t>(id)]) return;
    printed_[static_cast<std::size_t>(id)] = 1;
    const Node& n = k_.dag[id];
    if (n.kind == NodeKind::index)
      for (const AffineTerm& a : k_.dag.affine(id).terms)
        if (a.atom < 0) equation(~a.atom);
    for (NodeId o : n.operands) equation(o);
    if (const std::string right = right_side(n); !right.empty()) out_ += fmt::format("    %{} = {} {}\n", id, n.dtype.short_name(), right);
  }

  /// Empty for a node that is written where it is used.
  std::string right_side(const Node& n) const {
    switch (n.kind) {
      case NodeKind::constant:
      case NodeKind::index:
      case NodeKind::local: return {};
      case NodeKind::index_div: return fmt::format("({}) / {}", operand(n.operands[0]), n.integer);
      case NodeKind::index_mod: return fmt::format("({}) % {}", operand(n.operands[0]), n.integer);
      case NodeKind::index_below: return fmt::format("0 <= {} < {}", operand(n.operands[0]), n.integer);
      case NodeKind::index_value: return fmt::format("index {}", operand(n.operands[0]));
      case NodeKind::load: return fmt::format("a{}[{}]{}", n.integer, operand(n.operands[0]), guard(n.operands[1]));
      case NodeKind::op:
      case NodeKind::math: break;
    }
    std::string s(n.kind == NodeKind::op ? name_of(n.op) : name_of(n.function));
    for (NodeId o : n.operands)
      if (o >= 0) s += " " + operand(o);
    return s;
  }

  void reduction(const Reduction& r) {
    equation(r.value), equation(r.position);
    const std::string_view what = r.kind == Reduction::Kind::reduce    ? name_of(r.combiner)
                                  : r.kind == Reduction::Kind::arg_max ? "argmax"
                                  : r.kind == Reduction::Kind::arg_min ? "argmin"
                                                                       : "complex prod";
    out_ += fmt::format("    l{} = {} {} {}{}{}\n", r.local, r.dtype.short_name(), what, operand(r.value),
                        r.kind == Reduction::Kind::complex_product ? " " + operand(r.position) : "", r.running ? " (running)" : "");
  }

  void store(const Store& w) {
    equation(w.position), equation(w.value), equation(w.guard);
    out_ += fmt::format("    a{}[{}] = {}{}\n", w.arg, operand(w.position), operand(w.value), guard(w.guard));
  }

  void repeat(const Repeat& r, const std::string& indent) {
    for (const Repeat::Carried& c : r.carried) {
      equation(c.start);
      out_ += fmt::format("{}l{} = {}\n", indent, c.local, operand(c.start));
    }
    out_ += indent + (r.go_on >= 0 ? "while\n" : fmt::format("repeat i{} < {}\n", r.dim, k_.dag.dims[static_cast<std::size_t>(r.dim)]));
    if (r.go_on >= 0) equation(r.go_on), out_ += fmt::format("{}  if {}\n", indent, operand(r.go_on));
    for (const Repeat& inner : r.inner) repeat(inner, indent + "  ");
    for (const Repeat::Carried& c : r.carried) equation(c.next);
    for (const Store& w : r.stores) store(w);
    for (const Repeat::Carried& c : r.carried) out_ += fmt::format("{}  l{} = {}\n", indent, c.local, operand(c.next));
    for (const Repeat::Carried& c : r.carried) out_ += fmt::format("{}l{} = l{}\n", indent, c.result, c.local);
  }

  const Kernel& k_;
  std::vector<char> printed_;  // nodes whose equations are written
  std::string out_;
};

std::string buffer_text(const KernelProgram& p, BufferId b) {
  if (b < 0) return "scratch";
  const BufferInfo& info = p.buffers[static_cast<std::size_t>(b)];
  const std::string type = to_string(info.aval);
  switch (info.role) {
    case BufferInfo::Role::input: return fmt::format("in{}:{}", info.number, type);
    case BufferInfo::Role::constant: return fmt::format("const{}:{}", info.number, type);
    case BufferInfo::Role::literal: return fmt::format("literal{}:{}", info.number, type);
    case BufferInfo::Role::output:
      return fmt::format("out{}:{}", info.number, type) + (info.reuses_input >= 0 ? fmt::format("@in{}", info.reuses_input) : "");
    case BufferInfo::Role::temporary: return fmt::format("temp@{}:{}", info.offset, type);
  }
  return type;
}

std::string steps_text(const KernelProgram& p, const KernelProgram& root, const std::string& indent);

std::string control_text(const ControlStep& c, const KernelProgram& root, const std::string& indent) {
  std::string s;
  for (std::size_t i = 0; i < c.programs.size(); ++i) {
    switch (c.kind) {
      case ControlStep::Kind::scan: s += fmt::format("{}{} times{}:\n", indent, c.length, c.reverse ? ", from the last" : ""); break;
      case ControlStep::Kind::while_loop: s += indent + (i == 0 ? "while:\n" : "do:\n"); break;
      case ControlStep::Kind::cond: s += fmt::format("{}branch {}:\n", indent, i); break;
    }
    s += steps_text(c.programs[i], root, indent + "  ");
  }
  return s;
}

std::string steps_text(const KernelProgram& p, const KernelProgram& root, const std::string& indent) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  std::string s;
  for (const Step& step : p.steps) {
    s += indent;
    const ControlStep* control = nullptr;
    switch (step.kind) {
      case Step::Kind::kernel: s += root.kernels[static_cast<std::size_t>(step.number)].name; break;
      case Step::Kind::matmul: {
        const MatmulStep& m = root.matmuls[static_cast<std::size_t>(step.number)];
        s += fmt::format("matmul m={} n={} k={}", m.m, m.n, m.k);
        for (const MatmulStep::Batch& b : m.batch) s += fmt::format(" batch={}", b.size);
        if (m.dtype != float32) s += fmt::format(" {}", m.dtype.name());
        if (m.bias) s += " bias";
        if (m.activation != MatmulStep::Activation::none) s += m.activation == MatmulStep::Activation::gelu ? " gelu" : " relu";
        break;
      }
      case Step::Kind::control:
        control = &p.controls[static_cast<std::size_t>(step.number)];
        s += std::string(p.jaxpr.data().eqns[static_cast<std::size_t>(control->eqn)].op->name);
        break;
      case Step::Kind::opaque: s += std::string(p.jaxpr.data().eqns[static_cast<std::size_t>(step.number)].op->name); break;
    }
    s += " (";
    for (std::size_t i = 0; i < step.buffers.size(); ++i) s += (i ? ", " : "") + buffer_text(p, step.buffers[i]);
    s += ")\n";
    if (control) s += control_text(*control, root, indent + "  ");
  }
  return s;
}

}  // namespace

std::string to_string(const Kernel& k) { return KernelPrinter(k).print(); }

std::string to_string(const KernelProgram& p) {
  std::string s = steps_text(p, p, "");
  s += fmt::format("arena {} bytes\n", p.arena_bytes);
  for (const Kernel& k : p.kernels) s += "\n" + to_string(k);
  return s;
}

}  // namespace weft::detail
