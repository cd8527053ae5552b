#include "weft/frontends/stablehlo/gspmd/axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::detail::mlir {
namespace {

/// The digits that the devices count in, the fastest first.
std::optional<std::vector<Digit>> digits_of_list(const std::vector<std::int64_t>& devices) {
  std::vector<Digit> digits;
  std::size_t counted = 1;
  while (counted < devices.size()) {
    const std::int64_t stride = devices[counted];
    std::size_t size = 1;
    while (size * counted < devices.size() && devices[size * counted] == static_cast<std::int64_t>(size) * stride) ++size;
    if (stride < 1 || devices.size() % (counted * size) != 0) return {};
    digits.push_back({stride, static_cast<std::int64_t>(size)});
    counted *= size;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    std::int64_t device = 0, left = static_cast<std::int64_t>(i);
    for (const Digit& d : digits) device += left % d.size * d.stride, left /= d.size;
    if (device != devices[i]) return {};
  }
  return digits;
}

}  // namespace

std::optional<std::vector<std::vector<Digit>>> digits_of(const HloSharding& s) {
  const std::optional<std::vector<Digit>> all = digits_of_list(s.devices);
  if (!all) return {};
  std::vector<std::vector<Digit>> out(s.tiles.size());
  auto next = all->begin();
  Digit left{0, 1};
  for (std::size_t t = s.tiles.size(); t-- > 0;)
    for (std::int64_t tiles = s.tiles[t]; tiles > 1;) {
      if (left.size == 1) left = *next++;
      // A digit that goes on in the next dimension is two.
      const std::int64_t size = std::min(tiles, left.size);
      if (tiles % size != 0 || left.size % size != 0) return {};
      out[t].insert(out[t].begin(), {left.stride, size});
      left = {left.stride * size, left.size / size}, tiles /= size;
    }
  return out;
}

bool DeviceAxes::add(const std::vector<std::vector<Digit>>& digits) {
  std::vector<std::int64_t> bounds = bounds_;
  for (const std::vector<Digit>& of_dimension : digits)
    for (const Digit& d : of_dimension) bounds.insert(bounds.end(), {d.stride, d.stride * d.size});
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (std::size_t i = 1; i < bounds.size(); ++i)
    if (bounds[i] % bounds[i - 1] != 0) return false;
  if (bounds.back() != bounds_.back()) return false;
  bounds_ = std::move(bounds);
  return true;
}

std::vector<std::string> DeviceAxes::names() const {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < bounds_.size(); ++i) out.push_back(fmt::format("axis{}", i - 1));
  return out;
}

std::vector<std::int64_t> DeviceAxes::sizes() const {
  std::vector<std::int64_t> out;
  for (std::size_t i = bounds_.size(); i-- > 1;) out.push_back(bounds_[i] / bounds_[i - 1]);
  return out;
}

std::vector<std::string> DeviceAxes::names_of(const std::vector<Digit>& digits) const {
  std::vector<std::string> out;
  for (const Digit& d : digits)
    for (std::size_t i = bounds_.size(); i-- > 1;)
      if (bounds_[i - 1] >= d.stride && bounds_[i] <= d.stride * d.size) out.push_back(fmt::format("axis{}", bounds_.size() - 1 - i));
  return out;
}

}  // namespace weft::detail::mlir
