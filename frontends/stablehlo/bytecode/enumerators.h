// The names of StableHLO's enumerators, by the numbers that bytecode has for them. Those of one list are the same in VHLO and StableHLO.
#pragma once
#include <array>

namespace weft::detail::mlir {

inline constexpr std::array kComparisonDirections{"EQ", "NE", "GE", "GT", "LE", "LT"};
inline constexpr std::array kComparisonTypes{"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
inline constexpr std::array kApiVersions{"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                         "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
inline constexpr std::array kFftTypes{"FFT", "IFFT", "RFFT", "IRFFT"};
inline constexpr std::array kPrecisions{"DEFAULT", "HIGH", "HIGHEST"};
inline constexpr std::array kRngAlgorithms{"DEFAULT", "THREE_FRY", "PHILOX"};
inline constexpr std::array kRngDistributions{"", "UNIFORM", "NORMAL"};
inline constexpr std::array kTransposes{"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
inline constexpr std::array kAccuracyModes{"DEFAULT", "HIGHEST", "TOLERANCE"};

}  // namespace weft::detail::mlir
