// Functions of the host's program, of Python, that compiled programs call: the custom call `weft.host_callback`. Its backend_config holds
// the function's number, and a mark of the process that counts it, so that a program that was kept as bytes calls no other function
// elsewhere. Who loads the plugin says by weft_pjrt_set_host_caller how a function is called.
#include "weft/frontends/pjrt/callbacks.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ops/control/callback.h"
#include "weft/frontends/pjrt/status.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/module/narrow.h"
#include "weft/runtime/host/buffer.h"

namespace weft::pjrt {
namespace {

/// Calls a function with the addresses of its operands' elements, and of memory for its results'. 0: it is done; else `problem`, which
/// holds `size` bytes, is a text that ends in 0.
using HostCaller = int (*)(std::int64_t function, const void* const* operands, void* const* results, char* problem, std::size_t size);

struct Caller {
  std::atomic<HostCaller> call{nullptr};
  std::atomic<std::int64_t> process{0};
};
Caller& caller() {
  static Caller c;
  return c;
}

class HostFunction final : public detail::CallbackFunction {
 public:
  HostFunction(std::int64_t number, std::vector<detail::Aval> results) : number_(number), results_(std::move(results)) {}

  std::vector<Array> call(std::span<const Array> leaves) const override {
    std::vector<detail::Ref<detail::Buffer>> kept;
    std::vector<const void*> operands;
    for (const Array& x : leaves) {
      kept.emplace_back(new detail::HostBuffer(static_cast<std::size_t>(x.aval().bytes()), 0));
      detail::read_elements(x, x.dtype(), kept.back()->data(), "callback", {});
      operands.push_back(kept.back()->data());
    }
    std::vector<Array> out;
    std::vector<void*> results;
    for (const detail::Aval& a : results_) {
      detail::Ref<detail::Buffer> memory(new detail::HostBuffer(static_cast<std::size_t>(a.bytes()), 0));
      results.push_back(memory->data());
      out.emplace_back(detail::Ref<detail::ArrayImpl>(new detail::ConcreteArray(a, std::move(memory))));
    }
    call_host(number_, operands.data(), results.data());
    return out;
  }

 private:
  const std::int64_t number_;
  const std::vector<detail::Aval> results_;
};

std::int64_t integer_of(const detail::mlir::OpCall& c, const char* name) {
  const detail::mlir::Attribute& config = c.need("mhlo.backend_config", "backend_config");
  const detail::mlir::Attribute* a = config.find(name);
  if (!a || a->kind != detail::mlir::Attribute::Kind::integer) c.fail(fmt::format("its backend_config lacks {}", name));
  return a->integer;
}

// A token as the first operand and the first result says that calls keep their order; it is passed through.
const detail::mlir::Import host_callback_import("custom_call.weft.host_callback", [](detail::mlir::OpCall& c) -> detail::mlir::Values {
  using detail::mlir::Type;
  const std::int64_t number = host_function_of(c);
  const bool ordered = !c.op.result_types.empty() && c.op.result_types[0].kind == Type::Kind::token;
  if (ordered && (c.num_operands() == 0 || c.in(0).aval() != detail::Aval{{0}, bool_})) c.fail("it returns a token but takes none");
  const std::size_t first = ordered ? 1 : 0;
  // Elements that weft has no dtype of are passed as their bits.
  detail::mlir::Arrays in = c.ins(first, c.num_operands());
  for (std::size_t i = 0; i < in.size(); ++i)
    if (const detail::mlir::NarrowFormat* narrow = c.value(first + i).narrow) in[i] = to_bits(*narrow, in[i]);
  detail::TypeList types;
  for (std::size_t i = first; i < c.op.result_types.size(); ++i) {
    types.avals.push_back(detail::mlir::aval_of(c.op.result_types[i], c.importer(), c.op.place));
    if (c.op.result_types[i].narrow) types.avals.back().dtype = uint8;
  }
  const detail::CallbackParam function{"host", detail::make_ref<HostFunction>(number, types.avals)};
  std::vector<Array> results = c.flag("has_side_effect") ? detail::bind_io_callback({function, {}, ordered, types}, in, c.loc)
                                                         : detail::bind_pure_callback({function, {}, types}, in, c.loc);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const detail::mlir::NarrowFormat* narrow = c.op.result_types[first + i].narrow) results[i] = from_bits(*narrow, results[i]);
  detail::mlir::Values out;
  if (ordered) out.push_back(c.value(0));
  out.insert(out.end(), results.begin(), results.end());
  return out;
});

}  // namespace

std::int64_t host_function_of(const detail::mlir::OpCall& c) {
  if (!caller().call) c.fail("no caller of host functions was set (weft_pjrt_set_host_caller)");
  if (integer_of(c, "process") != caller().process) c.fail("the program calls a host function of another process");
  return integer_of(c, "function");
}

void call_host(std::int64_t function, const void* const* operands, void* const* results) {
  std::array<char, 8192> problem{};
  const HostCaller call = caller().call;
  detail::calling_user([&] {
    if (call(function, operands, results, problem.data(), problem.size()) != 0)
      throw Failure(Code::internal, fmt::format("weft: a callback failed: {}", problem.data()));
  });
}

}  // namespace weft::pjrt

/// Says how programs call functions of the host, and the mark of this process that their calls bear.
extern "C" __attribute__((visibility("default"))) void weft_pjrt_set_host_caller(weft::pjrt::HostCaller call, std::int64_t process) {
  weft::pjrt::caller().process = process;
  weft::pjrt::caller().call = call;
}
