// Whether a function is traced as the body of a map over devices (pmap, shard_map, smap). A pmap in it maps the rows of one device: it is
// spread over devices that the map around leaves free, or runs as a vmap within each device's program. Internal.
#pragma once

namespace weft::detail {

/// A scope on this thread during which the body of a map over devices is traced.
class [[nodiscard]] MapBody {
 public:
  MapBody();
  ~MapBody();
  MapBody(const MapBody&) = delete;
  MapBody& operator=(const MapBody&) = delete;
};
bool inside_map();

}  // namespace weft::detail
