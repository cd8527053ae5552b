// Running a compiled program on buffers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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
      if (b.order != p.order)
        invalid(fmt::format("{}: argument {} lies in memory in the order {}, it was compiled for {}", name, i,
                            layout_text(b.order, b.dims.size()), layout_text(p.order, p.dims.size())));
      if (b.device != on[d])
        invalid(fmt::format("{}: argument {} is on device {}, but the program runs on device {}", name, i, b.device->description.text,
                            on[d]->description.text));
    }
}

namespace {

// Waking a thread for a shorter program costs more than the caller gains by not waiting.
constexpr std::chrono::nanoseconds kWorthQueueing = std::chrono::microseconds(200);
constexpr int kTimed = 4;

/// A private copy of the elements.
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
bool is_in(const Ref<detail::Buffer>& elements, const std::vector<Ref<detail::Buffer>>& others) {
  const auto* const begin = static_cast<const char*>(elements->data());
  return elements->bytes() > 0 && std::any_of(others.begin(), others.end(), [&](const Ref<detail::Buffer>& o) {
           const auto* const start = static_cast<const char*>(o->data());
           return begin >= start && begin < start + o->bytes();
         });
}

}  // namespace

Array Compiled::argument(std::size_t i, std::span<Content> parts, bool donated) const {
  const Port& p = arguments[i];
  const auto elements = [&](std::size_t d) {
    Array x = parts[d].take();
    if (!p.is_donated) return detail::as_concrete(x)->buffer;
    // The program was compiled to write to it.
    return donated ? taken(std::move(x)) : copied(detail::as_concrete(x)->buffer);
  };
  if (num_devices == 1) {
    if (!p.is_donated) return parts[0].take();
    return Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(p.whole, elements(0))));
  }
  std::vector<Ref<detail::Buffer>> shards;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t d = p.partition_of[k];
    Ref<detail::Buffer> block = elements(d);
    if (const int id = run_on_[d].id(); block->device_id() != id) block = detail::moved(block, id);
    shards.push_back(std::move(block));
  }
  Array whole(Ref<detail::ArrayImpl>(new detail::ConcreteArray(p.whole, std::move(shards), p.placement)));
  // A program that could not be partitioned runs on the first device.
  if (!executable_->takes_placed()) return detail::wrap_buffer(p.whole, detail::whole_of(whole, run_on_[0].id()));
  return whole;
}

std::vector<Array> Compiled::run(std::span<Device* const> on, std::vector<Content> contents, const std::vector<bool>& donated) const {
  detail::EagerScope eager;
  std::vector<Array> values;
  values.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    values.push_back(argument(i, std::span(contents).subspan(i * on.size(), on.size()), donated[i]));
  const auto call = [&] { return executable_->call(values, num_devices == 1 ? on[0]->device.id() : run_on_[0].id()); };
  std::vector<Array> given;
  // The time of a program is known after some calls, unless the length of its loops depends on values.
  if (has_open_loops_ || num_timed_ < kTimed) {
    const auto start = std::chrono::steady_clock::now();
    given = call();
    last_run_ = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    ++num_timed_;
  } else {
    given = call();
  }

  // A result is memory of its own: an argument's may be NumPy's, which the user writes to.
  std::vector<Ref<detail::Buffer>> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const detail::ConcreteArray& c = *detail::as_concrete(values[i]);
    if (arguments[i].is_donated) continue;
    if (c.shards.empty())
      kept.push_back(c.buffer);
    else
      kept.insert(kept.end(), c.shards.begin(), c.shards.end());
  }
  std::vector<Array> out(given.size() * on.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Port& p = results[i];
    const auto give = [&](std::size_t d, Ref<detail::Buffer> elements) {
      if (is_in(elements, kept)) elements = copied(elements);
      out[i * on.size() + d] =
          Array(Ref<detail::ArrayImpl>(new detail::ConcreteArray(aval_of(p.type, in_order(p.dims, p.order)), std::move(elements))));
    };
    if (num_devices == 1) {
      give(0, detail::whole_of(given[i], on[0]->device.id()));
      continue;
    }
    const Array placed = detail::shard_array(given[i], *p.sharding);
    const detail::ConcreteArray& c = *detail::as_concrete(placed);
    for (std::size_t k = 0; k < on.size(); ++k) {
      const std::size_t d = p.partition_of[k];
      give(d, detail::moved(c.shards[k], on[d]->device.id()));
    }
  }
  return out;
}

