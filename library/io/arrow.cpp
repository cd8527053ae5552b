#include "weft/library/io/arrow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/base/ref.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/trace/trace.h"
#include "weft/library/io/foreign_memory.h"
#include "weft/library/io/missing_values.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {
namespace {

// The C ABI of the interface.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags, n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

constexpr std::pair<char, DType> kFormats[] = {{'b', bool_},  {'c', int8},  {'C', uint8},  {'s', int16},   {'S', uint16},  {'i', int32},
                                               {'I', uint32}, {'l', int64}, {'L', uint64}, {'e', float16}, {'f', float32}, {'g', float64}};

/// An Arrow array that is owned here, with its children.
struct Owned final : detail::RefCounted {
  explicit Owned(ArrowArray a) : array(a) {}
  ~Owned() override {
    if (array.release) array.release(&array);
  }
  ArrowArray array;
};

class Importer {
 public:
  Importer(const char* operation, const ArrowOptions& options, SourceLoc loc) : operation_(operation), options_(options), loc_(loc) {}

  [[noreturn]] void fail(const std::string& column, const std::string& problem) const {
    throw IoError(fmt::format("{}: {}{}", operation_, column.empty() ? "" : "column '" + column + "': ", problem), loc_);
  }
  void check_live(const ArrowSchema* schema, const ArrowArray* array) const {
    if (!schema || !array) fail("", "the schema or the array is null");
    if (!schema->release || !array->release) fail("", "the schema or the array was released already");
    if (!schema->format) fail("", "the schema has no format");
  }
  /// How many of its elements, or a table's rows, are missing, whatever the producer says of it.
  static std::int64_t count_missing(const ArrowArray& a) {
    if (a.null_count == 0 || a.n_buffers < 1 || !a.buffers || !a.buffers[0]) return 0;
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < a.length; ++i) n += !bit(a.buffers[0], a.offset + i);
    return n;
  }
  /// The dtype of the array; throws if it can't be read.
  DType check(const ArrowSchema& schema, const ArrowArray& a, const std::string& column) const {
    const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                           [&](const auto& f) { return schema.format[0] == f.first && schema.format[1] == 0; });
    if (found == std::end(kFormats) || schema.dictionary || a.dictionary)
      throw DTypeError(
          fmt::format("{}: {}the format '{}'{} is not a primitive type of numbers", operation_,
                      column.empty() ? "" : "column '" + column + "': ", schema.format, schema.dictionary ? " with a dictionary" : ""),
          loc_);
    const auto end = detail::checked_sum(a.length, a.offset);
    if (!end || !detail::checked_product(*end, 16) || a.n_buffers != 2 || !a.buffers || (a.length > 0 && !a.buffers[1]))
      fail(column, "the array is malformed: its length, offset or buffers are invalid");
    const std::int64_t missing = count_missing(a);
    if (missing > 0 && !options_.null)
      fail(column, fmt::format("{} of {} values are missing; set ArrowOptions.null to the value for them", missing, a.length));
    if (missing > 0) detail::check_stand_in(*options_.null, found->second, operation_, "ArrowOptions.null", loc_);
    return found->second;
  }
  Array make(const ArrowArray& a, DType dtype, const detail::Ref<Owned>& owner) const {
    Array out;
    if (dtype.is_bool()) {
      std::vector<Byte> values(static_cast<std::size_t>(a.length));
      for (std::int64_t i = 0; i < a.length; ++i) values[static_cast<std::size_t>(i)] = bit(a.buffers[1], a.offset + i);
      out = array(values, loc_) != 0;
    } else {
      const void* const first = a.length > 0 ? static_cast<const char*>(a.buffers[1]) + a.offset * dtype.itemsize() : nullptr;
      out = from_memory(first, {a.length}, dtype, [owner] {}, {}, loc_);
    }
    if (count_missing(a) == 0) return out;
    std::vector<Byte> there(static_cast<std::size_t>(a.length));
    for (std::int64_t i = 0; i < a.length; ++i) there[static_cast<std::size_t>(i)] = bit(a.buffers[0], a.offset + i);
    return where(array(there, loc_) != 0, out, convert(*options_.null, dtype));
  }

 private:
  using Byte = unsigned char;
  static Byte bit(const void* bits, std::int64_t i) { return static_cast<Byte>(static_cast<const Byte*>(bits)[i / 8] >> (i % 8) & 1); }

  const char* operation_;
  const ArrowOptions& options_;
  SourceLoc loc_;
};

/// Takes ownership of the caller's structures, which are marked as released.
detail::Ref<Owned> take(ArrowSchema* schema, ArrowArray* array) {
  auto owner = detail::make_ref<Owned>(*array);
  array->release = nullptr;
  schema->release(schema);
  schema->release = nullptr;
  return owner;
}

/// The objects that an exported array keeps alive until its receiver releases it.
struct Lent {
  Array array;
  std::vector<unsigned char> bits;
  const void* buffers[2] = {nullptr, nullptr};
};
struct LentSchema {
  std::string format, name;
};

}  // namespace

