#include "weft/runtime/sharded/mapped_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/core/ops/control/control_run.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/process_local.h"
#include "weft/runtime/sharded/global_arrays.h"
#include "weft/runtime/sharded/map_places.h"
#include "weft/runtime/sharded/spmd.h"

namespace weft::detail {
namespace {

/// The operand of an unmapped part of the program, on one device. A global array is gathered in all processes, each of which runs that
/// part.
Array in_one_place(const Array& x, int device) {
  const ConcreteArray* c = as_concrete(x);
  if (c && has_remote_shards(*c)) return allgather_array(x, false, {});
  return c && (!c->buffer || c->placement) ? wrap_buffer(x.aval(), whole_of(x, device)) : x;
}

class MappedProgram final : public Executable {
 public:
  MappedProgram(Backend& backend, const Jaxpr& original, const Jaxpr& flat, const CompileOptions& options)
      : original_(original), jaxpr_(flat) {
    const JaxprData& d = jaxpr_.data();
    std::vector<const Eqn*> run;
    for (const Eqn& e : d.eqns) {
      const bool cut =
          e.op->kind == Kind::spmd || e.op->kind == Kind::collective || (e.op->kind == Kind::control && any_program(e, communicates));
      if (!cut) {
        run.push_back(&e);
        continue;
      }
      add_segment(backend, run, options.name);
      run.clear();
      Step s;
      s.eqn = &e;
      s.outputs = e.outputs;
      if (e.op->kind == Kind::collective)
        throw AxisError(
            fmt::format("{}: it names an axis that is not bound; call it inside the vmap, pmap or shard_map that does", e.op->name), e.loc);
      if (process_move(*e.op)) {
        s.move = std::make_unique<ProcessMove>(*e.op, *e.params, e.loc);
        s.gives = process_move(*e.op) == ProcessMoveTo::global && is_given_to(e, e.inputs[0], options.donated);
      } else if (e.op->kind == Kind::spmd) {
        s.program = spmd_program(e.params, backend, donated_operands(e, options.donated));
        for (std::size_t k = 0; k < e.inputs.size(); ++k)
          if (const Atom a = e.inputs[k]; !a.is_literal() && a.var() < static_cast<Var>(d.num_consts)) {
            std::vector<Array> value{d.consts[a.var()]};
            take_captured(value, s.program->mesh());
            s.captured.emplace_back(k, value[0]);
          }
      } else {
        // Which of this program's inputs are donated says nothing of a body's, and what an iteration reads the next one reads again.
        for_each_program(e, [&](const Jaxpr& j) { s.bodies.emplace(&j.data(), compile_with_maps(backend, j, {options.name})); });
      }
      steps_.push_back(std::move(s));
    }
    add_segment(backend, run, options.name);
    find_deaths();
  }

  bool takes_placed() const override { return true; }

  std::vector<Array> call(std::span<const Array> inputs, int device) override {
    const JaxprData& d = jaxpr_.data();
    ProgramValues<> values(d, inputs);
    std::vector<Array> in;
    for (const Step& s : steps_) {
      in.clear();
      std::vector<Array> out;
      if (s.segment) {
        for (Var v : s.inputs) in.push_back(in_one_place(values[v], device));
        out = s.segment->call(in, device);
        for (std::size_t k = 0; k < out.size(); ++k) values[s.outputs[k]] = std::move(out[k]);
        for (Var v : s.dies) values[v] = Array();
        continue;
      }
      for (Atom a : s.eqn->inputs) in.push_back(s.program || s.move ? values[a] : in_one_place(values[a], device));
      for (const auto& [k, value] : s.captured) in[k] = value;
      if (s.move) {
        out = {s.move->run(in[0], s.eqn->loc)};
        if (s.gives && as_concrete(in[0])) {
          auto* c = static_cast<ConcreteArray*>(in[0].impl().get());
          c->shards.clear(), c->buffer = {};
        }
      } else if (s.program) {
        out = s.program->run(in, s.eqn->loc);
      } else {
        out = run_control(*s.eqn->op, *s.eqn->params, in, [&](const Jaxpr& j, std::span<const Array> args) {
          std::vector<Array> results = s.bodies.at(&j.data())->call(args, device);
          for (Array& x : results) x = in_one_place(x, device);
          return results;
        });
      }
      values.set(*s.eqn, std::move(out));
      in.clear();
      for (Var v : s.dies) values[v] = Array();
    }
    return values.read(d.outputs);
  }

