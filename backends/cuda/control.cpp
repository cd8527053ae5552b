// Loops and branches on a device. A scan needs nothing from the device. The condition of a while loop and the choice of a branch are read
// back by the host, or decide within a graph.
#include <algorithm>
#include <deque>

#include "weft/backends/cuda/conditions.h"
#include "weft/backends/cuda/executable.h"
#include "weft/core/errors/error.h"

namespace weft::detail::cuda {
namespace {

using Place = ControlStep::Carry::Place;

DevicePointer offset(DevicePointer p, std::int64_t bytes) { return p + static_cast<DevicePointer>(bytes); }

/// The memory of the carried values: now, and after the iteration.
struct Carried {
  std::vector<DevicePointer> now, next, other;
  std::vector<std::int64_t> bytes;

  void step() {
    now = next;
    std::swap(next, other);
  }
};

}  // namespace

void GpuExecutable::program(OnDevice& d, const KernelProgram& p, const Addresses& inputs, const Addresses& outputs, DevicePointer arena) {
  const Addresses at = buffer_addresses(
      p, inputs, outputs, [&](std::int64_t bytes) { return offset(arena, bytes); }, [&](BufferId b) { return d.fixed.at({&p, b}); });
  // Results that no step computes. Inputs among them are copied while they are whole.
  const auto copy_results = [&](bool computed) {
    for (std::size_t k = 0; k < p.outputs.size(); ++k) {
      const auto b = static_cast<std::size_t>(p.outputs[k].buffer);
      if ((p.buffers[b].role == BufferInfo::Role::output) == computed) copy(d, outputs[k], at[b], p.buffers[b].aval.bytes());
    }
  };
  copy_results(false);
  run_steps(d, p, at);
  copy_results(true);
}

void GpuExecutable::control(OnDevice& d, const KernelProgram& p, const Step& s, const Addresses& at) {
  const ControlStep& c = p.controls[static_cast<std::size_t>(s.number)];
  Addresses operands, results;
  const std::size_t end = s.buffers.size() - (c.scratch_bytes > 0 ? 1 : 0);
  for (std::size_t i = 0; i < end; ++i)
    (static_cast<int>(i) < c.num_inputs ? operands : results).push_back(at[static_cast<std::size_t>(s.buffers[i])]);
  const DevicePointer scratch = c.scratch_bytes > 0 ? at[static_cast<std::size_t>(s.buffers.back())] : 0;
  switch (c.kind) {
    case ControlStep::Kind::scan: return scan(d, c, operands, results, scratch);
    case ControlStep::Kind::while_loop: return while_loop(d, c, operands, results, scratch);
    case ControlStep::Kind::cond: return branch(d, c, operands, results, scratch);
  }
}

namespace {

/// `odd`: an odd number of iterations writes the last one's values to the results.
template <class Copy>
Carried begin_carry(const ControlStep& c, const KernelProgram& body, std::span<const DevicePointer> start,
                    const std::vector<DevicePointer>& results, DevicePointer scratch, bool odd, Copy copy) {
  Carried k;
  const JaxprData& data = body.jaxpr.data();
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.num_carry); ++i) {
    k.bytes.push_back(data.aval(data.outputs[i]).bytes());
    k.now.push_back(start[i]);
    switch (c.carry[i].place) {
      case Place::kept: k.next.push_back(start[i]), k.other.push_back(start[i]); break;
      case Place::in_place:
        copy(results[i], start[i], k.bytes[i]);
        k.now.back() = results[i];
        k.next.push_back(results[i]), k.other.push_back(results[i]);
        break;
      case Place::swapped: {
        const DevicePointer spare = offset(scratch, c.carry[i].spare);
        k.next.push_back(odd ? results[i] : spare), k.other.push_back(odd ? spare : results[i]);
      }
    }
  }
  return k;
}

}  // namespace

void GpuExecutable::scan(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results, DevicePointer scratch) {
  const KernelProgram& body = c.programs[0];
  const JaxprData& data = body.jaxpr.data();
  const auto consts = static_cast<std::size_t>(c.num_consts), carry = static_cast<std::size_t>(c.num_carry);
  const auto copy_here = [&](DevicePointer to, DevicePointer from, std::int64_t bytes) { copy(d, to, from, bytes); };
  if (c.length == 0) {
    for (std::size_t i = 0; i < carry; ++i) copy(d, results[i], operands[consts + i], data.aval(data.outputs[i]).bytes());
    return;
  }
  Carried k = begin_carry(c, body, std::span(operands).subspan(consts, carry), results, scratch, c.length % 2 == 1, copy_here);
  for (std::int64_t i = 0; i < c.length; ++i) {
    const std::int64_t position = c.reverse ? c.length - 1 - i : i;
    Addresses inputs(operands.begin(), operands.begin() + c.num_consts), outputs = k.next;
    inputs.insert(inputs.end(), k.now.begin(), k.now.end());
    for (std::size_t n = consts + carry; n < operands.size(); ++n)
      inputs.push_back(offset(operands[n], position * data.input_avals()[n].bytes()));
    for (std::size_t n = carry; n < results.size(); ++n)
      outputs.push_back(offset(results[n], position * data.aval(data.outputs[n]).bytes()));
    program(d, body, inputs, outputs, offset(scratch, c.arena));
    k.step();
  }
  for (std::size_t i = 0; i < carry; ++i)
    if (c.carry[i].place == Place::kept) copy(d, results[i], operands[consts + i], k.bytes[i]);
}

