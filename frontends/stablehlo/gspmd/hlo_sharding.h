// Takes a sharding as XLA writes it (HloSharding, the attribute `mhlo.sharding`); gives its tiles and the devices of each in order.
//
//     {replicated}    {maximal device=3}    {manual}    {unreduced}    {unknown}
//     {devices=[2,4]<=[8]}                                   tiles along each dimension, devices 0 to 7 in order
//     {devices=[4,2]<=[2,4]T(1,0)}                           devices 0 to 7 as a matrix of 2 x 4, transposed
//     {devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}   one tile more, whose devices hold the same
//     {devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}
//
// The form is that of xla/hlo/ir/hlo_sharding.cc.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail::mlir {

struct HloSharding {
  enum class Kind { replicated, maximal, manual, unreduced, unknown, tiled };
  /// What devices along a tile dimension beyond those of the array have of it.
  enum class Rest { replicated, manual, unreduced };
  Kind kind = Kind::unknown;
  std::int64_t device = 0;                 ///< of maximal
  std::vector<std::int64_t> tiles = {};    ///< the array's dimensions, then those of `rest`
  std::vector<Rest> rest = {};             ///< of the last tile dimensions
  std::vector<std::int64_t> devices = {};  ///< one for each tile, the last tile dimension fastest
  std::size_t num_dimensions() const { return tiles.size() - rest.size(); }
};

/// An empty `problem` says that it was read; else it says what is wrong, and at which character.
HloSharding read_hlo_sharding(std::string_view text, std::string& problem);

}  // namespace weft::detail::mlir
