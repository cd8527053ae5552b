// custom_partitioning: a call whose partitioning over a mesh is a rule that the user gave, and on whose blocks a function of the user's
// runs.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ops/control/call.h"

namespace weft::detail {

/// How a call's arguments and results are sharded: a spec for each array.
struct CallSpecs {
  std::vector<PartitionSpec> args, results;
};
/// A user's rule over flat arrays.
struct CallPartitioner : RefCounted {
  /// The specs that the call takes, where its arguments come sharded as `now`. May throw Error: the rule's answer is checked by the caller.
  virtual CallSpecs choose(const MeshAxes& mesh, std::span<const Aval> args, const std::vector<PartitionSpec>& now,
                           std::span<const Aval> results, SourceLoc loc) const = 0;
  /// The blocks of the results on one device, of the blocks of the arguments.
  virtual std::vector<Array> run(const MeshAxes& mesh, const CallSpecs& specs, std::span<const Array> blocks, SourceLoc loc) const = 0;
  virtual bool equals(const CallPartitioner& other) const = 0;
  /// Whether it is asked of a call of which no argument is sharded, too.
  virtual bool asked_of_whole() const { return false; }
};
/// A rule as a parameter: written as its name, and equal to any rule of which only the name was read from a text.
struct CallPartitionerParam {
  std::string name;
  Ref<const CallPartitioner> rule = {};
  friend bool operator==(const CallPartitionerParam& a, const CallPartitionerParam& b) {
    return a.name == b.name && (!a.rule || !b.rule || a.rule == b.rule || a.rule->equals(*b.rule));
  }
};
std::string print_param(const CallPartitionerParam& v);
void read_param(ParamReader& r, CallPartitionerParam& v);

struct CustomPartitioningParams {
  Jaxpr call_jaxpr;  ///< of whole arrays, without constants
  std::string name;
  int num_consts = 0;  ///< leading operands that the function captured; the rule is not told of them
  CallPartitionerParam partition;
  friend bool operator==(const CustomPartitioningParams&, const CustomPartitioningParams&) = default;
};

PrimitiveList custom_partitioning_primitives();
/// Binds a call of the program; its constants become leading operands.
std::vector<Array> bind_custom_partitioning(const std::string& name, const Jaxpr& j, CallPartitionerParam rule,
                                            std::span<const Array> inputs, SourceLoc loc);

}  // namespace weft::detail