Array from_arrow(void* schema, void* array, ArrowOptions options, SourceLoc loc) try {
  auto* const s = static_cast<ArrowSchema*>(schema);
  auto* const a = static_cast<ArrowArray*>(array);
  const Importer importer("from_arrow", options, loc);
  importer.check_live(s, a);
  const DType dtype = importer.check(*s, *a, "");
  const detail::Ref<Owned> owner = take(s, a);
  return importer.make(owner->array, dtype, owner);
} catch (...) {
  detail::rethrow_as_error("from_arrow", loc);
}

std::map<std::string, Array> from_arrow_columns(void* schema, void* array, ArrowOptions options, SourceLoc loc) try {
  auto* const s = static_cast<ArrowSchema*>(schema);
  auto* const a = static_cast<ArrowArray*>(array);
  const Importer importer("from_arrow_columns", options, loc);
  importer.check_live(s, a);
  if (std::string_view(s->format) != "+s")
    throw DTypeError(fmt::format("from_arrow_columns: the format '{}' is not a table; use from_arrow for a column", s->format), loc);
  if (s->n_children != a->n_children || s->n_children < 0 || (s->n_children > 0 && (!s->children || !a->children)))
    importer.fail("", "the columns of the schema are not those of the array");
  if (a->length < 0 || a->offset < 0) importer.fail("", "the table is malformed: its length or offset is negative");
  std::vector<std::pair<std::string, DType>> columns;
  for (std::int64_t i = 0; i < s->n_children; ++i) {
    if (!s->children[i] || !a->children[i] || !s->children[i]->format) importer.fail("", fmt::format("column {} is null", i));
    const std::string name = s->children[i]->name ? s->children[i]->name : "";
    if (!s->children[i]->release || !a->children[i]->release) importer.fail(name, "the column was released already, or moved elsewhere");
    if (std::any_of(columns.begin(), columns.end(), [&](const auto& c) { return c.first == name; }))
      importer.fail(name, "the name is used twice");
    columns.emplace_back(name, importer.check(*s->children[i], *a->children[i], name));
    const auto end = detail::checked_sum(a->offset, a->length);
    if (!end || a->children[i]->length < *end) importer.fail(name, "the column is shorter than the table");
  }
  if (Importer::count_missing(*a) > 0) importer.fail("", "rows are missing as a whole");
  const detail::Ref<Owned> owner = take(s, a);
  std::map<std::string, Array> out;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ArrowArray column = *owner->array.children[i];
    column.offset += owner->array.offset;
    column.length = owner->array.length;
    out.emplace(columns[i].first, importer.make(column, columns[i].second, owner));
  }
  return out;
} catch (...) {
  detail::rethrow_as_error("from_arrow_columns", loc);
}

void to_arrow(const Array& x, void* schema, void* array, const std::string& name, SourceLoc loc) try {
  if (!schema || !array) throw Error("to_arrow: the schema or the array is null", loc);
  if (x.ndim() != 1)
    throw ShapeError(fmt::format("to_arrow: {} is not a vector; an Arrow array has one dimension", detail::to_string(x.aval())), loc);
  const auto* const found = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const auto& f) { return f.second == x.dtype(); });
  if (found == std::end(kFormats)) throw DTypeError(fmt::format("to_arrow: Arrow has no type for {}", detail::to_string(x.aval())), loc);
  auto* const lent = new Lent();
  LentSchema* described = nullptr;
  try {
    if (x.dtype().is_bool()) {
      lent->bits.resize(static_cast<std::size_t>((x.size() + 7) / 8));
      const std::vector<bool> values = x.to_vector<bool>(loc);
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i]) lent->bits[i / 8] = static_cast<unsigned char>(lent->bits[i / 8] | 1u << (i % 8));
      lent->buffers[1] = lent->bits.data();
    } else {
      lent->array = detail::lent_array(x, loc);
      lent->buffers[1] = detail::host_elements(lent->array, x.dtype(), loc);
    }
    described = new LentSchema{std::string(1, found->first), name};
  } catch (...) {
    delete lent;
    throw;
  }
  *static_cast<ArrowSchema*>(schema) = {described->format.c_str(),
                                        described->name.c_str(),
                                        nullptr,
                                        0,
                                        0,
                                        nullptr,
                                        nullptr,
                                        [](ArrowSchema* s) {
                                          delete static_cast<LentSchema*>(s->private_data);
                                          s->release = nullptr;
                                        },
                                        described};
  *static_cast<ArrowArray*>(array) = {x.size(),
                                      0,
                                      0,
                                      2,
                                      0,
                                      lent->buffers,
                                      nullptr,
                                      nullptr,
                                      [](ArrowArray* a) {
                                        delete static_cast<Lent*>(a->private_data);
                                        a->release = nullptr;
                                      },
                                      lent};
} catch (...) {
  detail::rethrow_as_error("to_arrow", loc);
}

}  // namespace weft
