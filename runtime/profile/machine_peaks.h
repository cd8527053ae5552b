// The highest rates that this machine reaches in weft's own measurements.
#pragma once

namespace weft::detail {

struct MachinePeaks {
  double flops = 0;  ///< per second, in float32, by all threads: the rate of a large matmul
  double bytes = 0;  ///< per second, by all threads: the rate at which a sum of two arrays larger than the caches reads and writes
  /// The roofline: the shortest time for this many operations and bytes.
  double seconds(double wanted_flops, double wanted_bytes) const {
    const double by_flops = wanted_flops / flops, by_bytes = wanted_bytes / bytes;
    return by_flops > by_bytes ? by_flops : by_bytes;
  }
};
/// The host's peaks, measured by the first call (about 0.2 s): the best of several runs.
const MachinePeaks& host_peaks();

}  // namespace weft::detail
