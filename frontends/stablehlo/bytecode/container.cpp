// See container.h.
#include "weft/frontends/stablehlo/bytecode/container.h"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace weft::detail::mlir {
namespace {

enum Section : std::uint8_t {
  kStrings,
  kDialects,
  kAttributesAndTypes,
  kAttributeAndTypeSizes,
  kOperations,
  kResources,
  kResourceSizes,
  kDialectVersion,
  kProperties,
  kNumSections
};
constexpr std::array<const char*, kNumSections> kNames{"strings",    "dialects",  "attributes",     "sizes of attributes",
                                                       "operations", "resources", "resource sizes", "dialect version",
                                                       "properties"};

// What came with which version of the format.
constexpr std::uint64_t kNewest = 6, kDialectVersions = 1, kNumberOfOperations = 4, kNativeProperties = 5;

class ContainerReader {
 public:
  ContainerReader(std::string_view bytes, const Origin& origin) : file_(bytes, 0, origin) {}

  Container read() {
    file_.take(kBytecodeMagic.size());
    const Place place = file_.place();
    c_.version = file_.varint();
    if (c_.version > kNewest)
      fail_at(file_.origin(), place, fmt::format("the bytecode is of version {}; versions 0 to {} are read", c_.version, kNewest));
    c_.producer = file_.text();
    while (!file_.empty()) {
      const Place here = file_.place();
      std::uint8_t id = 0;
      const Bytes data = file_.section(id);
      if (id >= kNumSections) fail_at(file_.origin(), here, fmt::format("there is no section {}", id));
      if (sections_[id]) fail_at(file_.origin(), here, fmt::format("there are two sections of {}", kNames[id]));
      sections_[id] = data;
    }
    read_strings(need(kStrings));
    if (sections_[kProperties]) read_properties(*sections_[kProperties]);
    read_dialects(need(kDialects));
    read_entries(need(kAttributeAndTypeSizes), need(kAttributesAndTypes));
    if (sections_[kResources] && sections_[kResourceSizes]) read_resources(*sections_[kResourceSizes], *sections_[kResources]);
    c_.ir = need(kOperations);
    return std::move(c_);
  }

 private:
  Bytes need(Section id) const {
    if (!sections_[id]) file_.fail(fmt::format("there is no section of {}", kNames[id]));
    return *sections_[id];
  }

  std::string_view string(Bytes& b) { return c_.strings[b.index(c_.strings.size(), "string")]; }

  /// Lengths are in reverse order, the bytes behind them in order.
  void read_strings(Bytes b) {
    const std::size_t n = b.count("strings");
    std::vector<std::size_t> lengths(n);
    std::size_t total = 0;
    for (std::size_t i = n; i-- > 0;) {
      const Place place = b.place();
      const std::uint64_t length = b.varint();
      if (length == 0 || length > b.left()) fail_at(b.origin(), place, "a string is longer than what is left, or has no end");
      lengths[i] = static_cast<std::size_t>(length), total += lengths[i];
      if (total > b.left()) fail_at(b.origin(), place, "the strings are longer than their section");
    }
    if (total != b.left()) b.fail(fmt::format("the strings have {} bytes, {} are left for them", total, b.left()));
    c_.strings.reserve(n);
    for (const std::size_t length : lengths) {
      const std::string_view s = b.take(length).rest();
      c_.strings.push_back(s.substr(0, length - 1));
    }
  }

  void read_properties(Bytes b) {
    const std::size_t n = b.count("properties");
    c_.properties.reserve(n);
    for (std::size_t i = 0; i < n; ++i) c_.properties.push_back(b.take(b.varint()));
    if (!b.empty()) b.fail("the section of properties is longer than it declares");
  }

  void read_dialects(Bytes b) {
    const std::size_t n = b.count("dialects");
    for (std::size_t i = 0; i < n; ++i) {
      if (c_.version < kDialectVersions) {
        c_.dialects.push_back(string(b));
        continue;
      }
      bool has_version = false;
      const Place place = b.place();
      const std::uint64_t name = b.varint_with_flag(has_version);
      if (name >= c_.strings.size()) fail_at(b.origin(), place, fmt::format("there is no string {}", name));
      c_.dialects.push_back(c_.strings[static_cast<std::size_t>(name)]);
      // The changes of encodings between a dialect's versions show in the codes.
      std::uint8_t id = 0;
      if (has_version) b.section(id);
    }
    if (c_.version >= kNumberOfOperations) b.varint();
    while (!b.empty()) {
      const std::string_view dialect = c_.dialects[b.index(c_.dialects.size(), "dialect")];
      for (std::size_t k = b.count("names of operations"); k > 0; --k) {
        if (c_.version < kNativeProperties) {
          c_.operations.push_back({dialect, string(b), false});
          continue;
        }
        bool registered = false;
        const Place place = b.place();
        const std::uint64_t name = b.varint_with_flag(registered);
        if (name >= c_.strings.size()) fail_at(b.origin(), place, fmt::format("there is no string {}", name));
        c_.operations.push_back({dialect, c_.strings[static_cast<std::size_t>(name)], registered});
      }
    }
  }

  void read_entries(Bytes sizes, Bytes data) {
    const std::size_t num_attributes = sizes.count("attributes"), num_types = sizes.count("types");
    for (const auto& [list, n] : {std::pair(&c_.attributes, num_attributes), std::pair(&c_.types, num_types)}) {
      list->reserve(n);
      while (list->size() < n) {
        const std::string_view dialect = c_.dialects[sizes.index(c_.dialects.size(), "dialect")];
        const Place place = sizes.place();
        const std::size_t group = sizes.count("attributes or types");
        if (group == 0 || group > n - list->size()) fail_at(sizes.origin(), place, "a group has no entries, or more than there are");
        for (std::size_t i = 0; i < group; ++i) {
          bool encoded = false;
          const std::uint64_t size = sizes.varint_with_flag(encoded);
          list->push_back({dialect, encoded, data.take(size)});
        }
      }
    }
    if (!sizes.empty()) sizes.fail("there are more sizes than attributes and types");
  }

  void read_resources(Bytes sizes, Bytes data) {
    auto read_group = [&](bool of_dialect) {
      for (std::size_t n = sizes.count("resources"); n > 0; --n) {
        const std::string_view key = string(sizes);
        const std::uint64_t size = sizes.varint();
        sizes.byte();  // its kind, which attributes that are arrays' elements know
        const Bytes value = data.take(size);
        if (of_dialect) c_.resources.push_back({key, value});
      }
    };
    for (std::size_t n = sizes.count("resource groups"); n > 0; --n) string(sizes), read_group(false);
    while (!sizes.empty()) sizes.index(c_.dialects.size(), "dialect"), read_group(true);
  }

  Bytes file_;
  Container c_;
  std::array<std::optional<Bytes>, kNumSections> sections_{};
};

}  // namespace

Container read_container(std::string_view bytes, const Origin& origin) { return ContainerReader(bytes, origin).read(); }

}  // namespace weft::detail::mlir