void GpuExecutable::while_loop(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results,
                               DevicePointer scratch) {
  if (d.capturing) return while_loop_in_graph(d, c, operands, results, scratch);
  const KernelProgram &condition = c.programs[0], &body = c.programs[1];
  const std::ptrdiff_t a = c.cond_consts, b = a + c.num_consts;
  const auto copy_here = [&](DevicePointer to, DevicePointer from, std::int64_t bytes) { copy(d, to, from, bytes); };
  Carried k = begin_carry(c, body, std::span(operands).subspan(static_cast<std::size_t>(b)), results, scratch, true, copy_here);
  const DevicePointer predicate = offset(scratch, c.predicate);
  for (;;) {
    Addresses inputs(operands.begin(), operands.begin() + a);
    inputs.insert(inputs.end(), k.now.begin(), k.now.end());
    program(d, condition, inputs, {predicate}, offset(scratch, c.arena));
    std::uint8_t go_on = 0;
    d.device->download(&go_on, predicate, 1);
    if (!go_on) break;
    inputs.assign(operands.begin() + a, operands.begin() + b);
    inputs.insert(inputs.end(), k.now.begin(), k.now.end());
    program(d, body, inputs, k.next, offset(scratch, c.arena));
    k.step();
  }
  for (std::size_t i = 0; i < k.now.size(); ++i) copy(d, results[i], k.now[i], k.bytes[i]);
}

/// Every iteration is the same graph: the carry is in the results, and is copied there.
void GpuExecutable::while_loop_in_graph(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results,
                                        DevicePointer scratch) {
  const KernelProgram &condition = c.programs[0], &body = c.programs[1];
  const JaxprData& data = body.jaxpr.data();
  const std::ptrdiff_t a = c.cond_consts, b = a + c.num_consts;
  Addresses now, next;
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.num_carry); ++i) {
    bytes.push_back(data.aval(data.outputs[i]).bytes());
    const bool kept = c.carry[i].place == Place::kept;
    now.push_back(kept ? operands[static_cast<std::size_t>(b) + i] : results[i]);
    next.push_back(c.carry[i].place == Place::swapped ? offset(scratch, c.carry[i].spare) : now.back());
    copy(d, results[i], operands[static_cast<std::size_t>(b) + i], bytes.back());
  }
  const auto with = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    Addresses inputs(operands.begin() + from, operands.begin() + to);
    inputs.insert(inputs.end(), now.begin(), now.end());
    return inputs;
  };
  const DevicePointer predicate = offset(scratch, c.predicate);
  GraphCondition go_on(*d.device, name_);
  const auto ask = [&] {
    program(d, condition, with(0, a), {predicate}, offset(scratch, c.arena));
    go_on.set_by_byte(predicate);
  };
  ask();
  go_on.run(kConditionWhile, [&] {
    program(d, body, with(a, b), next, offset(scratch, c.arena));
    for (std::size_t i = 0; i < now.size(); ++i) copy(d, now[i], next[i], bytes[i]);
    ask();
  });
}

void GpuExecutable::branch(OnDevice& d, const ControlStep& c, const Addresses& operands, const Addresses& results, DevicePointer scratch) {
  const auto run = [&](const KernelProgram& p) {
    Addresses inputs(operands.begin() + 1, operands.end());
    for (std::size_t r = 0; r < results.size(); ++r)
      if (c.takes[r] >= 0 && begins_as_input(p, r)) {
        DevicePointer& input = inputs[static_cast<std::size_t>(c.takes[r]) - 1];
        copy(d, results[r], input, p.buffers[static_cast<std::size_t>(p.outputs[r].buffer)].aval.bytes());
        input = results[r];
      }
    program(d, p, inputs, results, offset(scratch, c.arena));
  };
  if (d.capturing) {
    const auto last = static_cast<std::int64_t>(c.programs.size()) - 1;
    std::deque<GraphCondition> chosen;
    for (std::int64_t k = 0; k <= last; ++k) chosen.emplace_back(*d.device, name_).set_by_index(operands[0], k, last);
    for (std::size_t k = 0; k < c.programs.size(); ++k) chosen[k].run(kConditionIf, [&] { run(c.programs[k]); });
    return;
  }
  std::int32_t index = 0;
  d.device->download(&index, operands[0], sizeof index);
  index = std::clamp(index, 0, static_cast<std::int32_t>(c.programs.size()) - 1);
  run(c.programs[static_cast<std::size_t>(index)]);
}

}  // namespace weft::detail::cuda
