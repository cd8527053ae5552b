// Memory of mapped programs that are replayed: the allocations of one run are recorded, and the runs that follow get the same
// addresses.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "weft/backends/cuda/device.h"

namespace weft::detail::cuda {

/// While a device has one (GpuDevice::supply), it records the device's new arrays, or places them. Used with the device's order() held.
class GraphMemory {
 public:
  enum class Mode { noting, giving, capturing };
  struct Piece {
    std::size_t bytes = 0;
    DevicePointer at = 0;  ///< in the run that was noted
    int born = 0, died = -1;
    bool result = false;
    std::int64_t offset = 0;  ///< of one that is not a result: in the program's own memory
  };
  /// The allocations of one run on a device, in order.
  using Pieces = std::vector<Piece>;

  explicit GraphMemory(std::vector<GpuDevice*> devices);
  GraphMemory(std::vector<GpuDevice*> devices, const std::vector<Pieces>& known, std::vector<std::vector<DevicePointer>> places,
              bool capturing);
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  Mode mode() const { return mode_; }
  /// The address of the device's next array; while recording, that is `noted`, where it was allocated.
  DevicePointer take(const GpuDevice& device, std::size_t bytes, DevicePointer noted);
  void released(const GpuDevice& device, DevicePointer p);
  /// Marks the run as not replayable, because it needs host memory or reads values on the host.
  void needs_host() { repeatable_ = false; }
  /// Marks that value-dependent control flow is in the graphs, as conditional nodes.
  void uses_conditions() { conditions_ = true; }
  bool conditions() const { return conditions_; }
  void launched(int count) { launches_ += count; }
  void communicated(bool first_group, std::int64_t bytes);

  bool repeatable() const;
  const std::vector<Pieces>& pieces() const { return pieces_; }
  int collectives() const { return collectives_; }
  std::int64_t moved_bytes() const { return moved_bytes_; }

 private:
  std::size_t number_of(const GpuDevice& device) const;

  const std::vector<GpuDevice*> devices_;
  Mode mode_ = Mode::noting;
  std::vector<Pieces> pieces_;
  std::vector<std::vector<DevicePointer>> places_;
  std::vector<std::size_t> next_;
  bool repeatable_ = true, conditions_ = false;
  int events_ = 0, launches_ = 0, collectives_ = 0;
  std::int64_t moved_bytes_ = 0;
};

/// Places in one piece of memory for what is not a result; its size.
std::int64_t place_pieces(GraphMemory::Pieces& pieces);

}  // namespace weft::detail::cuda
