#include "weft/core/ops/registry.h"

#include <algorithm>

#include "weft/core/base/process_wide.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/core/ops/control/custom_partitioning.h"
#include "weft/core/ops/control/custom_vmap.h"

namespace weft::detail {

namespace {
constexpr PrimitiveList (*kFamilies[])() = {bitcast_primitives,
                                            call_primitives,
                                            callback_primitives,
                                            collective_move_primitives,
                                            collective_reduction_primitives,
                                            composite_primitives,
                                            custom_partitioning_primitives,
                                            custom_vmap_primitives,
                                            concatenate_primitives,
                                            control_primitives,
                                            conv_primitives,
                                            cumulative_primitives,
                                            custom_derivative_primitives,
                                            dot_primitives,
                                            dynamic_slice_primitives,
                                            elementwise_primitives,
                                            fft_primitives,
                                            gather_primitives,
                                            iota_primitives,
                                            linear_call_primitives,
                                            linear_solve_primitives,
                                            map_rows_primitives,
                                            movement_primitives,
                                            pad_primitives,
                                            process_local_primitives,
                                            random_gamma_primitives,
                                            random_primitives,
                                            reduce_primitives,
                                            reduce_program_primitives,
                                            reduce_window_primitives,
                                            remat_primitives,
                                            scatter_primitives,
                                            select_window_primitives,
                                            shard_map_primitives,
                                            sharding_constraint_primitives,
                                            sort_primitives,
                                            spectral_primitives,
                                            split_primitives,
                                            stop_gradient_primitives,
                                            triangular_primitives};
}  // namespace

const std::vector<const Primitive*>& all_primitives() {
  static const auto& all = process_wide_from([] {
    std::vector<const Primitive*> list;
    for (PrimitiveList (*family)() : kFamilies) {
      const PrimitiveList some = family();
      list.insert(list.end(), some.begin(), some.end());
    }
    std::sort(list.begin(), list.end(), [](const Primitive* a, const Primitive* b) { return a->name < b->name; });
    return list;
  });
  return all;
}

const Primitive* find_primitive(std::string_view name) {
  const auto& all = all_primitives();
  const auto at = std::lower_bound(all.begin(), all.end(), name, [](const Primitive* p, std::string_view n) { return p->name < n; });
  return at != all.end() && (*at)->name == name ? *at : nullptr;
}

}  // namespace weft::detail
