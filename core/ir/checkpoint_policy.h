// Policies of what is saved for a derivative.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/array/array.h"

namespace weft {

/// Which intermediate values a checkpointed function saves for its derivative; all others are computed again (jax.checkpoint_policies).
class CheckpointPolicy {
 public:
  enum class Kind { nothing, everything, dots, dots_with_no_batch_dims, names, other_names, all_but_names, either };
  CheckpointPolicy() = default;
  explicit CheckpointPolicy(Kind k, std::vector<std::string> names = {}) : kind_(k), names_(std::move(names)) {}
  CheckpointPolicy(const CheckpointPolicy& a, const CheckpointPolicy& b) : kind_(Kind::either), parts_{a, b} {}
  Kind kind() const { return kind_; }
  const std::vector<std::string>& names() const { return names_; }
  /// The policies that a policy of kind `either` combines.
  const std::vector<CheckpointPolicy>& parts() const { return parts_; }
  friend bool operator==(const CheckpointPolicy&, const CheckpointPolicy&) = default;

 private:
  Kind kind_ = Kind::nothing;
  std::vector<std::string> names_;
  std::vector<CheckpointPolicy> parts_;
};

namespace policies {
// These objects are never destroyed.

/// Saves the inputs only.
inline const CheckpointPolicy& nothing_saveable = *new CheckpointPolicy;
/// Saves every value, as without checkpoint.
inline const CheckpointPolicy& everything_saveable = *new CheckpointPolicy(CheckpointPolicy::Kind::everything);
/// Saves the results of matrix products and convolutions.
inline const CheckpointPolicy &dots_saveable = *new CheckpointPolicy(CheckpointPolicy::Kind::dots), &checkpoint_dots = dots_saveable;
/// Saves the results of matrix products without batch dimensions.
inline const CheckpointPolicy &dots_with_no_batch_dims_saveable = *new CheckpointPolicy(CheckpointPolicy::Kind::dots_with_no_batch_dims),
                              &checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable;
/// Saves values that checkpoint_name has given one of these names.
CheckpointPolicy save_only_these_names(std::initializer_list<const char*> names);
/// Saves values that checkpoint_name has given any other name.
CheckpointPolicy save_any_names_but_these(std::initializer_list<const char*> names);
/// Saves all values, named or not, except those that checkpoint_name has given one of these names.
CheckpointPolicy save_anything_except_these_names(std::initializer_list<const char*> names);
/// Saves what either policy saves.
CheckpointPolicy save_from_both_policies(const CheckpointPolicy& a, const CheckpointPolicy& b);
}  // namespace policies
namespace jax {
namespace checkpoint_policies = ::weft::policies;
}

/// x itself, under a name for save_only_these_names (jax.ad_checkpoint.checkpoint_name).
Array checkpoint_name(Arg x, std::string_view name);

}  // namespace weft
