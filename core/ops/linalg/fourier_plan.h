// The discrete Fourier transform of one sequence, as plainly as it can be fast. Takes memory from the C library only and throws nothing, as
// exported object files call it too, from programs that may not be written in C++.
#pragma once
#include <complex>
#include <cstdint>
#include <cstdlib>

namespace weft::detail {

/// Memory for numbers; null where there is none left.
template <class T>
class CBlock {
 public:
  CBlock() = default;
  explicit CBlock(std::int64_t n) : data_(static_cast<T*>(std::malloc(static_cast<std::size_t>(n > 0 ? n : 1) * sizeof(T)))) {}
  ~CBlock() { std::free(data_); }
  CBlock(const CBlock&) = delete;
  CBlock& operator=(const CBlock&) = delete;
  CBlock(CBlock&& o) noexcept : data_(o.data_) { o.data_ = nullptr; }
  CBlock& operator=(CBlock&& o) noexcept {
    swap(o);
    return *this;
  }
  void swap(CBlock& o) noexcept {
    T* const other = o.data_;
    o.data_ = data_, data_ = other;
  }
  explicit operator bool() const { return data_ != nullptr; }
  T& operator[](std::int64_t i) const { return data_[i]; }
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// A plan for sequences of n complex numbers: by the prime factors of n while they are small, else as a convolution (Bluestein).
class FourierPlan {
 public:
  explicit FourierPlan(std::int64_t n);
  ~FourierPlan();
  FourierPlan(const FourierPlan&) = delete;
  FourierPlan& operator=(const FourierPlan&) = delete;
  /// False: there was no memory for it.
  bool ready() const { return ready_; }
  /// x[k] becomes the sum of x[j] exp(-2 pi i j k / n); the plan's memory is used, so one thread at a time.
  void run(std::complex<double>* x);

 private:
  using Complex = std::complex<double>;
  void by_factors(Complex* x);
  void by_convolution(Complex* x);

  const std::int64_t n_;
  bool ready_ = false;
  std::int64_t factors_[64];
  int num_factors_ = 0;
  CBlock<Complex> roots_, work_;
  // For a length with a large prime factor.
  FourierPlan* convolution_ = nullptr;
  std::int64_t padded_ = 0;
  CBlock<Complex> chirp_, chirp_spectrum_, line_;
};

}  // namespace weft::detail
