// The four kinds of arrays. Internal: public code sees the handle only.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

class Trace;

/// The bytes of one element of any dtype, little-endian, the rest zero.
using ScalarBits = std::array<std::byte, 16>;

/// One device's memory. The runtime derives from it; the memory is given back when the last handle goes.
class Buffer : public RefCounted {
 public:
  virtual void* data() = 0;  ///< address in the device's memory; a host address for host devices
  virtual std::size_t bytes() const = 0;
  virtual int device_id() const = 0;  ///< index in devices()
  virtual bool on_host() const = 0;
  /// Whether the memory has one owner only, so that it may be overwritten.
  virtual bool exclusive() const { return unique(); }
};

/// The devices of an array and how it is sharded over them; absent for uncommitted arrays. Implemented in runtime/sharded.
class Placement : public RefCounted {
 public:
  virtual std::string describe() const = 0;
};

struct LiteralArray final : ArrayImpl {
  LiteralArray(Aval a, ScalarBits b, std::optional<Number> n = {}) : ArrayImpl(Kind::literal, std::move(a)), bits(b), number(n) {}
  alignas(16) const ScalarBits bits;   // read in place as the element that it holds
  const std::optional<Number> number;  ///< of a weak float: the C++ number that it was made of, for conversion to a wider dtype
};

struct ConcreteArray final : ArrayImpl {
  ConcreteArray(Aval a, Ref<Buffer> b) : ArrayImpl(Kind::concrete, std::move(a)), buffer(std::move(b)) {}
  ConcreteArray(Aval a, std::vector<Ref<Buffer>> s, Ref<const Placement> p)
      : ArrayImpl(Kind::concrete, std::move(a)), shards(std::move(s)), placement(std::move(p)) {
    if (shards.size() == 1) buffer = shards[0];
  }
  Ref<Buffer> buffer;               ///< all elements in row-major order, when they are in one place; null when sharded
  std::vector<Ref<Buffer>> shards;  ///< one a device, in the placement's order; empty when uncommitted
  Ref<const Placement> placement;   ///< null: uncommitted, follows what it is used with
};

struct TracedArray final : ArrayImpl {
  TracedArray(Aval a, Ref<Trace> t, std::uint32_t v);
  ~TracedArray() override;
  const Ref<Trace> trace;
  const std::uint32_t var;
};

struct AbstractArray final : ArrayImpl {
  explicit AbstractArray(Aval a) : ArrayImpl(Kind::abstract, std::move(a)) {}
};

inline const LiteralArray* as_literal(const Array& x) {
  return x.impl() && x.impl()->kind == ArrayImpl::Kind::literal ? static_cast<const LiteralArray*>(x.impl().get()) : nullptr;
}
inline const ConcreteArray* as_concrete(const Array& x) {
  return x.impl() && x.impl()->kind == ArrayImpl::Kind::concrete ? static_cast<const ConcreteArray*>(x.impl().get()) : nullptr;
}
inline const TracedArray* as_traced(const Array& x) {
  return x.impl() && x.impl()->kind == ArrayImpl::Kind::traced ? static_cast<const TracedArray*>(x.impl().get()) : nullptr;
}

/// Whether its memory was given to a jitted function (donate_argnums), so that it holds nothing any more.
inline bool is_donated(const Array& x) {
  const ConcreteArray* c = as_concrete(x);
  return c && !c->buffer && c->shards.empty();
}
[[noreturn]] void throw_donated(const Array& x, const char* operation, SourceLoc loc);

/// A strongly or weakly typed scalar of the dtype, from a number (rounded, wrapped as C++ does).
Array make_literal(const Number& value, DType dtype, bool weak = false);
Array make_literal(const Aval& aval, const ScalarBits& bits, std::optional<Number> number = {});
Array make_abstract(const Aval& aval);
/// The element's value: real or integer part as a Number.
Number number_of(const LiteralArray& literal);

}  // namespace weft::detail
