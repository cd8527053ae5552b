#include "weft/core/ops/control/control_run.h"

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/control/control.h"

namespace weft::detail {
namespace {

// The elements in one piece of host memory; `storage` keeps them if they had to be gathered.
const std::byte* bytes_of(const Array& x, std::vector<std::byte>& storage) {
  if (const LiteralArray* literal = as_literal(x)) return literal->bits.data();
  const ConcreteArray& c = *as_concrete(x);
  host().wait(c);
  if (c.buffer && c.buffer->on_host()) return static_cast<const std::byte*>(c.buffer->data());
  storage.resize(static_cast<std::size_t>(c.aval.bytes()));
  host().read(c, storage.data(), {});
  return storage.data();
}

std::vector<Array> run_cond(const Cond::Params& p, std::span<const Array> in, const ProgramRunner& run) {
  std::vector<std::byte> storage;
  std::int32_t index;
  std::memcpy(&index, bytes_of(in[0], storage), sizeof index);
  index = std::clamp(index, 0, static_cast<std::int32_t>(p.branches.size()) - 1);
  return run(p.branches[static_cast<std::size_t>(index)], in.subspan(1));
}

std::vector<Array> run_while(const While::Params& p, std::span<const Array> in, const ProgramRunner& run) {
  const std::size_t a = static_cast<std::size_t>(p.cond_nconsts), b = static_cast<std::size_t>(p.body_nconsts);
  std::vector<Array> for_cond(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(a));
  std::vector<Array> for_body(in.begin() + static_cast<std::ptrdiff_t>(a), in.begin() + static_cast<std::ptrdiff_t>(a + b));
  std::vector<Array> carry(in.begin() + static_cast<std::ptrdiff_t>(a + b), in.end());
  std::vector<std::byte> storage;
  for (;;) {
    for_cond.resize(a);
    for_cond.insert(for_cond.end(), carry.begin(), carry.end());
    const Array go_on = run(p.cond_jaxpr, for_cond)[0];
    if (*bytes_of(go_on, storage) == std::byte{0}) return carry;
    for_cond.resize(a);
    for_body.resize(b);
    for_body.insert(for_body.end(), std::make_move_iterator(carry.begin()), std::make_move_iterator(carry.end()));
    carry = run(p.body_jaxpr, for_body);
  }
}

std::vector<Array> run_scan(const Scan::Params& p, std::span<const Array> in, const ProgramRunner& run) {
  const std::size_t consts = static_cast<std::size_t>(p.num_consts), carry = static_cast<std::size_t>(p.num_carry), fixed = consts + carry;
  const auto body_in = p.jaxpr.data().input_avals();
  const std::vector<Aval> body_out = p.jaxpr.data().output_avals();
  std::vector<std::vector<std::byte>> storage(in.size());
  std::vector<const std::byte*> xs;
  for (std::size_t i = fixed; i < in.size(); ++i) xs.push_back(bytes_of(in[i], storage[i]));
  std::vector<Ref<Buffer>> ys;
  std::vector<Array> out;
  for (std::size_t i = carry; i < body_out.size(); ++i) {
    const Aval all = body_out[i].with_shape(body_out[i].shape.inserted(0, p.length));
    ys.push_back(host().allocate(static_cast<std::size_t>(all.bytes())));
    out.push_back(Array(Ref<ArrayImpl>(new ConcreteArray(all, ys.back()))));
  }
  std::vector<Array> args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(fixed));
  std::vector<std::byte> gathered;
  for (std::int64_t step = 0; step < p.length; ++step) {
    const std::int64_t i = p.reverse ? p.length - 1 - step : step;
    args.resize(fixed);
    for (std::size_t k = 0; k < xs.size(); ++k) args.push_back(make_concrete(body_in[fixed + k], xs[k] + i * body_in[fixed + k].bytes()));
    std::vector<Array> results = run(p.jaxpr, args);
    for (std::size_t k = 0; k < carry; ++k) args[consts + k] = std::move(results[k]);
    for (std::size_t k = 0; k < ys.size(); ++k) {
      const std::size_t bytes = static_cast<std::size_t>(body_out[carry + k].bytes());
      if (bytes > 0)
        std::memcpy(static_cast<std::byte*>(ys[k]->data()) + i * static_cast<std::int64_t>(bytes), bytes_of(results[carry + k], gathered),
                    bytes);
    }
  }
  out.insert(out.begin(), std::make_move_iterator(args.begin() + static_cast<std::ptrdiff_t>(consts)),
             std::make_move_iterator(args.begin() + static_cast<std::ptrdiff_t>(fixed)));
  return out;
}

}  // namespace

std::vector<Array> run_control(const Primitive& op, const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run) {
  if (&op == &primitive_of<Cond>) return run_cond(params_as<Cond::Params>(params), in, run);
  if (&op == &primitive_of<While>) return run_while(params_as<While::Params>(params), in, run);
  if (&op == &primitive_of<Scan>) return run_scan(params_as<Scan::Params>(params), in, run);
  throw Error(std::string(op.name) + ": no control flow that can be executed");
}

}  // namespace weft::detail
