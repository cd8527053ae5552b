// The floating-point environment that weft computes in, whatever its caller's thread has set: rounding to nearest, no traps, subnormal
// numbers kept, or flushed to zero where config.flush_subnormals asks for it. Each place where elements are computed, converted or compiled
// opens a scope, so that a program's bits don't depend on the caller's settings nor on which thread computed an element.
#pragma once
#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weft::detail {

/// Whether programs and operations take subnormal numbers for zeros: config.flush_subnormals, or WEFT_FLUSH_SUBNORMALS=1.
bool flush_subnormals();

#if defined(__x86_64__)
inline constexpr unsigned kFlush = 0x8040;  // of operands and of results
#elif defined(__aarch64__)
inline constexpr unsigned long kFlush = 1ul << 24;
#endif

/// Whether this thread's settings are the standard ones, or those and flushing. Takes a nanosecond or two.
inline bool has_standard_floats(bool flushing = false) {
#if defined(__x86_64__)
  // Of SSE all but the flags of what has happened; of x87, which long double uses, the traps, the precision and the rounding.
  unsigned short x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3fu) == (flushing ? 0x1f80u | kFlush : 0x1f80u) && (x87 & 0xf3fu) == 0x33fu;
#elif defined(__aarch64__)
  unsigned long control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control == (flushing ? kFlush : 0);
#else
  return !flushing && std::fegetround() == FE_TONEAREST;
#endif
}
/// Gives this thread the standard settings, with subnormal numbers flushed where asked for and possible.
inline void set_standard_floats(bool flushing = false) {
  std::fesetenv(FE_DFL_ENV);
#if defined(__x86_64__)
  if (flushing) _mm_setcsr(_mm_getcsr() | kFlush);
#elif defined(__aarch64__)
  if (flushing) __asm__ volatile("msr fpcr, %0" : : "r"(kFlush));
#else
  static_cast<void>(flushing);
#endif
}

/// The standard settings within a scope; what was set before comes back at its end, its flags of past events too.
class [[nodiscard]] StandardFloats {
 public:
  explicit StandardFloats(bool flushing = false) {
    if (!has_standard_floats(flushing)) enter(flushing);
  }
  ~StandardFloats() {
    if (changed_) std::fesetenv(&saved_);
  }
  StandardFloats(const StandardFloats&) = delete;
  StandardFloats& operator=(const StandardFloats&) = delete;

 private:
  void enter(bool flushing) noexcept {
    std::fegetenv(&saved_);
    set_standard_floats(flushing);
    changed_ = true;
  }
  std::fenv_t saved_;
  bool changed_ = false;
};

/// A number that the host computes: f() in the standard settings. Rounded before they are left, as a compiler knows of no settings.
template <class F>
double standard(F&& f) {
  const StandardFloats floats;
  const volatile double rounded = f();
  return rounded;
}

/// The standard settings from here on: for threads of weft's own, and after functions of users, who may have changed them.
inline void restore_standard_floats(bool flushing = false) {
  if (!has_standard_floats(flushing)) set_standard_floats(flushing);
}

}  // namespace weft::detail
