#include "tools/transformed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tools/programs.h"
#include "tools/stablehlo.h"
#include "weft/core/array/array_ranges.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/format.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/io/io.h"
#include "weft/frontends/stablehlo/write.h"
#include "weft/library/random/random.h"
#include "weft/library/view/view.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"
#include "weft/transforms/autodiff/grad.h"
#include "weft/transforms/jaxpr_api.h"
#include "weft/transforms/jit/jit.h"

namespace weft::tools {
namespace {

using Arrays = std::vector<Array>;
using Clock = std::chrono::steady_clock;

std::string stem_of(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

Jaxpr read_program(const Arguments& line) { return load_program(line.words[0], line.get("constants", line.get("inputs"))); }

/// The program as a function of its inputs.
auto function_of(const Jaxpr& program) {
  return [program](const Arrays& inputs) { return detail::eval_jaxpr(program, inputs); };
}

void print_program(const Jaxpr& program) { fmt::print("{}\n", program); }

/// Written as StableHLO with --output, which holds the constants that the printed text only names.
void give_program(const Arguments& line, const Jaxpr& program) {
  if (!line.has("output")) return print_program(program);
  save_stablehlo(line.get("output"), program, {.name = stem_of(line.words[0]), .locations = true});
}

std::string backend_of(const Arguments& line) { return line.get("backend", "cpu"); }

/// Numbers that no program fails with: normal ones, and indices 0.
Array made_input(const ShapeDtypeStruct& type, std::uint64_t seed) {
  if (type.dtype.is_key()) return reshape(random::split(random::key(seed), {type.shape.num_elements()}), type.shape);
  if (!type.dtype.is_inexact()) return zeros(type.shape, type.dtype);
  return convert(random::normal(random::key(seed), type.shape), type.dtype);
}

std::string amount(double v, std::string_view unit) {
  int k = 0;
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  while (v >= 1000 && k < 5) v /= 1000, ++k;
  return fmt::format("{:.3g} {}{}", v, kPrefixes[k], unit);
}
std::string duration(double seconds) {
  return seconds < 1e-6   ? fmt::format("{:.3g} ns", seconds * 1e9)
         : seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6)
         : seconds < 1    ? fmt::format("{:.3g} ms", seconds * 1e3)
                          : fmt::format("{:.3g} s", seconds);
}

}  // namespace

int run_command(const Arguments& line) {
  const std::string path = line.words[0], in_path = line.get("inputs");
  const Jaxpr program = read_program(line);
  if (in_path.empty() && !program.in_avals().empty()) throw UsageError("run: --inputs FILE.npz is required, as the program has inputs");
  const Arrays results = run_on(backend_of(line), path, program, in_path.empty() ? Arrays() : numbered(load_npz(in_path), "in"));
  if (!line.has("outputs")) {
    for (std::size_t k = 0; k < results.size(); ++k) fmt::print("out{} =\n{}\n", k, results[k]);
    return 0;
  }
  std::map<std::string, Array> named;
  for (std::size_t k = 0; k < results.size(); ++k) named.emplace(fmt::format("out{}", k), results[k]);
  save_npz(line.get("outputs"), named);
  return 0;
}

int show_command(const Arguments& line) {
  print_program(read_program(line));
  return 0;
}

int export_command(const Arguments& line) {
  const Jaxpr program = read_program(line);
  const StablehloTextOptions options{.name = stem_of(line.words[0]), .locations = true};
  if (line.has("output"))
    save_stablehlo(line.get("output"), program, options);
  else
    fmt::print("{}", to_stablehlo(program, options));
  return 0;
}

int grad_command(const Arguments& line) {
  const Jaxpr program = read_program(line);
  const std::vector<ShapeDtypeStruct> types = program.in_avals();
  std::vector<int> wrt;
  if (const auto given = line.integers("wrt")) {
    wrt = *given;
    for (const int i : wrt)
      if (i < 0 || static_cast<std::size_t>(i) >= types.size() || std::count(wrt.begin(), wrt.end(), i) > 1)
        throw UsageError(fmt::format("grad: --wrt names input {}{}", i,
                                     i < 0 || static_cast<std::size_t>(i) >= types.size()
                                         ? fmt::format(", but the program has {}", weft::detail::counted(types.size(), "input"))
                                         : std::string(" twice")));
  } else {
    for (std::size_t i = 0; i < types.size(); ++i)
      if (types[i].dtype.is_inexact()) wrt.push_back(static_cast<int>(i));
  }
  const Jaxpr gradient = make_jaxpr([&](const Arrays& inputs) {
    const auto loss = [&](const Arrays& varied) {
      Arrays all = inputs;
      for (std::size_t k = 0; k < wrt.size(); ++k) all[static_cast<std::size_t>(wrt[k])] = varied[k];
      const Arrays results = detail::eval_jaxpr(program, all);
      if (results.size() != 1)
        throw Error(fmt::format("grad: the program has {} results, but must have one, which is a number", results.size()));
      return results[0];
    };
    Arrays varied;
    for (const int i : wrt) varied.push_back(inputs[static_cast<std::size_t>(i)]);
    return grad(loss)(varied);
  })(types);
  give_program(line, gradient);
  return 0;
}

int vmap_command(const Arguments& line) {
  const Jaxpr program = read_program(line);
  give_program(line, batch_jaxpr(program, {.axis_size = line.integer("size", 1, 1, 1 << 30)}));
  return 0;
}

int jit_command(const Arguments& line) {
  const Jaxpr program = read_program(line);
  const auto lowered = jit(function_of(program), {.name = stem_of(line.words[0])}).lower(program.in_avals());
  const std::string text = lowered.as_text(line.get("form", "jaxpr"));
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
  return 0;
}

int bench_command(const Arguments& line) {
  const double seconds = line.number("seconds", 1, 0, 1e6);
  const Jaxpr program = read_program(line);
  const std::vector<ShapeDtypeStruct> types = program.in_avals();
  Arrays inputs;
  if (line.has("inputs"))
    inputs = numbered(load_npz(line.get("inputs")), "in");
  else
    for (std::size_t i = 0; i < types.size(); ++i) inputs.push_back(made_input(types[i], i));
  check_inputs(line.words[0], program, inputs);
  const std::string platform = backend_of(line);
  const Device device = devices(platform == "interp" ? "cpu" : platform)[0];
  inputs = device_put(inputs, device);
  for (const Array& x : inputs) x.block_until_ready();
  const auto time_of = [](auto&& call) {
    const auto start = Clock::now();
    call();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  detail::Ref<detail::Executable> code;
  const double compiling = time_of([&] { code = detail::backend(platform).compile(program, {.name = stem_of(line.words[0])}); });
  const auto call = [&] {
    for (const Array& x : code->call(inputs, device.id())) x.block_until_ready();
  };
  const double first = time_of(call);
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  do times.push_back(time_of(call));
  while (Clock::now() < end && times.size() < 10'000'000);
  // Code gets better while it runs: the last half counts.
  times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  fmt::print("compiled in {}, first call {}\n", duration(compiling), duration(first));
  fmt::print("median {}, minimum {} of the last {} calls\n", duration(median), duration(times[0]), times.size());
  const CostAnalysis cost = code->cost_analysis();
  if (cost.flops > 0 || cost.bytes_accessed > 0)
    fmt::print("{} ({}), {} ({})\n", amount(cost.flops, "FLOP"), amount(cost.flops / median, "FLOP/s"), amount(cost.bytes_accessed, "B"),
               amount(cost.bytes_accessed / median, "B/s"));
  return 0;
}

int compile_command(const Arguments& line) {
  const Jaxpr program = read_program(line);
  const std::string name = line.get("output", stem_of(line.words[0]));
  ExportOptions options;
  if (line.has("targets")) {
    options.targets.clear();
    const std::string names = line.get("targets");
    for (std::size_t from = 0; from <= names.size();) {
      const std::size_t to = std::min(names.find(',', from), names.size());
      options.targets.push_back(names.substr(from, to - from));
      from = to + 1;
    }
  }
  options.gradient = line.has("grad");
  for (std::size_t i = 0; i < program.in_avals().size(); ++i) options.input_names.push_back(fmt::format("in{}", i));
  for (std::size_t i = 0; i < program.out_avals().size(); ++i) options.output_names.push_back(fmt::format("out{}", i));
  export_object(jit(function_of(program), {.name = stem_of(name)}).lower(program.in_avals()).compile(), name, options);
  fmt::print("wrote {0}.o and {0}.h\n", name);
  return 0;
}

int view_command(const Arguments& line) {
  const Jaxpr program = read_program(line);
  const std::string name = stem_of(line.words[0]), output = line.get("output", name + ".html");
  Arrays inputs;
  if (line.has("inputs")) {
    inputs = numbered(load_npz(line.get("inputs")), "in");
    check_inputs(line.words[0], program, inputs);
  } else {
    const std::vector<ShapeDtypeStruct> types = program.in_avals();
    for (std::size_t i = 0; i < types.size(); ++i) inputs.push_back(made_input(types[i], i));
  }
  save_html(output, to_html(function_of(program), {.title = name, .measured = !line.has("unmeasured")})(inputs));
  fmt::print("{}\n", output);
  return 0;
}

}  // namespace weft::tools
