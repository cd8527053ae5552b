// Reading Shardy's attributes (github.com/openxla/shardy, docs/sharding_representation.md) as lists and dictionaries:
//
//     mesh      <["x"=2, "y"=4], device_ids=[...]>                      {names = [...], sizes = [...], device_ids = [...]}
//     sharding  <@mesh, [{"x"}, {"y", ?}], replicated={}, unreduced={}>  {mesh = @mesh, dims = [[...], [..., ?]], replicated = ..., ...}
//     axis      "x", or "x":(2)4 for a part of one                      "x", {name = "x", before = 2, size = 4}
#include <fmt/format.h>

#include "weft/core/base/nesting.h"
#include "weft/frontends/stablehlo/text/reader.h"

namespace weft::detail::mlir {
namespace {

using Kind = Attribute::Kind;

void add(Attribute& to, const char* key, Attribute value) {
  to.keys.emplace_back(key);
  to.items.push_back(std::move(value));
}
Attribute integer(Place place, std::int64_t n) {
  Attribute a(Kind::integer, place);
  a.integer = n, a.real = static_cast<double>(n);
  return a;
}

}  // namespace

Attribute AttributeReader::read_mesh() {
  Attribute mesh(Kind::dictionary, c.place(), "sdy.mesh");
  Attribute names(Kind::list, mesh.place), sizes(Kind::list, mesh.place), devices(Kind::list, mesh.place);
  c.expect("<");
  if (c.take_name("maximal_device_id")) {
    c.expect("=");
    devices.items.push_back(integer(c.place(), c.integer()));
  } else {
    c.expect("[");
    if (!c.take("]")) {
      do {
        const Place place = c.place();
        names.items.emplace_back(Kind::string, place, c.string());
        c.expect("=");
        sizes.items.push_back(integer(place, c.integer()));
        spend(2);
      } while (c.take(","));
      c.expect("]");
    }
    if (c.take(",")) {
      if (!c.take_name("device_ids")) c.fail("`device_ids` is missing");
      c.expect("=");
      devices = read_attribute();
    }
  }
  c.expect(">");
  add(mesh, "names", std::move(names)), add(mesh, "sizes", std::move(sizes)), add(mesh, "device_ids", std::move(devices));
  return mesh;
}

Attribute AttributeReader::read_axis() {
  const Place place = c.place();
  spend(1);
  std::string name = c.string();
  if (!c.looking_at(":")) return {Kind::string, place, std::move(name)};
  c.expect(":"), c.expect("(");
  Attribute part(Kind::dictionary, place);
  add(part, "name", {Kind::string, place, std::move(name)});
  add(part, "before", integer(place, c.integer()));
  c.expect(")");
  add(part, "size", integer(place, c.integer()));
  return part;
}

Attribute AttributeReader::read_axes() {
  Attribute axes(Kind::list, c.place());
  c.expect("{");
  if (c.take("}")) return axes;
  do axes.items.push_back(read_axis());
  while (c.take(","));
  c.expect("}");
  return axes;
}

Attribute AttributeReader::read_dimension() {
  Attribute axes(Kind::list, c.place());
  c.expect("{");
  while (!c.take("}")) {
    if (c.take("?"))
      axes.items.emplace_back(Kind::word, axes.place, "?");
    else
      axes.items.push_back(read_axis());
    if (!c.looking_at("}")) c.expect(",");
  }
  // How soon the propagation goes by it changes nothing about what is stated.
  if (c.next() == 'p') c.name();
  return axes;
}

Attribute AttributeReader::read_sharding() {
  check_nesting("attributes inside attributes");
  Attribute sharding(Kind::dictionary, c.place(), "sdy.sharding");
  c.expect("<");
  if (c.take_name("mesh"))
    add(sharding, "mesh", read_mesh());
  else
    add(sharding, "mesh", {Kind::symbol, sharding.place, c.symbol()});
  c.expect(",");
  Attribute dims(Kind::list, c.place());
  c.expect("[");
  if (!c.take("]")) {
    do dims.items.push_back(read_dimension());
    while (c.take(","));
    c.expect("]");
  }
  add(sharding, "dims", std::move(dims));
  while (c.take(",")) {
    const std::string key(c.name());
    c.expect("=");
    add(sharding, key.c_str(), read_axes());
  }
  c.expect(">");
  return sharding;
}

Attribute AttributeReader::read_shardings() {
  Attribute list(Kind::list, c.place());
  c.expect("[");
  if (c.take("]")) return list;
  do list.items.push_back(read_sharding());
  while (c.take(","));
  c.expect("]");
  return list;
}

bool AttributeReader::at_sharding() {
  const std::size_t here = c.offset();
  c.take("<");
  const bool found = c.looking_at("@") || c.looking_at_name("mesh");
  c.seek(here);
  return found;
}

std::optional<Attribute> AttributeReader::read_shardy_attribute(const std::string& name) {
  if (name == "sdy.mesh") return read_mesh();
  if (name == "sdy.sharding") return read_sharding();
  if (name == "sdy.sharding_per_value") {
    c.expect("<");
    Attribute list = read_shardings();
    c.expect(">");
    return list;
  }
  if (name == "sdy") {
    const std::size_t here = c.offset();
    c.expect("<");
    if (c.take_name("manual_axes")) {
      Attribute axes = read_axes();
      c.expect(">");
      return axes;
    }
    c.seek(here);
  }
  return {};
}

}  // namespace weft::detail::mlir
