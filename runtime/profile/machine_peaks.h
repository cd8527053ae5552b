// The highest rates that this machine reaches in weft's own measurements.
#pragma once

namespace weft::detail {

struct MachinePeaks {
  double flops = 0;  ///< a second, of float32, by all threads: those of a large matrix product
  double bytes = 0;  ///< a second, by all threads: those that a sum of two arrays, larger than the caches, reads and writes
  /// The shortest time in which so much can be done: the roofline.
  double seconds(double wanted_flops, double wanted_bytes) const {
    const double by_flops = wanted_flops / flops, by_bytes = wanted_bytes / bytes;
    return by_flops > by_bytes ? by_flops : by_bytes;
  }
};
/// The host's peaks, measured when it is first asked for (about 0.2 s), the best of some runs.
const MachinePeaks& host_peaks();

}  // namespace weft::detail
