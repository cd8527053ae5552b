// The options of a compilation: a CompileOptionsProto in protocol buffers' wire format (https://protobuf.dev/programming-guides/encoding/),
// of which weft reads the number of devices, and which they are.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace weft::pjrt {

struct CompileOptions {
  int num_replicas = 1, num_partitions = 1;
  std::vector<int> devices;            ///< ids, replica by replica; empty: it isn't said
  bool is_portable = false;            ///< a program of one device that may run on any
  std::vector<std::string> overrides;  ///< names of options of the compiler's own that are set
};
/// Throws Failure for bytes that are no such message.
CompileOptions parse_options(std::string_view bytes);

/// The devices of one replica's partitions, or of several, as a DeviceAssignmentProto.
std::string device_assignment_bytes(const std::vector<int>& devices, int num_replicas, int num_partitions);

}  // namespace weft::pjrt
