// Signals: convolutions by Fourier transforms, trends, spectra and short-time transforms (jax.scipy.signal).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/functions/convolution.h"

namespace weft {

/// The convolution along axes, all of them if none are given, by Fourier transforms: mode "full", "same", of a's shape, or "valid", where
/// one operand lies inside of the other. Along the other axes both have the same sizes. Throws Error for another mode.
Array fftconvolve(Arg a, Arg b, TextArg mode = "full", Axis axes = none);
/// The cross-correlation of two matrices, the second one conjugated, with zeros around them; modes as of convolve2d.
Array correlate2d(Arg a, Arg b, TextArg mode = "full");
Array correlate2d(Arg a, Arg b, ModeOption options);

/// Options of detrend.
struct DetrendOptions {
  AxisNumber axis = -1;         ///< along which
  std::string type = "linear";  ///< what is subtracted: "linear" the best straight line, "constant" the mean
  std::vector<Int> bp = {};     ///< where a line ends and the next one begins
};
/// x without its trend.
Array detrend(Arg x, DetrendOptions options = {});

/// A window: "hann", "hamming", "blackman", "bartlett" or "boxcar", in their periodic forms, or its values.
class SpectralWindow {
 public:
  SpectralWindow(const char* name) : name_(name) {}
  SpectralWindow(std::string name) : name_(std::move(name)) {}
  SpectralWindow(const Array& values) : values_(values) {}
  /// Empty where values are given.
  const std::string& name() const { return name_; }
  const std::optional<Array>& values() const { return values_; }

 private:
  std::string name_;
  std::optional<Array> values_;
};
/// Options of welch and csd.
struct WelchOptions {
  double fs = 1;                     ///< samples in a unit of time
  SpectralWindow window = "hann";    ///< what segments are multiplied by
  std::optional<Int> nperseg = {};   ///< the size of a segment; absent: the window's, or the signal's
  std::optional<Int> noverlap = {};  ///< how many samples neighbouring segments share; absent: half of a segment
  std::optional<Int> nfft = {};      ///< the size of the transforms, with zeros behind; absent: of a segment
  std::string detrend = "constant";  ///< of each segment: as of detrend, or "none"
  bool return_onesided = true;       ///< of real signals: the frequencies from 0 up, counted twice
  std::string scaling = "density";   ///< "density": per unit of frequency; "spectrum": of each frequency
  AxisNumber axis = -1;              ///< of time
  std::string average = "mean";      ///< of the segments: "mean" or "median"
};
/// Result of welch and csd.
struct PowerSpectrum {
  Array frequencies;  ///< in cycles in a unit of time
  Array power;        ///< with the frequencies in the place of time; of csd complex
};
/// The power of a signal's frequencies, averaged over overlapping segments (P. Welch, 1967).
PowerSpectrum welch(Arg x, WelchOptions options = {});
/// The power that two signals share, by frequency.
PowerSpectrum csd(Arg x, Arg y, WelchOptions options = {});

/// Options of stft.
struct StftOptions {
  double fs = 1;                     ///< as of WelchOptions
  SpectralWindow window = "hann";    ///< as of WelchOptions
  Int nperseg = 256;                 ///< as of WelchOptions; at most the signal's size
  std::optional<Int> noverlap = {};  ///< as of WelchOptions
  std::optional<Int> nfft = {};      ///< as of WelchOptions
  bool return_onesided = true;       ///< as of WelchOptions
  std::string boundary = "zeros";    ///< what half a segment at both ends is filled with: "zeros", "even", "odd", "constant" or "none"
  bool padded = true;                ///< whether zeros behind fill the last segment
  AxisNumber axis = -1;              ///< of time
};
/// Result of stft.
struct ShortTimeTransform {
  Array frequencies;  ///< in cycles in a unit of time
  Array times;        ///< of the segments' middles
  Array transform;    ///< complex, with frequencies in the place of time, and times as the last axis
};
/// The Fourier transforms of overlapping segments.
ShortTimeTransform stft(Arg x, StftOptions options = {});
/// Options of istft.
struct IstftOptions {
  double fs = 1;                              ///< as of WelchOptions
  SpectralWindow window = "hann";             ///< that of stft
  std::optional<Int> nperseg = {};            ///< that of stft; absent: by the number of frequencies
  std::optional<Int> noverlap = {};           ///< that of stft
  std::optional<Int> nfft = {};               ///< that of stft
  bool input_onesided = true;                 ///< whether stft's return_onesided was set
  bool boundary = true;                       ///< whether stft extended the signal
  AxisNumber time_axis = -1, freq_axis = -2;  ///< of the transform
};
/// Result of istft.
struct TimeSignal {
  Array times;   ///< of the samples
  Array signal;  ///< real, or complex if the transform isn't one-sided
};
/// The signal whose short-time transform this is.
TimeSignal istft(Arg transform, IstftOptions options = {});

}  // namespace weft
