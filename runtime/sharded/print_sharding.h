// Devices, meshes, specs and shardings as text, for fmt and streams.
#pragma once
#include <iosfwd>
#include <string>

#include "weft/core/base/fmt_formatter.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {

/// `cpu:0`.
std::ostream& operator<<(std::ostream& os, const Device& device);
/// The axes with their sizes: `Mesh('x': 2, 'y': 4)`.
std::ostream& operator<<(std::ostream& os, const Mesh& mesh);
/// The mesh axes of each dimension, as in a Jaxpr: `P('x', None)`.
std::ostream& operator<<(std::ostream& os, const PartitionSpec& spec);
/// The spec and its mesh: `P('x', None) of Mesh('x': 2, 'y': 4)`.
std::ostream& operator<<(std::ostream& os, const NamedSharding& sharding);
/// The same, or one device: `cpu:0`.
std::ostream& operator<<(std::ostream& os, const Sharding& sharding);

namespace detail {
std::string text_of(const Mesh& x);
std::string text_of(const PartitionSpec& x);
std::string text_of(const NamedSharding& x);
std::string text_of(const Sharding& x);
}  // namespace detail

}  // namespace weft

/// fmt prints the same text as `<<`; width, fill and alignment may be given, as for a string.
template <>
struct fmt::formatter<weft::Mesh, char, void> : weft::detail::TextFormatter {
  auto format(const weft::Mesh& mesh, auto& ctx) const { return write(weft::detail::text_of(mesh), ctx.out()); }
};
template <>
struct fmt::formatter<weft::PartitionSpec, char, void> : weft::detail::TextFormatter {
  auto format(const weft::PartitionSpec& spec, auto& ctx) const { return write(weft::detail::text_of(spec), ctx.out()); }
};
template <>
struct fmt::formatter<weft::NamedSharding, char, void> : weft::detail::TextFormatter {
  auto format(const weft::NamedSharding& sharding, auto& ctx) const { return write(weft::detail::text_of(sharding), ctx.out()); }
};
template <>
struct fmt::formatter<weft::Sharding, char, void> : weft::detail::TextFormatter {
  auto format(const weft::Sharding& sharding, auto& ctx) const { return write(weft::detail::text_of(sharding), ctx.out()); }
};
