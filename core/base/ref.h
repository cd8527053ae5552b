// Shared ownership: an intrusive count, and the handle that keeps it. The count is changed by the compiler's own atomic operations, since
// every program that includes weft would otherwise read <atomic>.
#pragma once
#include <cstdint>
#include <utility>

namespace weft::detail {

/// Base of everything that is shared by handles. The count is atomic, so handles may be copied by any thread.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;
  /// Whether exactly one handle is left; then its owner may reuse the object.
  bool unique() const { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 1; }

 private:
  template <class T>
  friend class Ref;
  mutable std::uint32_t count_ = 0;
};

/// An intrusive shared pointer to a RefCounted. Half the size of a std::shared_ptr and one allocation less.
template <class T>
class Ref {
 public:
  constexpr Ref() = default;
  Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& o) : p_(o.p_) { retain(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
    requires requires(U* u, T*& t) { t = u; }
  Ref(const Ref<U>& o) : p_(o.get()) {
    retain();
  }
  ~Ref() { release(); }
  Ref& operator=(const Ref& o) {
    Ref(o).swap(*this);
    return *this;
  }
  Ref& operator=(Ref&& o) noexcept {
    Ref(std::move(o)).swap(*this);
    return *this;
  }
  void swap(Ref& o) noexcept { std::swap(p_, o.p_); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

 private:
  void retain() const {
    if (p_) __atomic_fetch_add(&p_->count_, 1, __ATOMIC_RELAXED);
  }
  void release() {
    if (p_ && __atomic_fetch_sub(&p_->count_, 1, __ATOMIC_ACQ_REL) == 1) delete p_;
  }
  T* p_ = nullptr;
};

/// A handle within an object of the user's: moving from it leaves it as it is, so that a moved-from function or program can be used.
template <class T>
struct KeptRef : Ref<T> {
  using Ref<T>::Ref;
  KeptRef(Ref<T> o) noexcept : Ref<T>(std::move(o)) {}
  KeptRef(const KeptRef& o) noexcept : Ref<T>(o) {}
  KeptRef& operator=(const KeptRef&) = default;
};

/// A new T, owned by the returned handle.
template <class T, class... A>
Ref<T> make_ref(A&&... args) {
  return Ref<T>(new T(std::forward<A>(args)...));
}

}  // namespace weft::detail
