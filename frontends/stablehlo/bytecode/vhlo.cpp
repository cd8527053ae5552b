// The encodings of VHLO's attributes and types (openxla/stablehlo, stablehlo/dialect/VhloBytecode.cpp): the versioned form of StableHLO in
// which portable artifacts are written. A code means the same in every version.
#include <fmt/format.h>

#include <array>

#include "weft/frontends/stablehlo/bytecode/enumerators.h"
#include "weft/frontends/stablehlo/bytecode/table.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

Attribute read_alias(Bytes& b) {
  Attribute a = make_attribute(Kind::dictionary, b);
  add_entry(a, "output_tuple_indices", read_integer_list(b));
  add_entry(a, "operand_index", make_integer(b, b.signed_varint()));
  add_entry(a, "operand_tuple_indices", read_integer_list(b));
  return a;
}

/// An axis of a mesh, or a part of one, as text/sharding.cpp has them.
Attribute read_axis(Table& t, Bytes& b) {
  Attribute name = t.copy(b);
  if (b.varint() == 0) return name;
  Attribute part = make_attribute(Kind::dictionary, b);
  const Attribute& info = t.attribute(b);
  add_entry(part, "name", std::move(name));
  for (const char* key : {"before", "size"})
    if (const Attribute* n = info.find(key)) add_entry(part, key, *n);
  return part;
}

Attribute read_mesh(Table& t, Bytes& b) {
  Attribute mesh = make_attribute(Kind::dictionary, b, "mesh");
  Attribute names = make_attribute(Kind::list, b), sizes = names, devices = names;
  const Attribute& axes = t.attribute(b);
  t.spend(2 * axes.items.size(), b);
  for (const Attribute& axis : axes.items)
    if (const Attribute *name = axis.find("name"), *size = axis.find("size"); name && size)
      names.items.push_back(*name), sizes.items.push_back(*size);
  if (b.varint() != 0) devices = t.copy(b);
  add_entry(mesh, "names", std::move(names)), add_entry(mesh, "sizes", std::move(sizes)), add_entry(mesh, "device_ids", std::move(devices));
  return mesh;
}

enum AttributeCode : std::uint64_t {
  kArray = 1,
  kBoolean,
  kComparisonDirection,
  kComparisonType,
  kApiVersion,
  kDictionary,
  kFftType,
  kFloat,
  kInteger,
  kOutputOperandAlias,
  kPrecision,
  kRngAlgorithm,
  kRngDistribution,
  kString,
  kTensor,
  kTranspose,
  kType,
  kTypeExtensions,
  kAccuracyMode,
  kAccuracy,
  kSubAxis,
  kAxis,
  kReplicaGroupMeshAxes,
  kMeshAxis,
  kMesh
};

Attribute read_attribute(Table& t, Bytes& b) {
  const Place place = b.place();
  const std::uint64_t code = b.varint();
  switch (code) {
    case kArray: return read_attribute_list(t, b);
    case kBoolean: {
      Attribute a = make_attribute(Kind::boolean, b);
      a.integer = b.varint() != 0;
      return a;
    }
    case kComparisonDirection: return read_enumerator(b, kComparisonDirections);
    case kComparisonType: return read_enumerator(b, kComparisonTypes);
    case kApiVersion: return read_enumerator(b, kApiVersions);
    case kDictionary: return read_dictionary(t, b);
    case kFftType: return read_enumerator(b, kFftTypes);
    case kFloat: return read_float_of(t.type(b), b);
    case kInteger: {
      const Type& type = t.type(b);
      return read_integer_of(type, b, type.text == "index");
    }
    case kOutputOperandAlias: return read_alias(b);
    case kPrecision: return read_enumerator(b, kPrecisions);
    case kRngAlgorithm: return read_enumerator(b, kRngAlgorithms);
    case kRngDistribution: return read_enumerator(b, kRngDistributions);
    case kString: return make_attribute(Kind::string, b, t.string(b));
    case kTensor: return read_elements_of(t.type(b), b);
    case kTranspose: return read_enumerator(b, kTransposes);
    case kType: {
      Attribute a = make_attribute(Kind::type, b);
      a.type = t.copy_type(b);
      return a;
    }
    case kTypeExtensions: return read_integer_list(b);
    case kAccuracyMode: return read_enumerator(b, kAccuracyModes);
    case kAccuracy: return make_attribute(Kind::opaque, b, "result_accuracy");
    case kSubAxis: return read_sub_axis(b);
    case kAxis: return read_axis(t, b);
    case kReplicaGroupMeshAxes: {
      Attribute a = make_attribute(Kind::dictionary, b);
      add_entry(a, "mesh", t.copy(b));
      add_entry(a, "axes", t.copy(b));
      return a;
    }
    case kMeshAxis: {
      Attribute a = make_attribute(Kind::dictionary, b);
      add_entry(a, "name", t.copy(b));
      add_entry(a, "size", make_integer(b, b.signed_varint()));
      return a;
    }
    case kMesh: return read_mesh(t, b);
    default: fail_at(b.origin(), place, fmt::format("VHLO has no attribute of code {}", code));
  }
}

