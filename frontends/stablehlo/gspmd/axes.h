// Takes the shardings of a module as tiles and devices (hlo_sharding.h); gives one mesh whose axes all of them are along. Tiles name no
// axes: which devices a dimension's tiles go through says what the axes are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/frontends/stablehlo/gspmd/hlo_sharding.h"

namespace weft::detail::mlir {

/// Devices k * stride for k from 0 to size - 1: a digit of a device's number.
struct Digit {
  std::int64_t stride, size;
  friend bool operator==(const Digit&, const Digit&) = default;
};
/// For each tile dimension the digits of device numbers that its tiles go through, the slowest first. None if the devices are in no such
/// order.
std::optional<std::vector<std::vector<Digit>>> digits_of(const HloSharding& tiled);

/// The axes of a mesh of devices in order.
class DeviceAxes {
 public:
  explicit DeviceAxes(std::int64_t num_devices) : bounds_{1, num_devices} {}
  /// Cuts axes so that the digits are whole axes. False if their strides and the others' don't divide each other.
  bool add(const std::vector<std::vector<Digit>>& digits);
  std::int64_t num_devices() const { return bounds_.back(); }
  /// The slowest first.
  std::vector<std::string> names() const;
  std::vector<std::int64_t> sizes() const;
  /// Those of digits that were added, the slowest first.
  std::vector<std::string> names_of(const std::vector<Digit>& digits) const;

 private:
  std::vector<std::int64_t> bounds_;  // strides of the axes, the fastest first, and then the number of devices; each divides the next
};

}  // namespace weft::detail::mlir
