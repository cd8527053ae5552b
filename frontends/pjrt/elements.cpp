// Types of elements, layouts, and copies of elements that are at strides.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/core/base/sizes.h"
#include "weft/frontends/pjrt/objects.h"

namespace weft::pjrt {
namespace {

struct ElementKind {
  const char* name;
  int bytes;
  int dtype;  ///< the id of weft's, or that of the unsigned integers as which weft keeps such elements
  bool known;
};
// In the order of ElementType.
constexpr ElementKind kKinds[] = {{"invalid", 0, 0, false},
                                  {"bool", 1, 0, true},
                                  {"int8", 1, 1, true},
                                  {"int16", 2, 2, true},
                                  {"int32", 4, 3, true},
                                  {"int64", 8, 4, true},
                                  {"uint8", 1, 5, true},
                                  {"uint16", 2, 6, true},
                                  {"uint32", 4, 7, true},
                                  {"uint64", 8, 8, true},
                                  {"float16", 2, 9, true},
                                  {"float32", 4, 11, true},
                                  {"float64", 8, 12, true},
                                  {"bfloat16", 2, 10, true},
                                  {"complex64", 8, 13, true},
                                  {"complex128", 16, 14, true},
                                  {"float8_e5m2", 1, 5, false},
                                  {"float8_e4m3fn", 1, 5, false},
                                  {"float8_e4m3b11fnuz", 1, 5, false},
                                  {"float8_e5m2fnuz", 1, 5, false},
                                  {"float8_e4m3fnuz", 1, 5, false},
                                  {"int4", 1, 5, false},
                                  {"uint4", 1, 5, false},
                                  {"token", 0, 0, false},
                                  {"int2", 1, 5, false},
                                  {"uint2", 1, 5, false},
                                  {"float8_e4m3", 1, 5, false},
                                  {"float8_e3m4", 1, 5, false},
                                  {"float8_e8m0fnu", 1, 5, false},
                                  {"float4_e2m1fn", 1, 5, false}};

const ElementKind& kind_of(ElementType type) {
  const auto i = static_cast<std::size_t>(type);
  if (i >= std::size(kKinds) || kKinds[i].bytes == 0) not_supported(fmt::format("a buffer of the element type {}", i));
  return kKinds[i];
}

}  // namespace

std::int64_t size_of(ElementType type) { return kind_of(type).bytes; }
std::string name_of(ElementType type) { return kind_of(type).name; }
std::optional<DType> dtype_of(ElementType type) {
  const ElementKind& k = kind_of(type);
  return k.known ? std::optional(DType(k.dtype)) : std::nullopt;
}
ElementType element_type_of(DType dtype) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (kKinds[i].known && kKinds[i].dtype == dtype.id()) return static_cast<ElementType>(i);
  not_supported(fmt::format("a buffer of {}", dtype.name()));
}
ElementType element_type_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (kKinds[i].bytes > 0 && kKinds[i].name == name) return static_cast<ElementType>(i);
  not_supported(fmt::format("a buffer of {}", name));
}

detail::Aval aval_of(ElementType type, const std::vector<std::int64_t>& dims) { return {Shape(dims), DType(kind_of(type).dtype)}; }

std::vector<std::int64_t> checked_dims(const std::int64_t* dims, std::size_t num_dims, ElementType type) {
  std::vector<std::int64_t> out(dims, dims + num_dims);
  const auto size = static_cast<int>(size_of(type));
  if (std::any_of(out.begin(), out.end(), [](std::int64_t d) { return d < 0; }) || !detail::checked_bytes(out, size))
    invalid(fmt::format("an array of the shape [{}] is not possible", fmt::join(out, ", ")));
  return out;
}

