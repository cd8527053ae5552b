// Values of a program whose sharding over its devices a function of the host is to be told: the custom call `weft.inspect_sharding`.
#pragma once
#include <functional>
#include <vector>

#include "weft/core/base/ref.h"

namespace weft::pjrt {

class Inspector;

/// The inspected values of the program that this thread imports while it lives.
class Inspections {
 public:
  Inspections();
  ~Inspections();
  Inspections(const Inspections&) = delete;
  Inspections& operator=(const Inspections&) = delete;

  /// Tells the functions how the partitioner sharded the values; where it sharded nothing, that they are whole. Nothing is told of a value
  /// that it did not come to, as in a loop whose body was rewritten. `partition_of` numbers a device of a mesh among the program's. Throws
  /// Failure where a function fails.
  void tell(bool is_partitioned, const std::function<std::size_t(int device)>& partition_of) const;

 private:
  friend struct InspectImport;
  std::vector<detail::Ref<Inspector>> all_;
  Inspections* const before_;
};

}  // namespace weft::pjrt