  std::string as_text(std::string_view form) const override {
    if (form == "jaxpr") return original_.to_string();
    std::string text;
    for (const Step& s : steps_) {
      if (s.segment) text += s.segment->as_text(form) + "\n";
      if (s.program) text += s.program->body().as_text(form) + "\n";
      for (const auto& [data, body] : s.bodies) text += body->as_text(form) + "\n";
    }
    return text;
  }
  CostAnalysis cost_analysis() const override {
    CostAnalysis total;
    for (const Step& s : steps_) {
      const auto add = [&](const CostAnalysis& c) { total.flops += c.flops, total.bytes_accessed += c.bytes_accessed; };
      if (s.segment) add(s.segment->cost_analysis());
      if (s.program) add(s.program->body().cost_analysis());
      for (const auto& [data, body] : s.bodies) add(body->cost_analysis());
    }
    return total;
  }
  MemoryAnalysis memory_analysis() const override {
    MemoryAnalysis m;
    for (const Aval& a : original_.data().input_avals()) m.argument_size_in_bytes += a.bytes();
    for (const Aval& a : original_.data().output_avals()) m.output_size_in_bytes += a.bytes();
    const JaxprData& d = jaxpr_.data();
    std::vector<bool> is_result(d.avals.size());
    for (Atom a : d.outputs)
      if (!a.is_literal()) is_result[a.var()] = true;
    std::int64_t live = 0;
    for (const Step& s : steps_) {
      for (Var v : s.outputs)
        if (!is_result[v]) live += d.avals[v].bytes();
      std::int64_t inside = 0;  // while the step runs
      if (s.segment) inside = s.segment->memory_analysis().temp_size_in_bytes;
      if (s.program) {
        const MemoryAnalysis own = s.program->body().memory_analysis();
        inside = own.temp_size_in_bytes;
        m.alias_size_in_bytes += own.alias_size_in_bytes;
      }
      // One of its programs runs at a time. An iteration of a loop leaves its results beside those of the one before.
      for (const auto& [data, body] : s.bodies) {
        const MemoryAnalysis one = body->memory_analysis();
        inside = std::max(inside, one.temp_size_in_bytes + one.output_size_in_bytes);
      }
      m.temp_size_in_bytes = std::max(m.temp_size_in_bytes, live + inside);
      for (Var v : s.dies) live -= d.avals[v].bytes();
    }
    return m;
  }
  Object export_object(const ObjectRequest& request) const override {
    throw CompileError("export_object: " + request.name +
                       " runs on several devices, which no object file can hold; export the function that is mapped");
  }

 private:
  struct Step {
    Ref<Executable> segment;
    std::vector<Var> inputs, outputs;  // what a segment reads; what the step computes
    std::vector<Var> dies;             // values that steps computed and nothing reads after it
    const Eqn* eqn = nullptr;          // of a map, or of control flow with maps inside
    Ref<SpmdProgram> program;
    std::vector<std::pair<std::size_t, Array>> captured;  // operands of a map that are constants
    std::unique_ptr<ProcessMove> move;                    // between one process's rows and those of all
    bool gives = false;                                   // its operand is donated: the result alone has the memory
    std::map<const JaxprData*, Ref<Executable>> bodies;
  };

  /// A value that a step computed dies at the last step that reads it, unless it is a result.
  void find_deaths() {
    const JaxprData& d = jaxpr_.data();
    std::vector<Step*> last(d.avals.size());
    std::vector<Var> computed;
    for (Step& s : steps_) {
      for (Var v : s.inputs) last[v] = &s;
      if (s.eqn)
        for (Atom a : s.eqn->inputs)
          if (!a.is_literal()) last[a.var()] = &s;
      for (Var v : s.outputs) last[v] = &s, computed.push_back(v);
    }
    for (Atom a : d.outputs)
      if (!a.is_literal()) last[a.var()] = nullptr;
    for (Var v : computed)
      if (last[v]) last[v]->dies.push_back(v);
  }

