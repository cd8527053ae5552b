#include "weft/backends/cuda/graph_memory.h"

#include <algorithm>

#include "weft/core/errors/error.h"

namespace weft::detail::cuda {

namespace {
constexpr int kMaxLaunches = 4096;
constexpr std::int64_t kAlign = 256;
}  // namespace

GraphMemory::GraphMemory(std::vector<GpuDevice*> devices) : devices_(std::move(devices)), pieces_(devices_.size()), next_(devices_.size()) {
  for (GpuDevice* d : devices_) d->set_supply(this);
}

GraphMemory::GraphMemory(std::vector<GpuDevice*> devices, const std::vector<Pieces>& known, std::vector<std::vector<DevicePointer>> places,
                         bool capturing)
    : devices_(std::move(devices)),
      mode_(capturing ? Mode::capturing : Mode::giving),
      pieces_(known),
      places_(std::move(places)),
      next_(devices_.size()) {
  for (GpuDevice* d : devices_) d->set_supply(this);
}

GraphMemory::~GraphMemory() {
  for (GpuDevice* d : devices_) d->set_supply(nullptr);
}

std::size_t GraphMemory::number_of(const GpuDevice& device) const {
  return static_cast<std::size_t>(std::find(devices_.begin(), devices_.end(), &device) - devices_.begin());
}

DevicePointer GraphMemory::take(const GpuDevice& device, std::size_t bytes, DevicePointer noted) {
  const std::size_t k = number_of(device);
  if (mode_ == Mode::noting) {
    pieces_[k].push_back({bytes, noted, events_++, -1, false, 0});
    return noted;
  }
  const std::size_t i = next_[k]++;
  if (i >= pieces_[k].size() || pieces_[k][i].bytes != bytes)
    throw Error("internal error: a mapped program that is replayed does not repeat its launches");
  return places_[k][i];
}

void GraphMemory::released(const GpuDevice& device, DevicePointer p) {
  if (mode_ != Mode::noting) return;
  Pieces& all = pieces_[number_of(device)];
  const auto piece = std::find_if(all.rbegin(), all.rend(), [&](const Piece& x) { return x.at == p && x.died < 0; });
  if (piece != all.rend()) piece->died = events_++;
}

void GraphMemory::communicated(bool first_group, std::int64_t bytes) { collectives_ += first_group, moved_bytes_ += bytes; }

bool GraphMemory::repeatable() const { return repeatable_ && collectives_ > 0 && launches_ <= kMaxLaunches; }

std::int64_t place_pieces(GraphMemory::Pieces& pieces) {
  std::int64_t size = 0;
  std::vector<const GraphMemory::Piece*> placed;
  for (GraphMemory::Piece& p : pieces) {
    if (p.result) continue;
    const auto bytes = static_cast<std::int64_t>(std::max<std::size_t>(p.bytes, 1));
    // First fit: the lowest offset that is free of pieces that are live at the same time.
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const GraphMemory::Piece* q : placed)
      if (q->died < 0 || q->died > p.born)
        taken.emplace_back(q->offset, q->offset + static_cast<std::int64_t>(std::max<std::size_t>(q->bytes, 1)));
    std::sort(taken.begin(), taken.end());
    std::int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (at + bytes <= begin) break;
      at = std::max(at, (end + kAlign - 1) / kAlign * kAlign);
    }
    p.offset = at;
    size = std::max(size, at + bytes);
    placed.push_back(&p);
  }
  return size;
}

}  // namespace weft::detail::cuda
