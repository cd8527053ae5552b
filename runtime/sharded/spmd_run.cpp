// Execution of a program that is divided into segments and joins.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/control/callback.h"
#include "weft/core/ops/control/control.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/nan_check.h"
#include "weft/runtime/host/thread_pool.h"
#include "weft/runtime/sharded/first_equal.h"
#include "weft/runtime/sharded/spmd_body.h"

namespace weft::detail {
namespace {

const SpmdStepRule<Scan> scan_step([](const ParamsBase& p) {
  return SpmdStep{SpmdStepKind::scan, {params_as<Scan::Params>(p).jaxpr}, params_as<Scan::Params>(p).length};
});
const SpmdStepRule<While> while_step([](const ParamsBase& p) {
  return SpmdStep{SpmdStepKind::while_loop, {params_as<While::Params>(p).cond_jaxpr, params_as<While::Params>(p).body_jaxpr}};
});
const SpmdStepRule<Cond> cond_step([](const ParamsBase& p) { return SpmdStep{SpmdStepKind::cond, params_as<Cond::Params>(p).branches}; });

constexpr double kTooLittleToFork = 40000;  // fewer bytes and operations take less time than waking other threads
constexpr double kWorthAllThreads = 4e6;    // from this much work for each device, devices run one after the other, each with all threads

Ref<Buffer> buffer_of(const Array& x, int device) {
  const ConcreteArray* c = as_concrete(x);
  return c && c->buffer ? c->buffer : whole_of(x, device);
}

/// Element `i` along the leading axis, of `bytes` bytes.
Ref<Buffer> row_of(const Ref<Buffer>& all, std::int64_t i, std::size_t bytes) {
  const Ref<Buffer> here = on_host(all);
  return Ref<Buffer>(new BorrowedBuffer(here, static_cast<std::size_t>(i) * bytes, bytes, here->device_id()));
}

}  // namespace

DeviceBuffers SpmdBody::value(int slot, Slots& slots) const {
  const auto part = at(slots, slot);
  return {part.begin(), part.end()};
}
void SpmdBody::set(int slot, const DeviceBuffers& value, Slots& slots) const {
  std::copy(value.begin(), value.end(), at(slots, slot).begin());
}

// Memory that a segment may overwrite must hold no other live value, such as another device's or a view.
void SpmdBody::own_given(const Segment& s, std::span<const std::size_t> leader, Slots& slots) const {
  std::vector<const void*> memory;
  memory.reserve(slots.size());
  for (const Ref<Buffer>& b : slots)
    if (b) memory.push_back(b->data());
  std::sort(memory.begin(), memory.end());
  std::vector<std::int64_t> holders;  // of each piece of memory, how many values on devices
  std::size_t pieces = 0;
  for (std::size_t m = 0; m < memory.size(); ++m) {
    if (m == 0 || memory[m] != memory[pieces - 1]) memory[pieces++] = memory[m], holders.push_back(0);
    ++holders.back();
  }
  memory.resize(pieces);
  const auto holders_of = [&](const void* piece) -> std::int64_t& {
    return holders[static_cast<std::size_t>(std::lower_bound(memory.begin(), memory.end(), piece) - memory.begin())];
  };
  for (const int slot : s.given) {
    const auto values = at(slots, slot);
    std::vector<std::int64_t> own(num_devices_);  // of a device and those that follow it
    for (std::size_t k : local_)
      if (values[k]->data() == values[leader[k]]->data()) ++own[leader[k]];
    for (std::size_t k : local_) {
      Ref<Buffer>& mine = values[k];
      if (leader[k] != k || mine->bytes() == 0) continue;
      std::int64_t& all = holders_of(mine->data());
      if (all == own[k]) continue;
      --all;
      const Ref<Buffer> copy(new HostBuffer(mine->bytes(), device_ids_[k]));
      std::memcpy(copy->data(), mine->data(), mine->bytes());
      mine = copy;
    }
  }
}

void SpmdBody::run_segment(const Segment& s, Slots& slots, bool one_thread) const {
  // Devices with the same operands have the same results, so one of them computes for all.
  std::vector<std::size_t> leader(num_devices_), leaders;
  if (s.has_effects || is_accelerator(device_ids_[local_[0]])) {
    for (std::size_t k : local_) leader[k] = k;
    leaders = local_;
  } else {
    const auto memory = [&](std::size_t n, int slot) { return at(slots, slot)[local_[n]]->data(); };
    const std::vector<std::size_t> first = first_equal(
        local_.size(),
        [&](std::size_t n) {
          std::uint64_t h = 0;
          for (int slot : s.inputs) h = mixed_hash(h, reinterpret_cast<std::uintptr_t>(memory(n, slot)));
          return h;
        },
        [&](std::size_t n, std::size_t m) {
          return std::all_of(s.inputs.begin(), s.inputs.end(), [&](int slot) { return memory(n, slot) == memory(m, slot); });
        });
    for (std::size_t n = 0; n < local_.size(); ++n) {
      leader[local_[n]] = local_[first[n]];
      if (first[n] == n) leaders.push_back(local_[n]);
    }
  }
  if (!s.given.empty()) own_given(s, leader, slots);
  const auto run_on = [&](std::int64_t i) {
    const std::size_t k = leaders[static_cast<std::size_t>(i)];
    std::vector<Array> inputs;
    inputs.reserve(s.inputs.size());
    for (std::size_t n = 0; n < s.inputs.size(); ++n) inputs.push_back(wrap_buffer(s.in_avals[n], at(slots, s.inputs[n])[k]));
    std::optional<DeviceLabel> label;
    if (s.has_effects || config.debug_nans) label.emplace(to_string(Device::of_id(device_ids_[k])));
    const std::vector<Array> results = s.executable->call(inputs, device_ids_[k]);
    for (std::size_t n = 0; n < s.outputs.size(); ++n) at(slots, s.outputs[n])[k] = buffer_of(results[n], device_ids_[k]);
  };
  const auto n = static_cast<std::int64_t>(leaders.size());
  const bool serial =
      one_thread || s.has_effects || s.cost * static_cast<double>(n) < kTooLittleToFork || (n < num_threads() && s.cost > kWorthAllThreads);
  if (serial)
    for (std::int64_t i = 0; i < n; ++i) run_on(i);
  else
    parallel_for(n, run_on);
  for (std::size_t k : local_)
    if (leader[k] != k)
      for (int out : s.outputs) at(slots, out)[k] = at(slots, out)[leader[k]];
}

const SpmdBody::Step* SpmdBody::first_collective() const {
  for (const Step& s : steps_) {
    if (s.kind == Step::Kind::collective || s.kind == Step::Kind::start) return &s;
    for (const auto& body : s.bodies)
      if (const Step* inner = body->first_collective()) return inner;
  }
  return nullptr;
}

std::vector<std::int32_t> SpmdBody::paths(const DeviceBuffers& value, DType dtype, const Step& step) const {
  std::vector<std::int32_t> taken(num_devices_);
  for (std::size_t k : local_) {
    std::int32_t v = 0;
    std::memcpy(&v, on_host(value[k])->data(), static_cast<std::size_t>(std::min(dtype.itemsize(), 4)));
    taken[k] = dtype.is_bool() ? v : std::clamp(v, 0, static_cast<std::int32_t>(step.bodies.size()) - 1);
  }
  const std::size_t first = local_[0];
  for (std::size_t k : local_) {
    if (taken[k] == taken[first]) continue;
    // Finds a device that reaches the collective and one that doesn't. In a loop all reach it, but some fewer times.
    std::size_t there = first, missing = k;
    const Step* join = nullptr;
    if (step.kind == Step::Kind::cond) {
      join = step.bodies[static_cast<std::size_t>(taken[first])]->first_collective();
      if (!join && (join = step.bodies[static_cast<std::size_t>(taken[k])]->first_collective())) std::swap(there, missing);
    } else {
      if (taken[first] == 0) std::swap(there, missing);
      for (std::size_t b = step.bodies.size(); b-- > 0 && !join;) join = step.bodies[b]->first_collective();
    }
    if (!join && !has_effects(step.eqn)) continue;
    const auto name = [&](std::size_t at) { return to_string(Device::of_id(device_ids_[at])); };
    std::string waits;
    if (join) {
      const SourceLoc at = join->plan.loc;
      waits = fmt::format("{} over `{}`{} would wait there for {} for ever; ", join->plan.operation, fmt::join(join->plan.axes, "`, `"),
                          at ? fmt::format(" ({}:{})", at.file(), at.line()) : std::string(), name(missing));
    }
    throw DistributedError(fmt::format("{}: the devices disagree on {}: it is {} on {} and {} on {}; {}where {} inside, all "
                                       "must take one path: reduce it over the axis "
                                       "first, with pmax or psum",
                                       step.eqn.op->name, dtype.is_bool() ? "the condition" : "the branch", taken[there], name(there),
                                       taken[missing], name(missing), waits, join ? "collectives are" : "effects such as printing are"),
                           step.eqn.loc);
  }
  return taken;
}

template <class OnPath>
void SpmdBody::choose(const OnPath& on_path, const std::vector<DeviceBuffers>& ran, std::vector<DeviceBuffers>& kept) const {
  for (std::size_t i = 0; i < ran.size(); ++i)
    for (std::size_t k : local_)
      if (on_path(k)) kept[i][k] = ran[i][k];
}

void SpmdBody::run_scan(const Step& step, Slots& slots) const {
  const auto& p = params_as<Scan::Params>(*step.eqn.params);
  const SpmdBody& body = *step.bodies[0];
  const auto num_carry = static_cast<std::size_t>(p.num_carry), fixed = static_cast<std::size_t>(p.num_consts) + num_carry;
  const auto in_avals = body.jaxpr().data().input_avals();
  const std::vector<Aval> out_avals = body.jaxpr().data().output_avals();
  std::vector<DeviceBuffers> in;
  for (int s : step.inputs) in.push_back(value(s, slots));
  std::vector<DeviceBuffers> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(fixed)), ys;
  for (std::size_t i = num_carry; i < out_avals.size(); ++i) {
    ys.emplace_back(num_devices_);
    for (std::size_t k : local_)
      ys.back()[k] = Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(out_avals[i].bytes() * p.length), device_ids_[k]));
  }
  for (std::int64_t t = 0; t < p.length; ++t) {
    const std::int64_t row = p.reverse ? p.length - 1 - t : t;
    args.resize(fixed);
    for (std::size_t i = fixed; i < in.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(in_avals[i].bytes());
      DeviceBuffers x(num_devices_);
      const std::size_t first = local_[0];
      for (std::size_t k : local_) x[k] = k != first && in[i][k] == in[i][first] ? x[first] : row_of(in[i][k], row, bytes);
      args.push_back(std::move(x));
    }
    std::vector<DeviceBuffers> out = body.run(args);
    for (std::size_t i = 0; i < num_carry; ++i) args[fixed - num_carry + i] = std::move(out[i]);
    for (std::size_t i = 0; i < ys.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(out_avals[num_carry + i].bytes());
      if (bytes == 0) continue;
      for (std::size_t k : local_)
        std::memcpy(static_cast<char*>(ys[i][k]->data()) + static_cast<std::size_t>(row) * bytes, on_host(out[num_carry + i][k])->data(),
                    bytes);
    }
  }
  for (std::size_t i = 0; i < num_carry; ++i) set(step.outputs[i], args[fixed - num_carry + i], slots);
  for (std::size_t i = 0; i < ys.size(); ++i) set(step.outputs[num_carry + i], ys[i], slots);
}

