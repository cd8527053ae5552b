// Running a compiled program on buffers.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/host.h"
#include "weft/core/trace/trace.h"
#include "weft/frontends/pjrt/compiled.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/sharded/donation.h"

namespace weft::pjrt {

using detail::Ref;

void Compiled::check_arguments(std::span<Device* const> on, Buffer* const* const* given, std::size_t num_args) const {
  if (num_args != arguments.size()) invalid(fmt::format("{}: it takes {} arguments, {} are given", name, arguments.size(), num_args));
  for (std::size_t d = 0; d < on.size(); ++d)
    for (std::size_t i = 0; i < num_args; ++i) {
      const Buffer& b = *given[d][i];
      const Port& p = arguments[i];
      if (b.type != p.type || b.dims != p.dims)
        invalid(fmt::format("{}: argument {} is {}[{}], it was compiled for {}[{}]", name, i, name_of(b.type), fmt::join(b.dims, ","),
                            name_of(p.type), fmt::join(p.dims, ",")));
      if (b.device != on[d])
        invalid(fmt::format("{}: argument {} is on device {}, but the program runs on device {}", name, i, b.device->description.text,
                            on[d]->description.text));
    }
}

namespace {

/// A copy of the elements that nobody else has.
Ref<detail::Buffer> copied(const Ref<detail::Buffer>& from) {
  const int id = from->device_id();
  if (detail::is_accelerator(id)) return detail::accelerators().copy(from, id);
  Ref<detail::Buffer> out(new detail::HostBuffer(from->bytes(), id));
  if (from->bytes() > 0) std::memcpy(out->data(), from->data(), from->bytes());
  return out;
}

/// What a program may write to: the elements of the array, or a copy where others have them, too.
Ref<detail::Buffer> taken(Array x) {
  Ref<detail::Buffer> elements = detail::as_concrete(x)->buffer;
  x = Array();
  return detail::why_not_taken({&elements, 1})[0] ? copied(elements) : elements;
}

/// Whether elements are within memory of others.
bool lies_in(const Ref<detail::Buffer>& elements, const std::vector<Ref<detail::Buffer>>& others) {
  const auto* const begin = static_cast<const char*>(elements->data());
  return elements->bytes() > 0 && std::any_of(others.begin(), others.end(), [&](const Ref<detail::Buffer>& o) {
           const auto* const start = static_cast<const char*>(o->data());
           return begin >= start && begin < start + o->bytes();
         });
}

}  // namespace

Array Compiled::argument(std::size_t i, std::span<Device* const> on, Buffer* const* const* given, bool donated) const {
  const Port& p = arguments[i];
  const auto elements = [&](std::size_t d) {
    Buffer& b = *given[d][i];
    if (!p.is_donated) return b.elements();
    // The program was compiled to write to it.
    return donated ? taken(b.take()) : copied(b.elements());
  };
  if (num_partitions == 1) {
    if (!p.is_donated) return given[0][i]->array();
    return Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(p.whole, elements(0))));
  }
  std::vector<Ref<detail::Buffer>> shards;
  for (std::size_t k = 0; k < on.size(); ++k) {
    const std::size_t d = p.partition_of[k];
    Ref<detail::Buffer> block = elements(d);
    if (const int id = run_on_[d].id(); block->device_id() != id) block = detail::moved(block, id);
    shards.push_back(std::move(block));
  }
  Array whole(Ref<detail::ArrayImpl>(new detail::ConcreteArray(p.whole, std::move(shards), p.placement)));
  // A program that could not be divided runs on the first device.
  if (!executable_->takes_placed()) return detail::wrap_buffer(p.whole, detail::whole_of(whole, run_on_[0].id()));
  return whole;
}

void Compiled::give_results(std::vector<Array>& values, std::span<Device* const> on, const std::vector<Ref<detail::Buffer>>& kept,
                            Buffer** const* outputs) const {
  std::vector<std::unique_ptr<Buffer>> made(values.size() * on.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Port& p = results[i];
    const auto give = [&](std::size_t d, Ref<detail::Buffer> elements) {
      // A result is memory of its own: an argument's may be NumPy's, which the user writes to.
      if (lies_in(elements, kept)) elements = copied(elements);
      Memory* memory = on[d]->memories[0];
      for (Memory* m : on[d]->memories)
        if (m->kind == p.memory_kind) memory = m;
      auto b = std::make_unique<Buffer>(on[d], memory, p.type, p.dims);
      b->set(Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(aval_of(p.type, p.dims), std::move(elements)))));
      made[i * on.size() + d] = std::move(b);
    };
    if (num_partitions == 1) {
      give(0, detail::whole_of(values[i], on[0]->device.id()));
      continue;
    }
    const Array placed = detail::shard_array(values[i], *p.sharding);
    const detail::ConcreteArray& c = *detail::as_concrete(placed);
    for (std::size_t k = 0; k < on.size(); ++k) {
      const std::size_t d = p.partition_of[k];
      give(d, detail::moved(c.shards[k], on[d]->device.id()));
    }
  }
  for (std::size_t d = 0; d < on.size(); ++d)
    for (std::size_t i = 0; i < values.size(); ++i) outputs[d][i] = made[i * on.size() + d].release();
}

void Compiled::execute(std::span<Device* const> on, Buffer* const* const* given, std::size_t num_args, Buffer** const* outputs,
                       const std::vector<std::int64_t>& not_donated) const {
  check_arguments(on, given, num_args);
  std::vector<bool> donated(num_args);
  for (std::size_t i = 0; i < num_args; ++i)
    donated[i] =
        arguments[i].is_donated && std::find(not_donated.begin(), not_donated.end(), static_cast<std::int64_t>(i)) == not_donated.end();
  for (std::size_t d = 0; d < on.size(); ++d)
    for (std::size_t i = 0; i < num_args; ++i) {
      if (!donated[i]) continue;
      if (given[d][i]->external_references > 0) invalid(fmt::format("{}: argument {} is donated while others hold its memory", name, i));
      for (std::size_t k = 0; k < num_args; ++k)
        if (k != i && given[d][k] == given[d][i])
          invalid(fmt::format("{}: Attempt to donate the same buffer twice: arguments {} and {}", name, std::min(i, k), std::max(i, k)));
    }
  // Before anything is taken: who has failed or is deleted is an error that leaves the others as they are.
  for (std::size_t d = 0; d < on.size(); ++d)
    for (std::size_t i = 0; i < num_args; ++i) given[d][i]->array();
  detail::EagerScope eager;
  std::vector<Array> values;
  values.reserve(num_args);
  for (std::size_t i = 0; i < num_args; ++i) values.push_back(argument(i, on, given, donated[i]));
  std::vector<Array> out = executable_->call(values, num_partitions == 1 ? on[0]->device.id() : run_on_[0].id());
  std::vector<Ref<detail::Buffer>> kept;
  for (std::size_t i = 0; i < num_args; ++i) {
    const detail::ConcreteArray& c = *detail::as_concrete(values[i]);
    if (arguments[i].is_donated) continue;
    if (c.shards.empty())
      kept.push_back(c.buffer);
    else
      kept.insert(kept.end(), c.shards.begin(), c.shards.end());
  }
  give_results(out, on, kept, outputs);
}

}  // namespace weft::pjrt
