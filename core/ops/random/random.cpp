#include "weft/core/ops/random/random.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/base/counted.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/random/random_expand.h"
#include "weft/core/ops/random/random_params.h"
#include "weft/core/ops/random/threefry.h"
#include "weft/core/ops/registry.h"
#include "weft/core/trace/key_reuse.h"

namespace weft::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "weft: the two words of a key are told apart by their place in memory");

void check_count(const OpContext& c, std::size_t count) {
  if (c.in.size() != count) c.fail<Error>(fmt::format("takes {}, not {}", counted(count, "operand"), c.in.size()));
}
void check_keys(const OpContext& c, std::size_t count) {
  check_count(c, count);
  if (!c.in[0].dtype.is_key()) c.fail<DTypeError>(fmt::format("{} is not a key", to_string(c.in[0])), "make one with random::key(seed)");
}
void check_generator(const OpContext& c) {
  if (c.get<GeneratorParams>().impl != "fry")
    c.fail<Error>(fmt::format("unknown generator '{}'", c.get<GeneratorParams>().impl), "the only one is fry (threefry2x32)");
}
Shape joined(const Shape& first, const Shape& second) {
  Shape s = first;
  for (std::int64_t n : second) s.push_back(n);
  return s;
}
void check_shape(const OpContext& c, const Shape& shape) {
  for (std::int64_t n : shape)
    if (n < 0) c.fail<ShapeError>(fmt::format("shape {} has a negative size", to_string(shape)));
}
/// The batching rule of a primitive whose result begins with the operand's dimensions: the mapped axis stays where it is.
BatchResult batch_in_place(const BatchContext& c) { return {bind_primitive(c.op, c.params, c.in, c.loc), {c.dims[0]}}; }

struct RandomSeed {
  static constexpr std::string_view name = "random_seed", doc = "A key of each integer.";
  static constexpr Kind kind = Kind::random;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = GeneratorParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    check_generator(c);
    if (!c.in[0].dtype.is_integer()) c.fail<DTypeError>(fmt::format("a seed is an integer, not {}", c.in[0].dtype.name()));
    return {c.in[0].shape, key_dtype, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_in_place(c); }
  static void reference(const ReferenceContext& c) {
    with_storage(c.in[0].aval.dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        for (std::int64_t i = 0; i < c.in[0].aval.size(); ++i) {
          const T seed = c.in[0].as<T>()[i];
          // A negative seed of less than 64 bits gives its 32 bits, with zeros above.
          const auto low = static_cast<std::uint32_t>(seed);
          const auto high = sizeof(T) == 8 ? static_cast<std::uint32_t>(static_cast<std::uint64_t>(seed) >> 32) : 0u;
          c.out[0].as<Words>()[i] = {high, low};
        }
    });
  }
};

struct RandomWrap {
  static constexpr std::string_view name = "random_wrap", doc = "Keys from their two words, which are along the last dimension.";
  static constexpr Kind kind = Kind::random;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = GeneratorParams;
  static Aval abstract_eval(const OpContext& c) {
    check_count(c, 1);
    check_generator(c);
    if (c.in[0].dtype != uint32) c.fail<DTypeError>(fmt::format("the words of a key are uint32, not {}", c.in[0].dtype.name()));
    if (c.in[0].ndim() == 0 || c.in[0].shape.back() != 2)
      c.fail<ShapeError>("a key is made of two words", "the last dimension must have size 2");
    return {c.in[0].shape.erased(c.in[0].ndim() - 1), key_dtype, false};
  }
  static BatchResult batch(const BatchContext& c) {
    return {bind_all<RandomWrap>(c.get<Params>(), std::array{move_batch_dim(c.in[0], c.dims[0], 0, c.loc)}, c.loc), {0}};
  }
  static void reference(const ReferenceContext& c) {
    for (std::int64_t i = 0; i < c.out[0].aval.size(); ++i)
      c.out[0].as<Words>()[i] = {c.in[0].as<std::uint32_t>()[2 * i], c.in[0].as<std::uint32_t>()[2 * i + 1]};
  }
};

