#include "weft/backends/cpu/executable.h"

#include <fmt/core.h>

#include <algorithm>

#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/program_cost.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/common/other_targets.h"
#include "weft/backends/cpu/cpu_backend.h"
#include "weft/backends/cpu/executable/schedule_search.h"
#include "weft/backends/cpu/expand.h"
#include "weft/backends/cpu/object/export.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/stated_schedule.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

TargetTraits traits() {
  TargetTraits t;
  t.vector_bytes = native_vector_bytes();
  t.vectors_in_epilogue = t.partitions_loops = t.partitions_scatters = t.row_blocks = t.narrows_integers = t.keeps_rows_whole = true;
  t.many_rows = 64;
  t.transposed_for_lanes = static_cast<std::int64_t>(Target{}.streaming_total / 2);
  t.prefers_matmul = &prefers_matmul;
  t.takes_matmul = &takes_matmul;
  t.expansion = &expand_for_cpu;
  return t;
}

}  // namespace

CpuExecutable::CpuExecutable(const Jaxpr& j, const CompileOptions& options, std::string_view schedules)
    : name_(options.name), donated_(options.donated), stated_(schedules), searches_(searches_schedules() && stated_.empty()) {
  const LibraryUse use;
  const Jaxpr simplified = simplify(j, &expand_for_cpu);
  if (load(simplified)) return;
  plan_ = make_plan(form_program(simplified, traits(), donated_));
  reserve_arena();
  const MatmulPreparation preparation;
  matmuls_.resize(plan_.program.matmuls.size());
  parallel_for(static_cast<std::int64_t>(matmuls_.size()), [&](std::int64_t i) { prepare_matmul(static_cast<std::size_t>(i)); });
  prepare_calls();
  first_code_ = compile_program(plan_.program, plan_.schedules, first_tiers(plan_.program, plan_.schedules),
                                [this](const FixedPointer& f) { return resolve(f); });
  code_ = first_code_.get();
  better_ = improvement(plan_.program, plan_.schedules, first_code_->made);
  tier_runs_.wait_for(better_.due());
  if (key_.empty()) first_code_->objects.clear();
  if (better_.excess == 0) store();
  keeps_ = !key_.empty();
}

CpuExecutable::Plan CpuExecutable::make_plan(KernelProgram program) const {
  Plan p{std::move(program), {}};
  for (const Kernel& k : p.program.kernels) p.schedules.push_back(make_schedule(k, native_vector_bytes()));
  for (std::size_t i = 0; i < p.schedules.size() && searches_; ++i)
    if (const Kernel& k = p.program.kernels[i]; is_worth_searching(k, p.schedules[i]))
      if (std::optional<Schedule> found = found_schedule(k, p.schedules[i])) p.schedules[i] = std::move(*found);
  if (!stated_.empty()) state_schedules(stated_, p.program.kernels, native_vector_bytes(), p.schedules);
  return p;
}

const CpuExecutable::Plan& CpuExecutable::whole_plan() const {
  if (!is_stored_) return plan_;
  const LibraryUse use;  // a fork in the middle of this would leave the child without a plan
  std::call_once(formed_,
                 [&] { whole_plan_ = std::make_unique<const Plan>(make_plan(form_program(plan_.program.jaxpr, traits(), donated_))); });
  return *whole_plan_;
}

void CpuExecutable::prepare_matmul(std::size_t number) { matmuls_[number] = make_matmul(plan_.program.matmuls[number]); }

/// Prepares the calls of libraries, and the addresses of constants.
void CpuExecutable::prepare_calls() {
  const KernelProgram& p = plan_.program;
  add_opaque(p);
  fixed_.resize(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b)
    if (const BufferInfo::Role role = p.buffers[b].role; role == BufferInfo::Role::constant || role == BufferInfo::Role::literal)
      fixed_[b] = resolve({FixedPointer::Kind::memory, &p, static_cast<int>(b)});
}

/// Prepares the calls of the steps that are no code of a program and its sub-programs.
void CpuExecutable::add_opaque(const KernelProgram& p) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (s.kind != Step::Kind::opaque) continue;
    const Eqn& e = p.jaxpr.data().eqns[static_cast<std::size_t>(s.number)];
    auto o = std::make_unique<Opaque>();
    o->op = e.op, o->params = e.params, o->num_inputs = e.inputs.size();
    const std::vector<Aval> in = operand_avals(p.jaxpr.data(), e), out = result_avals(p.jaxpr.data(), e);
    for (const std::vector<Aval>* avals : {&in, &out})
      for (const Aval& a : *avals) o->tensors.push_back({a, nullptr});
    o->native = make_native_step(*e.op, *e.params, in, out);
    opaque_[{&p, static_cast<int>(i)}] = std::move(o);
  }
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& part : c.programs) add_opaque(part);
}

const void* CpuExecutable::fixed_memory(const FixedPointer& f) {
  const BufferInfo& info = f.program->buffers[static_cast<std::size_t>(f.number)];
  const JaxprData& data = f.program->jaxpr.data();
  const auto number = static_cast<std::size_t>(info.number);
  return info.role == BufferInfo::Role::constant ? host_data(data.consts[number]) : data.literals[number].bits.data();
}

void* CpuExecutable::resolve(const FixedPointer& given) const {
  FixedPointer f = given;
  if (const auto own = own_part_.find(f.program); own != own_part_.end()) f.program = own->second;
  switch (f.kind) {
    case FixedPointer::Kind::matmul: return matmuls_[static_cast<std::size_t>(f.number)].get();
    case FixedPointer::Kind::opaque: return static_cast<ReferenceCall*>(opaque_.at({f.program, f.number}).get());
    case FixedPointer::Kind::memory: break;
  }
  return const_cast<void*>(fixed_memory(f));  // the program keeps it, and no step writes to it
}

std::string CpuExecutable::as_text(std::string_view form) const {
  if (form == "jaxpr") return plan_.program.jaxpr.to_string();
  if (form == "kernels") return to_string(whole_plan().program);
  if (form == "schedule") return schedules_text(whole_plan().program.kernels, whole_plan().schedules);
  if (form == "llvm" || form == "asm") return code_as_text(whole_plan().program, whole_plan().schedules, form == "asm");
  for (const TargetText& other : other_target_texts())
    if (form == other.form) return other.text(plan_.program.jaxpr, donated_);
  if (form == "tiers") return tiers_text();
  throw CompileError(
      fmt::format("as_text: unknown form `{}`; available: `jaxpr`, `kernels`, `schedule`, `llvm`, `asm`, `ptx`, `tiers`", form));
}

CostAnalysis CpuExecutable::cost_analysis() const { return program_cost(whole_plan().program); }

MemoryAnalysis CpuExecutable::memory_analysis() const { return program_memory(plan_.program); }

Object CpuExecutable::export_object(const ObjectRequest& request) const {
  const LibraryUse use;
  return detail::export_object(request);
}

Ref<Executable> CpuBackend::compile(const Jaxpr& j, const CompileOptions& options, std::string_view schedules) {
  return Ref<Executable>(new CpuExecutable(j, options, schedules));
}

}  // namespace weft::detail