std::pair<Device*, Memory*> place_of(Device* device, Memory* memory) {
  if (memory) return {memory->device, memory};
  if (!device) invalid("neither a device nor a memory is given");
  return {device, device->default_memory()};
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& dims, std::int64_t itemsize) {
  std::vector<std::int64_t> out(dims.size());
  std::int64_t step = itemsize;
  for (std::size_t i = dims.size(); i-- > 0;) out[i] = step, step *= std::max<std::int64_t>(dims[i], 1);
  return out;
}

std::vector<std::int64_t> strides_of(const Layout* layout, const std::vector<std::int64_t>& dims, std::int64_t itemsize) {
  if (!layout) return row_major_strides(dims, itemsize);
  if (layout->type == Layout::Type::strides) {
    if (layout->strides.num_byte_strides != dims.size())
      invalid(fmt::format("a layout of {} strides for {} dimensions", layout->strides.num_byte_strides, dims.size()));
    return {layout->strides.byte_strides, layout->strides.byte_strides + dims.size()};
  }
  if (layout->tiled.num_tiles != 0) not_supported("a layout in tiles");
  if (layout->tiled.minor_to_major_size != dims.size())
    invalid(fmt::format("a layout of {} dimensions for {}", layout->tiled.minor_to_major_size, dims.size()));
  std::vector<std::int64_t> out(dims.size());
  std::vector<bool> seen(dims.size());
  std::int64_t step = itemsize;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t d = layout->tiled.minor_to_major[i];
    if (d < 0 || static_cast<std::size_t>(d) >= dims.size() || seen[static_cast<std::size_t>(d)])
      invalid("the order of dimensions of a layout is no permutation");
    const auto k = static_cast<std::size_t>(d);
    seen[k] = true;
    out[k] = step, step *= std::max<std::int64_t>(dims[k], 1);
  }
  return out;
}

namespace {

/// The order of dimensions that are given from the innermost; that of rows is empty.
Order from_minor_to_major(std::vector<std::int64_t> list, std::size_t num_dims) {
  Order out(list.rbegin(), list.rend()), sorted = out;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != num_dims || sorted[i] != static_cast<int>(i))
      invalid(fmt::format("the layout {{{}}} is no order of {} dimensions", fmt::join(list, ","), num_dims));
  if (out.size() != num_dims) invalid(fmt::format("a layout of {} dimensions for {}", out.size(), num_dims));
  return out == sorted ? Order{} : out;
}

void add_tile(Order& order, std::vector<std::int64_t> tile) {
  if (tile.empty() || std::any_of(tile.begin(), tile.end(), [](std::int64_t d) { return d < 1; }))
    not_supported(fmt::format("a layout with the tile ({}); its sizes must be positive numbers", fmt::join(tile, ",")));
  order.tiles.push_back(std::move(tile));
}

/// The tiles at the beginning of the text behind a layout's colon: T(8,128)(2,1).
void add_tiles(Order& order, std::string_view text) {
  if (text.substr(0, 1) != "T") return;
  text.remove_prefix(1);
  while (text.substr(0, 1) == "(") {
    const std::size_t end = text.find(')');
    if (end == std::string_view::npos) invalid("a layout has a tile that is never closed");
    std::vector<std::int64_t> tile;
    std::int64_t number = 0;
    for (const char c : text.substr(1, end - 1)) {
      if (c == ',') {
        tile.push_back(std::exchange(number, 0));
      } else if (c >= '0' && c <= '9' && number < (std::int64_t{1} << 40)) {
        number = number * 10 + (c - '0');
      } else {
        not_supported(fmt::format("a layout with the tile {}", text.substr(0, end + 1)));
      }
    }
    tile.push_back(number);
    add_tile(order, std::move(tile));
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Order order_of(const Layout* layout, std::size_t num_dims) {
  if (!layout) return {};
  if (layout->type != Layout::Type::tiled) not_supported("a buffer whose layout has strides");
  const TiledLayout& t = layout->tiled;
  Order out = from_minor_to_major({t.minor_to_major, t.minor_to_major + t.minor_to_major_size}, num_dims);
  const std::int64_t* sizes = t.tile_dims;
  for (std::size_t i = 0; i < t.num_tiles; sizes += t.tile_dim_sizes[i++]) add_tile(out, {sizes, sizes + t.tile_dim_sizes[i]});
  return out;
}

Order order_of(std::string_view layout, std::size_t num_dims) {
  const std::size_t colon = layout.find(':');
  const std::string_view text = layout.substr(0, colon);
  std::vector<std::int64_t> list;
  std::int64_t number = -1;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      if (number > 1000) invalid(fmt::format("the layout {} names a dimension {}", text, number));
    } else if (c == ',' || c == '}') {
      if (number >= 0) list.push_back(number);
      number = -1;
    } else if (c != '{' && c != ' ') {
      not_supported(fmt::format("the layout {} of an array in a program", text));
    }
  }
  if (number >= 0) list.push_back(number);
  Order out = from_minor_to_major(std::move(list), num_dims);
  if (colon != std::string_view::npos) add_tiles(out, layout.substr(colon + 1));
  return out;
}