std::unique_ptr<Buffer> Compiled::new_result(std::size_t i, Device& device) const {
  const Port& p = results[i];
  Memory* memory = device.default_memory();
  for (Memory* m : device.memories)
    if (m->kind == p.memory_kind) memory = m;
  return std::make_unique<Buffer>(&device, memory, p.type, p.dims, p.order);
}

void Compiled::check_donated(std::span<Device* const> on, Buffer* const* const* given, const std::vector<bool>& donated) const {
  for (std::size_t d = 0; d < on.size(); ++d)
    for (std::size_t i = 0; i < donated.size(); ++i) {
      if (!donated[i]) continue;
      for (std::size_t k = 0; k < donated.size(); ++k)
        if (k != i && given[d][k] == given[d][i])
          invalid(fmt::format("{}: Attempt to donate the same buffer twice: arguments {} and {}", name, std::min(i, k), std::max(i, k)));
    }
}

std::shared_ptr<Progress> Compiled::execute(std::span<Device* const> on, Buffer* const* const* given, std::size_t num_args,
                                            Buffer** const* outputs, const std::vector<std::int64_t>& not_donated, Queue& queue) const {
  check_arguments(on, given, num_args);
  std::vector<bool> donated(num_args);
  for (std::size_t i = 0; i < num_args; ++i)
    donated[i] =
        arguments[i].is_donated && std::find(not_donated.begin(), not_donated.end(), static_cast<std::int64_t>(i)) == not_donated.end();
  check_donated(on, given, donated);
  std::vector<Content> contents;
  contents.reserve(num_args * on.size());
  bool is_waiting = false;
  for (std::size_t i = 0; i < num_args; ++i)
    for (std::size_t d = 0; d < on.size(); ++d) {
      contents.push_back(given[d][i]->content());
      is_waiting |= contents.back().promise != nullptr;
    }
  // Only when all arguments are known to be good: an error of one leaves the others as they are.
  for (std::size_t i = 0; i < num_args; ++i)
    for (std::size_t d = 0; d < on.size(); ++d)
      if (donated[i]) given[d][i]->remove();

  const std::size_t num_made = results.size() * on.size();
  std::vector<std::unique_ptr<Buffer>> made(num_made);
  for (std::size_t k = 0; k < num_made; ++k) made[k] = new_result(k / on.size(), *on[k % on.size()]);
  std::shared_ptr<Progress> done;
  if (calls_back_ || (!is_waiting && last_run_ < kWorthQueueing.count())) {
    std::vector<Array> out = run(on, std::move(contents), donated);
    for (std::size_t k = 0; k < num_made; ++k) made[k]->set(std::move(out[k]));
  } else {
    done = std::make_shared<Progress>();
    std::vector<std::shared_ptr<Promise>> promised(num_made);
    for (std::size_t k = 0; k < num_made; ++k) {
      promised[k] = std::make_shared<Promise>(done);
      made[k]->set_promised(promised[k]);
    }
    queue.add([self = shared_from_this(), devices = std::vector<Device*>(on.begin(), on.end()), contents = std::move(contents), donated,
               promised = std::move(promised), done]() mutable {
      done->finish(error_of([&] {
        std::vector<Array> out = self->run(devices, std::move(contents), donated);
        for (std::size_t k = 0; k < out.size(); ++k) promised[k]->value = std::move(out[k]);
        promised.clear();  // the buffers are then the only owners of the results, which donation may write to
      }));
    });
  }
  for (std::size_t k = 0; k < num_made; ++k) outputs[k % on.size()][k / on.size()] = made[k].release();
  return done;
}

}  // namespace weft::pjrt