void SpmdBody::run_while(const Step& step, Slots& slots) const {
  const auto& p = params_as<While::Params>(*step.eqn.params);
  const auto a = static_cast<std::ptrdiff_t>(p.cond_nconsts), b = static_cast<std::ptrdiff_t>(p.body_nconsts);
  std::vector<DeviceBuffers> in;
  for (int s : step.inputs) in.push_back(value(s, slots));
  std::vector<DeviceBuffers> carry(in.begin() + a + b, in.end());
  const auto with = [&](std::ptrdiff_t from, std::ptrdiff_t count) {
    std::vector<DeviceBuffers> args(in.begin() + from, in.begin() + from + count);
    args.insert(args.end(), carry.begin(), carry.end());
    return args;
  };
  for (;;) {
    const std::vector<std::int32_t> goes_on = paths(step.bodies[0]->run(with(0, a))[0], bool_, step);
    if (std::none_of(local_.begin(), local_.end(), [&](std::size_t k) { return goes_on[k] != 0; })) break;
    choose([&](std::size_t k) { return goes_on[k] != 0; }, step.bodies[1]->run(with(a, b)), carry);
  }
  for (std::size_t i = 0; i < carry.size(); ++i) set(step.outputs[i], carry[i], slots);
}

void SpmdBody::run_cond(const Step& step, Slots& slots) const {
  std::vector<DeviceBuffers> in;
  for (int s : step.inputs) in.push_back(value(s, slots));
  const std::vector<std::int32_t> taken = paths(in[0], int32, step);
  std::vector<DeviceBuffers> out(step.outputs.size(), DeviceBuffers(num_devices_));
  for (std::size_t b = 0; b < step.bodies.size(); ++b) {
    const auto takes_it = [&](std::size_t k) { return taken[k] == static_cast<std::int32_t>(b); };
    if (std::any_of(local_.begin(), local_.end(), takes_it)) choose(takes_it, step.bodies[b]->run(std::span(in).subspan(1)), out);
  }
  for (std::size_t i = 0; i < out.size(); ++i) set(step.outputs[i], out[i], slots);
}

