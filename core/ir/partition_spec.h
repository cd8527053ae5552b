// The partition of an array's dimensions over the axes of a mesh.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/array/scalar.h"

namespace weft {

/// Which mesh axes each dimension of an array is sharded over (jax.sharding.PartitionSpec): `PartitionSpec("x", none)`.
class PartitionSpec {
 public:
  /// One dimension: a mesh axis, several (the first is the slowest), or none.
  class Entry {
   public:
    Entry(detail::NoneValue auto) {}
    Entry(const char* name);
    Entry(const std::string& name) : names_{name} {}
    Entry(std::initializer_list<const char*> names) : names_(names.begin(), names.end()) {}
    /// A place left empty in a call with fewer entries.
    static Entry absent() {
      Entry e(none);
      e.absent_ = true;
      return e;
    }
    const std::vector<std::string>& names() const { return names_; }
    bool is_absent() const { return absent_; }

   private:
    std::vector<std::string> names_;
    bool absent_ = false;
  };
  /// The spec of a replicated array: no dimension is sharded.
  PartitionSpec() = default;
  /// An entry for each dimension. One dimension over two axes is `PartitionSpec{{"x", "y"}}`.
  explicit PartitionSpec(Entry a, Entry b = Entry::absent(), Entry c = Entry::absent(), Entry d = Entry::absent(),
                         Entry e = Entry::absent(), Entry f = Entry::absent());
  /// A spec from the mesh axes of each dimension.
  static PartitionSpec of(std::vector<std::vector<std::string>> dims) {
    PartitionSpec out;
    out.dims_ = std::move(dims);
    return out;
  }
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;

  /// The mesh axes of each dimension; dimensions beyond the last are not sharded.
  const std::vector<std::vector<std::string>>& dims() const { return dims_; }
  /// The mesh axes of dimension d; none beyond the last entry.
  const std::vector<std::string>& axes_of(int d) const;
  bool names(const std::string& axis) const;
  /// The spec without trailing entries that name no axis.
  PartitionSpec trimmed() const;

 private:
  std::vector<std::vector<std::string>> dims_;
};

/// Names so short that `using namespace weft` must not bring them in; write `using weft::sharding::P;`.
namespace sharding {
/// PartitionSpec's short name. A function: `P({"x", "y"})` is one dimension over two axes, where the constructor needs braces.
PartitionSpec P(PartitionSpec::Entry a = PartitionSpec::Entry::absent(), PartitionSpec::Entry b = PartitionSpec::Entry::absent(),
                PartitionSpec::Entry c = PartitionSpec::Entry::absent(), PartitionSpec::Entry d = PartitionSpec::Entry::absent(),
                PartitionSpec::Entry e = PartitionSpec::Entry::absent(), PartitionSpec::Entry f = PartitionSpec::Entry::absent());
}  // namespace sharding

/// A tree prefix of partition specs, as in shard_map's in_specs. `none` replicates.
class Specs {
 public:
  Specs() = default;
  Specs(PartitionSpec spec) : kind_(Kind::spec), spec_(std::move(spec)) {}
  Specs(detail::NoneValue auto) : kind_(Kind::spec) {}
  Specs(std::initializer_list<Specs> children) : children_(children) {}

  bool is_list() const { return kind_ == Kind::list; }
  const PartitionSpec& spec() const { return spec_; }
  const std::vector<Specs>& children() const { return children_; }

 private:
  enum class Kind { list, spec } kind_ = Kind::list;
  PartitionSpec spec_;
  std::vector<Specs> children_;
};

}  // namespace weft