  /// Whether a value is a donated input of the program that only this equation reads, as it is or as this process's part of a global array.
  bool is_given_to(const Eqn& reader, Atom a, const std::vector<bool>& donated) const {
    const JaxprData& d = jaxpr_.data();
    if (a.is_literal()) return false;
    std::ptrdiff_t uses = std::count(d.outputs.begin(), d.outputs.end(), a);
    for (const Eqn& e : d.eqns) uses += std::count(e.inputs.begin(), e.inputs.end(), a);
    if (uses != std::count(reader.inputs.begin(), reader.inputs.end(), a) || uses != 1) return false;
    if (a.var() >= d.first_input() && a.var() < d.first_result()) {
      const std::size_t input = a.var() - d.first_input();
      return input < donated.size() && donated[input];
    }
    for (const Eqn& e : d.eqns)
      if (process_move(*e.op) && e.outputs[0] == a.var())
        return process_move(*e.op) == ProcessMoveTo::global && is_given_to(e, e.inputs[0], donated);
    return false;
  }
  /// For each operand of a map; empty: none.
  std::vector<bool> donated_operands(const Eqn& map, const std::vector<bool>& donated) const {
    std::vector<bool> out;
    for (Atom a : map.inputs) out.push_back(is_given_to(map, a, donated));
    if (std::none_of(out.begin(), out.end(), [](bool b) { return b; })) out.clear();
    return out;
  }

  void add_segment(Backend& backend, const std::vector<const Eqn*>& eqns, const std::string& name) {
    if (eqns.empty()) return;
    const JaxprData& d = jaxpr_.data();
    std::vector<bool> here(d.avals.size()), later(d.avals.size());
    for (const Eqn* e : eqns)
      for (Var v : e->outputs) here[v] = true;
    for (const Eqn& e : d.eqns)
      if (&e < eqns.front() || &e > eqns.back())
        for (Atom a : e.inputs)
          if (!a.is_literal()) later[a.var()] = true;
    for (Atom a : d.outputs)
      if (!a.is_literal()) later[a.var()] = true;
    Step s;
    JaxprBuilder builder;
    std::map<Var, Atom> atoms;
    for (const Eqn* e : eqns)
      for (Atom a : e->inputs)
        if (!a.is_literal() && !here[a.var()] && atoms.emplace(a.var(), Atom::var(0)).second) {
          atoms.insert_or_assign(a.var(), builder.add_input(d.avals[a.var()]));
          s.inputs.push_back(a.var());
        }
    std::vector<Atom> outputs;
    for (const Eqn* e : eqns) {
      std::vector<Atom> in;
      std::vector<Aval> avals;
      for (Atom a : e->inputs) in.push_back(a.is_literal() ? builder.add_literal(d.literals[a.literal()]) : atoms.at(a.var()));
      for (Var v : e->outputs) avals.push_back(d.avals[v]);
      const std::vector<Atom> results = builder.add_eqn(*e->op, e->params, std::move(in), avals, e->loc);
      for (std::size_t k = 0; k < results.size(); ++k) {
        atoms.insert_or_assign(e->outputs[k], results[k]);
        if (later[e->outputs[k]]) s.outputs.push_back(e->outputs[k]), outputs.push_back(results[k]);
      }
    }
    s.segment = backend.compile(std::move(builder).finish(std::move(outputs)), {name, {}});
    steps_.push_back(std::move(s));
  }

  Jaxpr original_, jaxpr_;
  std::vector<Step> steps_;
};

}  // namespace

Ref<Executable> compile_with_maps(Backend& backend, const Jaxpr& j, const CompileOptions& options) {
  check_nesting("programs inside programs", nesting_depth(j));
  if (!communicates(j)) return backend.compile(j, options);
  const Jaxpr flat = flatten_calls(j);
  if (!communicates(flat)) return backend.compile(flat, options);
  return Ref<Executable>(new MappedProgram(backend, j, flat, options));
}

}  // namespace weft::detail
