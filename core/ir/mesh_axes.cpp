#include "weft/core/ir/mesh_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/base/counted.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/given_text.h"
#include "weft/core/text/text.h"

namespace weft {

const std::vector<std::string>& PartitionSpec::axes_of(int d) const {
  static const auto& no_axes = detail::process_wide<std::vector<std::string>>();
  return d < static_cast<int>(dims_.size()) ? dims_[static_cast<std::size_t>(d)] : no_axes;
}

bool PartitionSpec::names(const std::string& axis) const {
  return std::any_of(dims_.begin(), dims_.end(), [&](const auto& dim) { return std::count(dim.begin(), dim.end(), axis) > 0; });
}

PartitionSpec PartitionSpec::trimmed() const {
  PartitionSpec s = *this;
  while (!s.dims_.empty() && s.dims_.back().empty()) s.dims_.pop_back();
  return s;
}

PartitionSpec::Entry::Entry(const char* name) : names_{detail::given_text(name, "an axis in a PartitionSpec", {})} {}

PartitionSpec::PartitionSpec(Entry a, Entry b, Entry c, Entry d, Entry e, Entry f) {
  for (const Entry* entry : {&a, &b, &c, &d, &e, &f}) {
    if (entry->is_absent()) break;
    dims_.push_back(entry->names());
  }
}

PartitionSpec sharding::P(PartitionSpec::Entry a, PartitionSpec::Entry b, PartitionSpec::Entry c, PartitionSpec::Entry d,
                          PartitionSpec::Entry e, PartitionSpec::Entry f) {
  return PartitionSpec(std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f));
}

namespace detail {

std::int64_t MeshAxes::num_devices() const {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

int MeshAxes::find(const std::string& name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

std::int64_t MeshAxes::size_of(const std::vector<std::string>& axes) const {
  std::int64_t n = 1;
  for (const std::string& a : axes) n *= size_of(a);
  return n;
}

std::int64_t MeshAxes::coordinate(std::int64_t position, const std::vector<std::string>& axes) const {
  std::int64_t c = 0;
  for (const std::string& a : axes) {
    const auto k = static_cast<std::size_t>(find(a));
    std::int64_t behind = 1;
    for (std::size_t i = k + 1; i < sizes.size(); ++i) behind *= sizes[i];
    c = c * sizes[k] + position / behind % sizes[k];
  }
  return c;
}

std::string print_param(const MeshAxes& v) {
  std::string s = "Mesh(", types;
  for (std::size_t i = 0; i < v.names.size(); ++i) {
    s += fmt::format("{}: {}, ", quoted(v.names[i]), v.sizes[i]);
    types += i ? ", Auto" : "Auto";
  }
  if (v.names.empty()) return "Mesh()";
  return s + "axis_types=(" + types + (v.names.size() == 1 ? ",))" : "))");
}

void read_param(ParamReader& r, MeshAxes& v) {
  v = {};
  std::int64_t devices = 1;
  if (!r.accept("AbstractMesh")) r.expect("Mesh");
  r.expect("(");
  while (!r.accept(")")) {
    const char c = r.peek();
    if (c == '\'' || c == '"') {
      v.names.push_back(r.read_string());
      r.expect(":");
      v.sizes.push_back(r.read_int());
      // Positions in a mesh are ints.
      if (v.sizes.back() < 1 || __builtin_mul_overflow(devices, v.sizes.back(), &devices) || devices > std::numeric_limits<int>::max())
        r.fail("an axis of " + std::to_string(v.sizes.back()) + " devices is not possible");
    } else {
      const std::string field = r.read_identifier();
      r.expect("=");
      if (field == "axis_types")
        r.read_list([&] { r.read_identifier(); });
      else
        r.read_string();
    }
    if (r.peek() != ')') r.expect(",");
  }
}

std::string to_string(const PartitionSpec& v) {
  std::string s = "P(";
  for (std::size_t i = 0; i < v.dims().size(); ++i) {
    const std::vector<std::string>& dim = v.dims()[i];
    s += i ? ", " : "";
    s += dim.empty() ? "None" : dim.size() == 1 ? quoted(dim[0]) : print_param(dim);
  }
  return s + (v.dims().size() == 1 ? ",)" : ")");
}

void read_spec(ParamReader& r, PartitionSpec& v) {
  if (!r.accept("PartitionSpec")) r.expect("P");
  std::vector<std::vector<std::string>> dims;
  r.read_list([&] {
    dims.emplace_back();
    if (!r.accept("None")) read_param(r, dims.back());
  });
  v = PartitionSpec::of(std::move(dims));
}

std::string print_param(const SpecList& v) {
  std::string s = "(";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + to_string(v[i]);
  return s + (v.size() == 1 ? ",)" : ")");
}

void read_param(ParamReader& r, SpecList& v) {
  v.specs.clear();
  r.read_list([&] { read_spec(r, v.specs.emplace_back()); });
}

std::string spec_problem(const MeshAxes& mesh, const PartitionSpec& spec) {
  std::vector<std::string> seen;
  for (const auto& dim : spec.dims())
    for (const std::string& a : dim) {
      if (mesh.find(a) < 0)
        return fmt::format("{} names the axis `{}`, which the mesh {} doesn't have; name one of its axes", to_string(spec), a,
                           print_param(mesh));
      if (std::count(seen.begin(), seen.end(), a))
        return fmt::format("{} names the axis `{}` twice; an axis can shard one dimension", to_string(spec), a);
      seen.push_back(a);
    }
  return {};
}

std::string spec_problem(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& shape) {
  if (std::string problem = spec_problem(mesh, spec); !problem.empty()) return problem;
  const PartitionSpec s = spec.trimmed();
  if (static_cast<int>(s.dims().size()) > shape.size())
    return fmt::format("{} shards {}, the shape {} has {}; give an entry for each dimension at most", to_string(spec),
                       counted(s.dims().size(), "dimension"), to_string(shape), shape.size());
  for (int d = 0; d < shape.size(); ++d)
    if (const std::int64_t n = mesh.size_of(s.axes_of(d)); shape[d] % n != 0)
      return fmt::format(
          "{} shards dimension {} of the shape {} into {}, and {} is not a multiple of {}; pad it to one, shard "
          "another dimension, or over fewer axes",
          to_string(spec), d, to_string(shape), counted(n, "part"), shape[d], n);
  return {};
}

Shape block_shape(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& whole) {
  Shape block = whole;
  for (int d = 0; d < whole.size(); ++d) block[d] /= mesh.size_of(spec.axes_of(d));
  return block;
}

Shape whole_shape(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& block) {
  Shape whole = block;
  for (int d = 0; d < block.size(); ++d) whole[d] *= mesh.size_of(spec.axes_of(d));
  return whole;
}

std::vector<std::int64_t> block_start(const MeshAxes& mesh, const PartitionSpec& spec, const Shape& block, std::int64_t position) {
  std::vector<std::int64_t> start;
  for (int d = 0; d < block.size(); ++d) start.push_back(mesh.coordinate(position, spec.axes_of(d)) * block[d]);
  return start;
}

std::vector<std::string> unnamed_axes(const MeshAxes& mesh, const PartitionSpec& spec) {
  std::vector<std::string> rest;
  for (const std::string& a : mesh.names)
    if (!spec.names(a)) rest.push_back(a);
  return rest;
}

}  // namespace detail
}  // namespace weft
