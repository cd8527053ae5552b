#include "tools/written.h"

#include "weft/core/ops/random/random.h"
#include "weft/core/trace/trace.h"
#include "weft/frontends/stablehlo/stablehlo.h"
#include "weft/frontends/stablehlo/write.h"

namespace weft::tools {

std::vector<Array> as_words(const std::vector<Array>& arrays) {
  std::vector<Array> out;
  for (const Array& x : arrays) out.push_back(x.dtype().is_key() ? detail::random_unwrap(x, {}) : x);
  return out;
}

Jaxpr written_and_read(const Jaxpr& program) {
  const Jaxpr read = parse_stablehlo(to_stablehlo(program));
  read.check();
  const auto inputs = program.data().input_avals();
  return detail::trace_jaxpr({"written_and_read", {inputs.begin(), inputs.end()}, {}}, [&](std::span<const Array> args) {
    std::vector<Array> out = detail::eval_jaxpr(read, as_words({args.begin(), args.end()}));
    const std::vector<detail::Aval> types = program.data().output_avals();
    for (std::size_t i = 0; i < out.size(); ++i)
      if (types.at(i).dtype.is_key()) out[i] = detail::random_wrap(out[i], {});
    return out;
  });
}

}  // namespace weft::tools
