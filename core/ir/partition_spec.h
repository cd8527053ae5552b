#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/array/scalar.h"

namespace weft {

/// Which mesh axes each dimension of an array is sharded over (jax.sharding.PartitionSpec); made by P.
class PartitionSpec {
 public:
  /// One dimension: a mesh axis, several (the first is the slowest), or none.
  class Entry {
   public:
    Entry(None) {}
    Entry(const char* name) : names_{name} {}
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
  /// Nothing is divided: `P()`.
  PartitionSpec() = default;
  explicit PartitionSpec(std::vector<std::vector<std::string>> dims) : dims_(std::move(dims)) {}
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;

  /// The mesh axes of each dimension; dimensions beyond the last are not divided.
  const std::vector<std::vector<std::string>>& dims() const { return dims_; }
  /// Of dimension d, also beyond the last.
  const std::vector<std::string>& axes_of(int d) const;
  bool names(const std::string& axis) const;
  /// Without entries at the end that divide nothing.
  PartitionSpec trimmed() const;

 private:
  std::vector<std::vector<std::string>> dims_;
};

/// A function, not a constructor: `P({"x", "y"})` would be ambiguous with a copy of `PartitionSpec{"x", "y"}`.
PartitionSpec P(PartitionSpec::Entry a = PartitionSpec::Entry::absent(), PartitionSpec::Entry b = PartitionSpec::Entry::absent(),
                PartitionSpec::Entry c = PartitionSpec::Entry::absent(), PartitionSpec::Entry d = PartitionSpec::Entry::absent(),
                PartitionSpec::Entry e = PartitionSpec::Entry::absent(), PartitionSpec::Entry f = PartitionSpec::Entry::absent());

/// A tree prefix of partition specs, as in shard_map's in_specs. `none` replicates.
class Specs {
 public:
  Specs() = default;
  Specs(PartitionSpec spec) : kind_(Kind::spec), spec_(std::move(spec)) {}
  Specs(None) : kind_(Kind::spec) {}
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