struct RandomUnwrap {
  static constexpr std::string_view name = "random_unwrap", doc = "The two words of each key, along a new last dimension.";
  static constexpr Kind kind = Kind::random;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = NoParams;
  static Aval abstract_eval(const OpContext& c) {
    check_keys(c, 1);
    return {c.in[0].shape.inserted(c.in[0].ndim(), 2), uint32, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_in_place(c); }
  static void reference(const ReferenceContext& c) {
    for (std::int64_t i = 0; i < c.in[0].aval.size(); ++i) {
      const Words key = c.in[0].as<Words>()[i];
      c.out[0].as<std::uint32_t>()[2 * i] = key.a, c.out[0].as<std::uint32_t>()[2 * i + 1] = key.b;
    }
  }
};

struct RandomSplit {
  static constexpr std::string_view name = "random_split", doc = "New keys of each key.";
  static constexpr Kind kind = Kind::random;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = SplitKeyParams;
  static Aval abstract_eval(const OpContext& c) {
    check_keys(c, 1);
    check_shape(c, c.get<Params>().shape);
    return {joined(c.in[0].shape, c.get<Params>().shape), key_dtype, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_in_place(c); }
  static void reference(const ReferenceContext& c) {
    Words* out = c.out[0].as<Words>();
    const std::int64_t n = c.get<Params>().shape.num_elements();
    for (std::int64_t k = 0; k < c.in[0].aval.size(); ++k)
      for (std::int64_t i = 0; i < n; ++i) *out++ = threefry_block(c.in[0].as<Words>()[k], static_cast<std::uint64_t>(i));
  }
};

struct RandomFoldIn {
  static constexpr std::string_view name = "random_fold_in", doc = "A new key of each key and uint32.";
  static constexpr Kind kind = Kind::random;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = NoParams;
  static Aval abstract_eval(const OpContext& c) {
    check_keys(c, 2);
    if (c.in[1].dtype != uint32) c.fail<DTypeError>(fmt::format("the data is {}", c.in[1].dtype.name()), "it must be uint32");
    return {broadcast_shapes(c), key_dtype, false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_elementwise(c); }
  static void reference(const ReferenceContext& c) {
    for_each_element<2>(c.out[0].aval.shape, {&c.in[0].aval.shape, &c.in[1].aval.shape}, [&](std::int64_t i, const auto& at) {
      c.out[0].as<Words>()[i] = threefry_block(c.in[0].as<Words>()[at[0]], c.in[1].as<std::uint32_t>()[at[1]]);
    });
  }
};

DType bits_dtype(int bit_width) { return bit_width == 8 ? uint8 : bit_width == 16 ? uint16 : bit_width == 32 ? uint32 : uint64; }

struct RandomBits {
  static constexpr std::string_view name = "random_bits", doc = "Uniformly distributed unsigned integers.";
  static constexpr Kind kind = Kind::random;
  static constexpr bool zero_tangent = true, not_linear = true;
  using Params = BitsParams;
  static Aval abstract_eval(const OpContext& c) {
    check_keys(c, 1);
    const Params& p = c.get<Params>();
    check_shape(c, p.shape);
    if (p.bit_width != 8 && p.bit_width != 16 && p.bit_width != 32 && p.bit_width != 64)
      c.fail<DTypeError>(fmt::format("there are no integers of {} bits", p.bit_width), "integers have 8, 16, 32 or 64 bits");
    return {joined(c.in[0].shape, p.shape), bits_dtype(p.bit_width), false};
  }
  static BatchResult batch(const BatchContext& c) { return batch_in_place(c); }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    const std::int64_t n = p.shape.num_elements();
    with_storage(c.out[0].aval.dtype, [&]<class T>() {
      if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
        T* out = c.out[0].as<T>();
        for (std::int64_t k = 0; k < c.in[0].aval.size(); ++k) {
          const Words key = c.in[0].as<Words>()[k];
          for (std::int64_t i = 0; i < n; ++i)
            *out++ = static_cast<T>(bits_of_block(threefry_block(key, static_cast<std::uint64_t>(i)), 8 * static_cast<int>(sizeof(T))));
        }
      }
    });
  }
};

const Rule<RandomExpansionTransform, RandomSeed> seed_expansion(expand_seed);
const Rule<RandomExpansionTransform, RandomWrap> wrap_expansion(expand_wrap);
const Rule<RandomExpansionTransform, RandomUnwrap> unwrap_expansion(expand_unwrap);
const Rule<RandomExpansionTransform, RandomFoldIn> fold_in_expansion(expand_fold_in);
const Rule<RandomExpansionTransform, RandomSplit> split_expansion(expand_split);
const Rule<RandomExpansionTransform, RandomBits> bits_expansion(expand_bits);

// These read a key without using it up: its words, and keys derived from it, are independent of what is drawn with it.
const KeyUseRule<RandomUnwrap> unwrap_uses([](const ParamsBase&, KeyUses&) {});
const KeyUseRule<RandomFoldIn> fold_in_uses([](const ParamsBase&, KeyUses&) {});

// The words of a key are along the last dimension.
const PartitionRule<RandomWrap> wrap_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size() - 1); });

}  // namespace

Array random_seed(const Array& seeds, SourceLoc loc) { return bind_one<RandomSeed>({}, {seeds}, loc); }
Array random_wrap(const Array& words, SourceLoc loc) { return bind_one<RandomWrap>({}, {words}, loc); }
Array random_unwrap(const Array& keys, SourceLoc loc) { return bind_one<RandomUnwrap>({}, {keys}, loc); }
Array random_split(const Array& keys, const Shape& shape, SourceLoc loc) { return bind_one<RandomSplit>({shape}, {keys}, loc); }
Array random_fold_in(const Array& keys, const Array& data, SourceLoc loc) { return bind_one<RandomFoldIn>({}, {keys, data}, loc); }
Array random_bits(const Array& keys, int bit_width, const Shape& shape, SourceLoc loc) {
  return bind_one<RandomBits>({bit_width, shape}, {keys}, loc);
}

PrimitiveList random_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<RandomBits>,  &primitive_of<RandomFoldIn>, &primitive_of<RandomSeed>,
                                              &primitive_of<RandomSplit>, &primitive_of<RandomUnwrap>, &primitive_of<RandomWrap>};
  return list;
}

}  // namespace weft::detail
