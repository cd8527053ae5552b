// The encodings of MLIR's own attributes and types (mlir/IR/BuiltinDialectBytecode.td).
#include <fmt/format.h>

#include "weft/frontends/stablehlo/bytecode/table.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

enum AttributeCode : std::uint64_t {
  kArray,
  kDictionary,
  kString,
  kTypedString,
  kSymbol,
  kNestedSymbol,
  kType,
  kUnit,
  kInteger,
  kFloat,
  kFirstLocation,
  kLastLocation = 15,
  kResourceElements,
  kDenseArray,
  kDenseElements
};

Attribute read_symbol(Table& t, Bytes& b, bool nested) {
  Attribute a = make_attribute(Kind::symbol, b);
  a.text = t.attribute(b).text;
  if (nested)
    for (std::size_t n = b.count("names"); n > 0; --n) a.text += "::" + t.attribute(b).text;
  return a;
}

/// Elements that are in the file's section of resources.
Attribute read_resource_elements(Table& t, Bytes& b) {
  const Place place = b.place();
  const Type& type = t.type(b);
  const Container::Resource& resource = t.resource(b);
  if (resource.data.empty()) b.fail(fmt::format("the elements `{}` are not in the file", resource.key));
  Bytes data = resource.data;
  const std::uint64_t alignment = data.varint(), size = data.varint();
  data.align(alignment);
  return elements_of(type, data.take(size), place);
}

Attribute read_dense_array(Table& t, Bytes& b) {
  Attribute list = make_attribute(Kind::list, b);
  const Type& element = t.type(b);
  const std::uint64_t n = b.varint();
  Bytes data = b.take(b.varint());
  if (element.kind != Type::Kind::tensor || element.narrow) return make_attribute(Kind::opaque, b, element.text);
  const auto itemsize = static_cast<std::size_t>(element.tensor.dtype.itemsize());
  if (n > data.left() || data.left() != n * itemsize)
    data.fail(fmt::format("there are {} bytes for {} of {}", data.left(), n, element.text));
  t.spend(static_cast<std::size_t>(n), b);
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < itemsize; ++k) bits |= static_cast<std::uint64_t>(data.byte()) << (8 * k);
    Attribute item = make_integer(b, static_cast<std::int64_t>(bits));
    const DType dtype = element.tensor.dtype;
    if (dtype.is_floating())
      item.kind = Kind::real, item.real = float_of_bits(bits, dtype);
    else if (dtype.is_bool())
      item.kind = Kind::boolean;
    else if (dtype.is_signed() && itemsize < 8 && bits >> (8 * itemsize - 1))
      item.integer -= std::int64_t{1} << (8 * itemsize);
    list.items.push_back(std::move(item));
  }
  return list;
}

Attribute read_attribute(Table& t, Bytes& b) {
  const std::uint64_t code = b.varint();
  switch (code) {
    case kArray: return read_attribute_list(t, b);
    case kDictionary: return read_dictionary(t, b);
    case kString:
    case kTypedString: return make_attribute(Kind::string, b, t.string(b));
    case kSymbol: return read_symbol(t, b, false);
    case kNestedSymbol: return read_symbol(t, b, true);
    case kType: {
      Attribute a = make_attribute(Kind::type, b);
      a.type = t.copy_type(b);
      return a;
    }
    case kUnit: return make_attribute(Kind::unit, b);
    case kInteger: {
      const Type& type = t.type(b);
      return read_integer_of(type, b, type.text == "index");
    }
    case kFloat: return read_float_of(t.type(b), b);
    case kResourceElements: return read_resource_elements(t, b);
    case kDenseArray: return read_dense_array(t, b);
    case kDenseElements: {
      const Type& type = t.type(b);
      return read_elements_of(type, b);
    }
    default:
      // Locations are followed by the table; elements that are strings or sparse matrices are not supported.
      return make_attribute(Kind::opaque, b, code >= kFirstLocation && code <= kLastLocation ? "loc" : "elements");
  }
}

/// `(width << 2) | sign`, where the sign is none, signed or unsigned. What has no sign counts as signed, and one bit as a bool.
Type integer_type(std::uint64_t width_and_sign) {
  const std::uint64_t width = width_and_sign >> 2, sign = width_and_sign & 3;
  struct Known {
    std::uint64_t width;
    DType as_signed, as_unsigned;
  };
  constexpr Known kKnown[] = {{8, int8, uint8}, {16, int16, uint16}, {32, int32, uint32}, {64, int64, uint64}};
  const std::string text = fmt::format("{}i{}", sign == 1 ? "s" : sign == 2 ? "u" : "", width);
  if (width == 1 && sign == 0) return scalar_type("i1", bool_);
  for (const Known& k : kKnown)
    if (k.width == width) return scalar_type(text.c_str(), sign == 2 ? k.as_unsigned : k.as_signed);
  if (const NarrowFormat* narrow = find_narrow(text)) return narrow_type(*narrow);
  return other_type(text);
}

Type complex_type(const Type& part) {
  const std::string text = fmt::format("complex<{}>", part.text);
  if (part.kind == Type::Kind::tensor && part.tensor.shape.size() == 0) {
    if (part.tensor.dtype == float32) return scalar_type(text.c_str(), complex64);
    if (part.tensor.dtype == float64) return scalar_type(text.c_str(), complex128);
  }
  return other_type(text);
}

enum TypeCode : std::uint64_t {
  kIntegerType,
  kIndexType,
  kFunctionType,
  kBFloat16Type,
  kFloat16Type,
  kFloat32Type,
  kFloat64Type,
  kComplexType = 9,
  kNoneType = 12,
  kTensorType,
  kTensorTypeWithEncoding,
  kTupleType
};

Type read_type(Table& t, Bytes& b) {
  const std::uint64_t code = b.varint();
  switch (code) {
    case kIntegerType: return integer_type(b.varint());
    case kIndexType: return other_type("index");
    case kFunctionType: {
      std::vector<Type> inputs = read_type_list(t, b);
      return function_type(std::move(inputs), read_type_list(t, b));
    }
    case kBFloat16Type: return scalar_type("bf16", bfloat16);
    case kFloat16Type: return scalar_type("f16", float16);
    case kFloat32Type: return scalar_type("f32", float32);
    case kFloat64Type: return scalar_type("f64", float64);
    case kComplexType: return complex_type(t.type(b));
    case kNoneType: return other_type("none");
    case kTensorTypeWithEncoding:
    case kTensorType: {
      if (code == kTensorTypeWithEncoding) t.attribute(b);
      const std::vector<std::int64_t> sizes = read_sizes(b);
      Type type = tensor_type(sizes, t.type(b), b);
      // The encoding may state bounds.
      return code == kTensorTypeWithEncoding && type.kind == Type::Kind::open_tensor ? other_type(std::move(type.text)) : type;
    }
    case kTupleType: return tuple_type(read_type_list(t, b));
    default: return other_type(fmt::format("builtin type {}", code));
  }
}

}  // namespace

const DialectEncoding kBuiltinEncoding{"builtin", read_attribute, read_type};

}  // namespace weft::detail::mlir