/// Types that are only a code.
struct PlainType {
  std::uint64_t code;
  const char* name;
  DType dtype;
  bool is_known;  ///< whether weft has arrays of it
};
constexpr PlainType known(std::uint64_t code, const char* name, DType dtype) { return {code, name, dtype, true}; }
constexpr PlainType unknown(std::uint64_t code, const char* name) { return {code, name, bool_, false}; }
constexpr std::array kPlain{known(0, "i1", bool_),         known(2, "bf16", bfloat16), known(3, "f16", float16),
                            known(4, "f32", float32),      known(5, "f64", float64),   unknown(6, "f8E4M3FN"),
                            unknown(7, "f8E5M2"),          unknown(9, "index"),        unknown(10, "i4"),
                            known(11, "i8", int8),         known(12, "i16", int16),    known(13, "i32", int32),
                            known(14, "i64", int64),       unknown(15, "ui4"),         known(16, "ui8", uint8),
                            known(17, "ui16", uint16),     known(18, "ui32", uint32),  known(19, "ui64", uint64),
                            unknown(26, "!shape.witness"), unknown(27, "f8E4M3FNUZ"),  unknown(28, "f8E5M2FNUZ"),
                            unknown(29, "f8E4M3B11FNUZ"),  unknown(31, "i2"),          unknown(32, "ui2"),
                            unknown(33, "none"),           unknown(34, "tf32"),        unknown(35, "f8E4M3"),
                            unknown(36, "f8E3M4"),         unknown(37, "f4E2M1FN"),    unknown(38, "f6E2M3FN"),
                            unknown(39, "f6E3M2FN"),       unknown(40, "f8E8M0FNU")};

enum TypeCode : std::uint64_t {
  kComplexType = 1,
  kFunctionType = 8,
  kTensorType = 20,
  kTensorTypeWithEncoding,
  kTokenType,
  kTupleType,
  kQuantizedType,
  kUnrankedType,
  kQuantizedPerAxisType = 30,
  kBufferType = 41,
  kFutureType
};

Type read_type(Table& t, Bytes& b) {
  const Place place = b.place();
  const std::uint64_t code = b.varint();
  for (const PlainType& p : kPlain)
    if (p.code == code) {
      const NarrowFormat* narrow = find_narrow(p.name);
      return p.is_known ? scalar_type(p.name, p.dtype) : narrow ? narrow_type(*narrow) : other_type(p.name);
    }
  switch (code) {
    case kComplexType: {
      const Type& part = t.type(b);
      const std::string text = fmt::format("complex<{}>", part.text);
      if (part.text == "f32") return scalar_type(text.c_str(), complex64);
      if (part.text == "f64") return scalar_type(text.c_str(), complex128);
      return other_type(text);
    }
    case kFunctionType: {
      std::vector<Type> inputs = read_type_list(t, b);
      return function_type(std::move(inputs), read_type_list(t, b));
    }
    case kTensorTypeWithEncoding: t.attribute(b); [[fallthrough]];
    case kTensorType: {
      const std::vector<std::int64_t> sizes = read_sizes(b);
      return tensor_type(sizes, t.type(b), b);
    }
    case kTokenType: return {Type::Kind::token, "!stablehlo.token"};
    case kTupleType: return tuple_type(read_type_list(t, b));
    case kQuantizedType:
    case kQuantizedPerAxisType: {
      b.varint();
      const std::string storage = t.type(b).text;
      return other_type(fmt::format("!quant.uniform<{}:{}>", storage, t.type(b).text));
    }
    case kUnrankedType: return other_type(fmt::format("tensor<*x{}>", t.type(b).text));
    case kBufferType: return other_type("memref");
    case kFutureType: return future_type(read_type_list(t, b));
    default: fail_at(b.origin(), place, fmt::format("VHLO has no type of code {}", code));
  }
}

}  // namespace

const DialectEncoding kVhloEncoding{"vhlo", read_attribute, read_type};

}  // namespace weft::detail::mlir
