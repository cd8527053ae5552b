// The floating-point environment that weft computes in, whatever its caller's thread has set: rounding to nearest, subnormal numbers kept,
// no traps. Each place where elements are computed, converted or compiled opens a scope, so that a program's bits don't depend on the
// caller's settings nor on which thread computed an element.
#pragma once
#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace weft::detail {

/// Whether this thread's settings are the standard ones. Takes a nanosecond or two.
inline bool has_standard_floats() {
#if defined(__x86_64__)
  // Of SSE all but the flags of what has happened; of x87, which long double uses, the traps, the precision and the rounding.
  unsigned short x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3fu) == 0x1f80u && (x87 & 0xf3fu) == 0x33fu;
#elif defined(__aarch64__)
  unsigned long control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control == 0;
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

/// The standard settings within a scope; what was set before comes back at its end, its flags of past events too.
class [[nodiscard]] StandardFloats {
 public:
  StandardFloats() {
    if (!has_standard_floats()) enter();
  }
  ~StandardFloats() {
    if (changed_) std::fesetenv(&saved_);
  }
  StandardFloats(const StandardFloats&) = delete;
  StandardFloats& operator=(const StandardFloats&) = delete;

 private:
  void enter() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
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
inline void restore_standard_floats() {
  if (!has_standard_floats()) std::fesetenv(FE_DFL_ENV);
}

}  // namespace weft::detail
