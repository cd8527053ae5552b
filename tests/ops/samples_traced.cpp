// Samples of what no text holds, as it refers to C++ functions, and of what runs on several devices.
#include <weft/transforms.h>
#include <weft/weft.h>

#include "samples.h"

namespace weft::test {

using namespace detail;

namespace {

// Two devices are enough for every collective, and there must be that many before the first use.
const bool kDevicesSet = (config.num_cpu_devices = 8, true);

Array sample_of(const Shape& shape, DType dtype) { return zeros(shape, dtype); }
template <class F>
Jaxpr traced(F f, DType dtype, const Shape& shape = {2, 3}) {
  return make_jaxpr(f)(sample_of(shape, dtype));
}
/// Two, or one where the default platform has no more: a machine with one GPU.
int sample_devices() { return devices().size() < 2 ? 1 : 2; }
/// f of the rows of a matrix, or of an array with one more dimension, each on a device.
template <class F>
Jaxpr on_devices(F f, DType dtype, bool split = false) {
  const int n = sample_devices();
  return traced(pmap(f, {.axis_name = "i"}), dtype, split ? Shape{n, n, 3} : Shape{n, 3});
}
/// f of the rows of a matrix, two on each device, of which the last one only fills the last device's block.
template <class F>
Jaxpr on_rows(F f, DType dtype) {
  const auto rows = 2 * static_cast<std::int64_t>(devices().size()) - 1;
  return traced(pmap(f, {.axis_name = "i", .chunk = true}), dtype, {rows, 2});
}

Array cube(const Array& x) { return x * x * x; }

SampleText sample(std::string_view op, unsigned dtypes, Jaxpr (*trace)(DType), bool smooth = true) {
  return {op, dtypes, "", 0, 2, smooth, 1, trace};
}

}  // namespace

std::vector<SampleText> traced_samples() {
  return {
      {"bitcast_convert_parts", kInteger | kFloating, "", 0, 2, false, 0,
       [](DType t) { return traced([=](Array v) { return bitcast_convert(v, t.itemsize() == 1 ? int16 : uint8); }, t, {3, 2}); }},
      sample("custom_jvp_call", kNumber,
             [](DType t) {
               auto rule = [](std::tuple<Array> x, std::tuple<Array> dx) {
                 const Array v = std::get<0>(x);
                 return std::pair{cube(v), 3 * v * v * std::get<0>(dx)};
               };
               return traced(custom_jvp([](Array v) { return cube(v); }, rule), t);
             }),
      sample(
          "custom_vjp_call", kNumber,
          [](DType t) {
            auto forward = [](Array v) { return std::pair{cube(v), v}; };
            auto backward = [](Array v, Array ct) { return std::tuple{3 * v * v * ct}; };
            return traced(custom_vjp([](Array v) { return cube(v); }, forward, backward), t);
          },
          false),
      sample("custom_partitioning", kNumber,
             [](DType t) {
               auto rule = [](const PartitioningQuery& q) { return Partitioning{q.arg_specs, q.arg_specs}; };
               auto on_blocks = [](const BlockContext&, Array v) { return cube(v); };
               return traced(custom_partitioning([](Array v) { return cube(v); }, rule, on_blocks), t);
             }),
      sample("custom_vmap_call", kNumber,
             [](DType t) {
               auto rule = [](std::int64_t, const std::vector<bool>&, Array v) { return std::pair{cube(v), true}; };
               return traced(custom_vmap([](Array v) { return cube(v); }, rule), t);
             }),
      sample("custom_lin", kInexact,
             [](DType t) {
               auto forward = [](Array v) { return std::pair{cube(v), v}; };
               auto backward = [](Array v, Array ct) { return std::tuple{3 * v * v * ct}; };
               auto f = custom_vjp([](Array v) { return cube(v); }, forward, backward);
               return traced([=](Array v) { return std::get<0>(vjp(f, v).second(v * v)); }, t);
             }),
      sample(
          "pure_callback", kNumber,
          [](DType t) {
            auto f = [](Array v) {
              auto twice = [](Array a) { return a + a; };
              return pure_callback(twice, ShapeDtypeStruct{v.shape(), v.dtype()}, {.vmap_method = "sequential"}, v);
            };
            return traced(f, t);
          },
          false),
      sample(
          "io_callback", kNumber,
          [](DType t) {
            auto f = [](Array v) {
              auto twice = [](Array a) { return a + a; };
              return io_callback(twice, ShapeDtypeStruct{v.shape(), v.dtype()}, v);
            };
            return traced(f, t);
          },
          false),
      sample("debug_callback", kNumber,
             [](DType t) {
               return traced(
                   [](Array v) {
                     debug::callback([](Array) {}, v);
                     return v * v;
                   },
                   t);
             }),
      sample("all_gather", kAny, [](DType t) { return on_devices([](Array v) { return all_gather(v, "i"); }, t); }),
      sample("all_to_all", kAny, [](DType t) { return on_devices([](Array v) { return all_to_all(v, "i", 0, 1); }, t, true); }),
      sample("axis_index", kNumber, [](DType t) { return on_devices([](Array v) { return v + convert(axis_index("i"), v.dtype()); }, t); }),
      sample("pbroadcast", kAny, [](DType t) { return on_devices([](Array v) { return pbroadcast(v, "i", sample_devices() - 1); }, t); }),
      sample("pmax", kReal, [](DType t) { return on_devices([](Array v) { return pmax(v, "i"); }, t); }),
      sample("pmin", kReal, [](DType t) { return on_devices([](Array v) { return pmin(v, "i"); }, t); }),
      sample("ppermute", kAny,
             [](DType t) { return on_devices([](Array v) { return ppermute(v, "i", {{0, sample_devices() - 1}}); }, t); }),
      sample("map_rows", kNumber, [](DType t) { return on_rows([](Array v) { return v * psum(v, "i"); }, t); }),
      sample("psum", kNumber, [](DType t) { return on_devices([](Array v) { return v * psum(v, "i"); }, t); }),
      sample("reduce_scatter", kNumber, [](DType t) { return on_devices([](Array v) { return psum_scatter(v * v, "i"); }, t, true); }),
      sample("shard_map", kNumber, [](DType t) { return on_devices([](Array v) { return v * v; }, t); }),
      sample("shard_map", kAny, [](DType t) { return on_devices([](Array v) { return flip(v); }, t); }),
  };
}

}  // namespace weft::test
