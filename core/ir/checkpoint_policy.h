#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "weft/core/array/array.h"

namespace weft {

/// Which intermediate values a checkpointed function saves for its derivative; all others are computed again (jax.checkpoint_policies).
class Policy {
 public:
  enum class Kind { nothing, everything, dots, dots_with_no_batch_dims, names, other_names, all_but_names, either };
  Policy() = default;
  explicit Policy(Kind k, std::vector<std::string> names = {}) : kind_(k), names_(std::move(names)) {}
  Policy(const Policy& a, const Policy& b) : kind_(Kind::either), parts_{a, b} {}
  Kind kind() const { return kind_; }
  const std::vector<std::string>& names() const { return names_; }
  /// The policies that a policy of kind `either` combines.
  const std::vector<Policy>& parts() const { return parts_; }
  friend bool operator==(const Policy&, const Policy&) = default;

 private:
  Kind kind_ = Kind::nothing;
  std::vector<std::string> names_;
  std::vector<Policy> parts_;
};

namespace policies {
// These objects are never destroyed.

/// Saves the inputs only.
inline const Policy& nothing_saveable = *new Policy;
/// Saves every value, as without checkpoint.
inline const Policy& everything_saveable = *new Policy(Policy::Kind::everything);
/// Saves the results of matrix products and convolutions.
inline const Policy &dots_saveable = *new Policy(Policy::Kind::dots), &checkpoint_dots = dots_saveable;
/// Saves the results of matrix products without batch dimensions.
inline const Policy &dots_with_no_batch_dims_saveable = *new Policy(Policy::Kind::dots_with_no_batch_dims),
                    &checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable;
/// Saves values that checkpoint_name has given one of these names.
Policy save_only_these_names(std::initializer_list<const char*> names);
/// Saves values that checkpoint_name has given any other name.
Policy save_any_names_but_these(std::initializer_list<const char*> names);
/// Saves all values, named or not, except those that checkpoint_name has given one of these names.
Policy save_anything_except_these_names(std::initializer_list<const char*> names);
/// Saves what either policy saves.
Policy save_from_both_policies(const Policy& a, const Policy& b);
}  // namespace policies

/// x itself, under a name for save_only_these_names (jax.ad_checkpoint.checkpoint_name).
Array checkpoint_name(Arg x, std::string_view name);

}  // namespace weft
