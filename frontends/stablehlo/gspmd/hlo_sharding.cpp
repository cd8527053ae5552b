#include "weft/frontends/stablehlo/gspmd/hlo_sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace weft::detail::mlir {
namespace {

constexpr std::int64_t kMostDevices = 1 << 20;

/// Thrown within this file only.
struct Wrong {
  std::string problem;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  HloSharding read() {
    expect("{");
    HloSharding s;
    if (take("devices="))
      read_tiles(s);
    else if (take("maximal"))
      expect("device="), s.kind = HloSharding::Kind::maximal, s.device = number();
    else
      s.kind = simple_kind();
    read_metadata();
    expect("}");
    if (at_ != text_.size()) fail("something follows it");
    return s;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const { throw Wrong{fmt::format("{} at character {}", what, at_)}; }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(fmt::format("`{}` is missing", word));
  }
  std::int64_t number() {
    skip_space();
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (error != std::errc() || n < 0 || n > kMostDevices) fail("a number of devices is missing");
    at_ = static_cast<std::size_t>(end - text_.data());
    return n;
  }
  std::vector<std::int64_t> numbers(std::string_view end) {
    std::vector<std::int64_t> out;
    do out.push_back(number());
    while (take(","));
    expect(end);
    return out;
  }
  std::int64_t product(const std::vector<std::int64_t>& sizes) const {
    std::int64_t n = 1;
    for (const std::int64_t size : sizes)
      if (size < 1 || (n *= size) > kMostDevices) fail("the number of devices is out of range");
    return n;
  }

  HloSharding::Kind simple_kind() {
    if (take("replicated")) return HloSharding::Kind::replicated;
    if (take("manual")) return HloSharding::Kind::manual;
    if (take("unreduced")) return HloSharding::Kind::unreduced;
    if (take("unknown")) return HloSharding::Kind::unknown;
    if (take("{")) fail("a tuple has more than one sharding");
    fail("no kind of sharding is named");
  }

  HloSharding::Rest rest_kind() {
    if (take("replicated")) return HloSharding::Rest::replicated;
    if (take("manual")) return HloSharding::Rest::manual;
    if (take("unreduced")) return HloSharding::Rest::unreduced;
    fail("no kind of a tile dimension is named");
  }

  void read_tiles(HloSharding& s) {
    s.kind = HloSharding::Kind::tiled;
    expect("[");
    s.tiles = numbers("]");
    const std::int64_t count = product(s.tiles);
    s.devices = take("<=[") ? transposed() : listed();
    if (static_cast<std::int64_t>(s.devices.size()) != count) fail(fmt::format("{} tiles have {} devices", count, s.devices.size()));
    if (take("last_tile_dim_replicate")) {
      s.rest = {HloSharding::Rest::replicated};
    } else if (take("last_tile_dims={")) {
      do s.rest.push_back(rest_kind());
      while (take(","));
      expect("}");
    }
    if (s.rest.size() > s.tiles.size()) fail("there are fewer tile dimensions than kinds of them");
  }

  std::vector<std::int64_t> listed() {
    std::vector<std::int64_t> devices;
    do devices.push_back(number());
    while (take(","));
    std::vector<std::int64_t> sorted = devices;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<std::int64_t>(i)) fail("the devices are not each of them once");
    return devices;
  }

  /// Devices in order in an array of these sizes, whose dimensions are then transposed.
  std::vector<std::int64_t> transposed() {
    const std::vector<std::int64_t> sizes = numbers("]");
    const std::int64_t count = product(sizes);
    std::vector<std::int64_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    if (take("T(")) {
      const std::vector<std::int64_t> stated = numbers(")");
      if (!std::is_permutation(stated.begin(), stated.end(), order.begin(), order.end())) fail("the transpose is no permutation");
      order = stated;
    }
    std::vector<std::int64_t> strides(sizes.size(), 1);
    for (std::size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
    std::vector<std::int64_t> devices(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t left = i;
      for (std::size_t d = order.size(); d-- > 0;) {
        const auto dim = static_cast<std::size_t>(order[d]);
        devices[static_cast<std::size_t>(i)] += left % sizes[dim] * strides[dim], left /= sizes[dim];
      }
    }
    return devices;
  }

  /// Where the sharding came from, and which values are to have the same one, says nothing of this value.
  void read_metadata() {
    if (take("metadata={")) {
      int depth = 1;
      for (; depth > 0 && at_ < text_.size(); ++at_) depth += text_[at_] == '{' ? 1 : text_[at_] == '}' ? -1 : 0;
      if (depth > 0) fail("the metadata has no end");
    }
    if (take("shard_as") || take("shard_like")) number();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

HloSharding read_hlo_sharding(std::string_view text, std::string& problem) {
  problem.clear();
  try {
    return Reader(text).read();
  } catch (const Wrong& w) {
    problem = w.problem;
    return {};
  }
}

}  // namespace weft::detail::mlir