void SpmdBody::check_collective(const Step& s, Slots& slots) const {
  std::vector<Ref<Buffer>> kept;
  const auto tensors = [&](int slot, const Aval& aval) {
    std::vector<HostTensor> list;
    for (std::size_t k : local_) {
      kept.push_back(on_host(at(slots, slot)[k]));
      list.push_back({aval, kept.back()->data()});
    }
    return list;
  };
  check_made_finite(*s.eqn.op, tensors(s.inputs[0], s.plan.in), tensors(s.outputs[0], s.plan.out), s.eqn.loc);
}

int SpmdBody::num_overlapped() const {
  int count = num_flights_;
  for (const Step& s : steps_)
    for (const auto& body : s.bodies) count += body->num_overlapped();
  return count;
}

bool SpmdBody::only_communicates() const {
  return num_flights_ == 0 && std::any_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.kind == Step::Kind::collective; }) &&
         std::all_of(steps_.begin(), steps_.end(), [](const Step& s) {
           return s.kind == Step::Kind::collective || (s.kind == Step::Kind::segment && !s.segment.has_effects);
         });
}

std::vector<DeviceBuffers> SpmdBody::run(std::span<const DeviceBuffers> inputs, bool one_thread) const {
  check_nesting("programs inside programs", nesting_depth(body_));
  Slots slots(static_cast<std::size_t>(num_slots_) * num_devices_);
  for (const auto& [slot, value] : constants_) set(slot, value, slots);
  for (std::size_t i = 0; i < inputs.size(); ++i) set(input_slots_[i], inputs[i], slots);
  std::vector<std::unique_ptr<StartedCollective>> flights(static_cast<std::size_t>(num_flights_));
  for (const Step& s : steps_) {
    switch (s.kind) {
      case Step::Kind::segment: run_segment(s.segment, slots, one_thread); break;
      case Step::Kind::collective:
        s.join->run(at(slots, s.inputs[0]), at(slots, s.outputs[0]));
        if (config.debug_nans) check_collective(s, slots);
        break;
      case Step::Kind::start: flights[static_cast<std::size_t>(s.flight)] = s.join->start(at(slots, s.inputs[0])); break;
      case Step::Kind::wait:
        flights[static_cast<std::size_t>(s.flight)]->wait(at(slots, s.outputs[0]));
        flights[static_cast<std::size_t>(s.flight)].reset();
        if (config.debug_nans) check_collective(s, slots);
        break;
      case Step::Kind::scan: run_scan(s, slots); break;
      case Step::Kind::while_loop: run_while(s, slots); break;
      case Step::Kind::cond: run_cond(s, slots); break;
    }
    for (int dead : s.dies)
      for (std::size_t k : local_) at(slots, dead)[k] = Ref<Buffer>();
  }
  std::vector<DeviceBuffers> out;
  for (int s : output_slots_) out.push_back(value(s, slots));
  return out;
}

