// The encodings of Shardy's attributes (openxla/shardy, shardy/dialect/sdy/ir/bytecode.td), in the forms that text/sharding.cpp gives them.
#include <fmt/format.h>

#include "weft/frontends/stablehlo/bytecode/table.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

enum Code : std::uint64_t {
  kManualAxes,
  kMeshAxis,
  kMesh,
  kSubAxis,
  kAxis,
  kDimension,
  kSharding,
  kShardings,
  kShardingWithSums = 15,
  kShardingsWithSums,
  kShardingWithReductions
};

Attribute read_mesh(Table& t, Bytes& b) {
  Attribute mesh = make_attribute(Kind::dictionary, b, "sdy.mesh");
  Attribute names = make_attribute(Kind::list, b), sizes = names;
  for (std::size_t n = b.count("axes"); n > 0; --n) {
    const Attribute& axis = t.attribute(b);
    t.spend(2, b);
    if (const Attribute *name = axis.find("name"), *size = axis.find("size"); name && size)
      names.items.push_back(*name), sizes.items.push_back(*size);
  }
  add_entry(mesh, "names", std::move(names)), add_entry(mesh, "sizes", std::move(sizes)),
      add_entry(mesh, "device_ids", read_integer_list(b));
  return mesh;
}

Attribute read_axis(Table& t, Bytes& b) {
  Attribute name = make_attribute(Kind::string, b, t.string(b));
  const Attribute* const part_of = t.optional_attribute(b);
  if (!part_of) return name;
  Attribute part = make_attribute(Kind::dictionary, b);
  add_entry(part, "name", std::move(name));
  for (const char* key : {"before", "size"})
    if (const Attribute* n = part_of->find(key)) add_entry(part, key, *n);
  return part;
}

Attribute read_dimension(Table& t, Bytes& b) {
  Attribute axes = read_attribute_list(t, b);
  if (b.byte() == 0) axes.items.push_back(make_attribute(Kind::word, b, "?"));
  return axes;
}

Attribute read_sharding(Table& t, Bytes& b, bool has_sums) {
  Attribute sharding = make_attribute(Kind::dictionary, b, "sdy.sharding");
  add_entry(sharding, "mesh", t.copy(b));
  add_entry(sharding, "dims", read_attribute_list(t, b));
  add_entry(sharding, "replicated", read_attribute_list(t, b));
  if (has_sums) add_entry(sharding, "unreduced", read_attribute_list(t, b));
  return sharding;
}

Attribute read_attribute(Table& t, Bytes& b) {
  const std::uint64_t code = b.varint();
  switch (code) {
    case kManualAxes:
    case kShardings:
    case kShardingsWithSums: return read_attribute_list(t, b);
    case kMeshAxis: {
      Attribute a = make_attribute(Kind::dictionary, b);
      add_entry(a, "name", make_attribute(Kind::string, b, t.string(b)));
      add_entry(a, "size", make_integer(b, b.signed_varint()));
      return a;
    }
    case kMesh: return read_mesh(t, b);
    case kSubAxis: return read_sub_axis(b);
    case kAxis: return read_axis(t, b);
    case kDimension: return read_dimension(t, b);
    case kSharding: return read_sharding(t, b, false);
    case kShardingWithSums:
    case kShardingWithReductions: return read_sharding(t, b, true);
    default: return make_attribute(Kind::opaque, b, "sdy");  // of passes, which no importer asks for
  }
}

}  // namespace

const DialectEncoding kShardyEncoding{"sdy", read_attribute, nullptr};

}  // namespace weft::detail::mlir