std::string order_text(const Order& order, std::size_t num_dims) {
  std::vector<int> list(order.rbegin(), order.rend());
  if (order.empty())
    for (int d = static_cast<int>(num_dims); d-- > 0;) list.push_back(d);
  return fmt::format("{}", fmt::join(list, ","));
}

std::string layout_text(const Order& order, std::size_t num_dims) {
  std::string tiles = order.tiles.empty() ? "" : ":T";
  for (const std::vector<std::int64_t>& tile : order.tiles) tiles += fmt::format("({})", fmt::join(tile, ","));
  return fmt::format("{{{}{}}}", order_text(order, num_dims), tiles);
}

std::vector<std::int64_t> in_order(const std::vector<std::int64_t>& dims, const Order& order) {
  if (order.empty()) return dims;
  std::vector<std::int64_t> out;
  for (const int d : order) out.push_back(dims[static_cast<std::size_t>(d)]);
  return out;
}

std::vector<std::int64_t> out_of_order(const std::vector<std::int64_t>& stored, const Order& order) {
  std::vector<std::int64_t> out = stored;
  for (std::size_t i = 0; i < order.size(); ++i) out[static_cast<std::size_t>(order[i])] = stored[i];
  return out;
}

std::vector<std::int64_t> strides_in(const Order& order, const std::vector<std::int64_t>& dims, std::int64_t itemsize) {
  return out_of_order(row_major_strides(in_order(dims, order), itemsize), order);
}

namespace {

/// A copy between arrays of other strides. The dimensions from `dense_from` on are in one piece of `dense_bytes` on both sides.
struct StridedCopy {
  const std::vector<std::int64_t>&dims, &to_strides, &from_strides;
  std::size_t dense_from = 0, dense_bytes = 0;

  void copy(char* to, const char* from, std::size_t d = 0) const {
    if (d == dense_from) {
      std::memcpy(to, from, dense_bytes);
      return;
    }
    for (std::int64_t i = 0; i < dims[d]; ++i) copy(to + i * to_strides[d], from + i * from_strides[d], d + 1);
  }
};

}  // namespace

void copy_strided(void* to, const std::vector<std::int64_t>& to_strides, const void* from, const std::vector<std::int64_t>& from_strides,
                  const std::vector<std::int64_t>& dims, std::int64_t itemsize) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  std::size_t dense_from = dims.size();
  std::int64_t bytes = itemsize;
  while (dense_from > 0) {
    const std::size_t d = dense_from - 1;
    if (dims[d] != 1 && (to_strides[d] != bytes || from_strides[d] != bytes)) break;
    bytes *= dims[d], --dense_from;
  }
  StridedCopy{dims, to_strides, from_strides, dense_from, static_cast<std::size_t>(bytes)}.copy(static_cast<char*>(to),
                                                                                                static_cast<const char*>(from));
}

}  // namespace weft::pjrt