std::string SpmdBody::as_text(std::string_view form) const {
  std::string text;
  for (const Step& s : steps_) {
    if (s.kind == Step::Kind::segment) text += s.segment.executable->as_text(form) + "\n";
    // What lies between the kernels; the other forms are code, or schedules that are read again.
    if (form == "kernels" && s.plan.groups) text += to_string(s.plan) + "\n\n";
    for (const auto& body : s.bodies) text += body->as_text(form);
  }
  return text;
}

CostAnalysis SpmdBody::cost_analysis() const {
  CostAnalysis total;
  const auto add = [&](const CostAnalysis& c, double times) {
    total.flops += times * c.flops, total.bytes_accessed += times * c.bytes_accessed;
  };
  for (const Step& s : steps_) {
    if (s.kind == Step::Kind::segment) add(s.segment.executable->cost_analysis(), static_cast<double>(num_devices_));
    for (const auto& body : s.bodies)
      add(body->cost_analysis(), s.kind == Step::Kind::scan ? static_cast<double>(params_as<Scan::Params>(*s.eqn.params).length) : 1);
  }
  return total;
}

MemoryAnalysis SpmdBody::memory_analysis() const {
  MemoryAnalysis total;
  const auto n = static_cast<std::int64_t>(num_devices_);
  std::vector<bool> is_result(static_cast<std::size_t>(num_slots_));
  for (int k : output_slots_) is_result[static_cast<std::size_t>(k)] = true;
  std::vector<std::int64_t> held(static_cast<std::size_t>(num_slots_));  // by slots that are neither inputs nor results
  std::int64_t live = 0;
  const auto holds = [&](int slot, std::int64_t bytes) {
    if (is_result[static_cast<std::size_t>(slot)]) return;
    live += bytes - std::exchange(held[static_cast<std::size_t>(slot)], bytes);
  };
  for (const Step& s : steps_) {
    std::int64_t inside = 0;  // while the step runs
    switch (s.kind) {
      case Step::Kind::segment: {
        const JaxprData& d = s.segment.jaxpr.data();
        for (std::size_t i = 0; i < d.outputs.size(); ++i) holds(s.segment.outputs[i], d.aval(d.outputs[i]).bytes());
        const MemoryAnalysis m = s.segment.executable->memory_analysis();
        inside = m.temp_size_in_bytes;
        total.alias_size_in_bytes += m.alias_size_in_bytes * n;
        break;
      }
      case Step::Kind::collective:
      case Step::Kind::wait: holds(s.outputs[0], s.plan.out.bytes()); break;
      case Step::Kind::start:
        for (const Step& w : steps_)
          if (w.kind == Step::Kind::wait && w.flight == s.flight) holds(w.outputs[0], s.plan.out.bytes());
        break;
      case Step::Kind::scan:
      case Step::Kind::while_loop:
      case Step::Kind::cond:
        for (std::size_t i = 0; i < s.outputs.size(); ++i) holds(s.outputs[i], body_.data().avals[s.eqn.outputs[i]].bytes());
        // One of its programs runs at a time. An iteration of a loop leaves its results beside those of the one before.
        for (const auto& body : s.bodies) {
          std::int64_t results = 0;
          if (s.kind != Step::Kind::cond)
            for (const Aval& a : body->jaxpr().data().output_avals()) results += a.bytes();
          inside = std::max(inside, body->memory_analysis().temp_size_in_bytes / n + results);
        }
        break;
    }
    total.temp_size_in_bytes = std::max(total.temp_size_in_bytes, (live + inside) * n);
    for (int dead : s.dies) holds(dead, 0);
  }
  return total;
}

}  // namespace weft::detail
