// Array, the value that everything is a function of, and Arg, what functions take for an array: an array or a number.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/core/array/aval.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/index.h"
#include "weft/core/array/scalar.h"
#include "weft/core/base/ref.h"
#include "weft/core/errors/source_loc.h"

namespace weft {

class Arg;
class IndexList;
class AtIndex;
class Device;
class Sharding;
struct Shard;
struct ReduceOptions;
struct CumulativeOptions;
struct SortOptions;

namespace detail {
/// What an Array points to. The four kinds are derived classes in core/array/array_impl.h.
struct ArrayImpl : RefCounted {
  enum class Kind : std::uint8_t {
    literal,   ///< a scalar with its value in place, on no device yet
    concrete,  ///< data on one or more devices
    traced,    ///< a variable of a trace
    abstract,  ///< a shape and a dtype only
  };
  ArrayImpl(Kind k, Aval a) : aval(std::move(a)), kind(k) {}
  const Aval aval;
  const Kind kind;
};
Ref<ArrayImpl> make_scalar(const Number& value);
/// An int32 array; throws Error for a number that doesn't fit.
Ref<ArrayImpl> make_list(const std::int64_t* numbers, std::size_t count, SourceLoc loc);
/// The first integer of a list, and the line of the list.
struct ListStart {
  template <WholeNumber T>
  ListStart(T v, SourceLoc l = SourceLoc::here()) : value(static_cast<std::int64_t>(v)), loc(l) {}
  std::int64_t value;
  SourceLoc loc;
};
[[noreturn]] void throw_empty_array(SourceLoc loc);
/// Numbers next to each other that are an operand: a vector, std::array or span.
template <class R>
concept OperandNumbers = ScalarType<typename R::value_type> && !std::same_as<typename R::value_type, long double> &&
                         requires(const R& r) { *r.data(); } && !requires(const R& r) { r.rows(); } && !requires(const R& r) { r.rank(); };
Array array_of_elements(const void* elements, DType dtype, std::int64_t count, const Shape& shape, std::optional<DType> as, SourceLoc loc);
/// Copies the elements to `out`, converted to the dtype; waits for them, and throws where there are no values, and DTypeError for a number
/// that the dtype can't hold.
void read_elements(const Array& x, DType as, void* out, const char* operation, SourceLoc loc);
/// The address of the elements on the host; throws DTypeError if the dtype is not `as`.
const void* host_elements(const Array& x, DType as, SourceLoc loc);
}  // namespace detail

/// An immutable value handle: concrete, traced, or abstract (a shape and dtype only). Copying copies a pointer.
class Array {
 public:
  /// Empty: holds nothing until it is assigned to.
  Array() = default;
  /// A number: a weakly typed scalar.
  template <ScalarType T>
  Array(T value, SourceLoc = SourceLoc::here()) : impl_(detail::make_scalar(detail::Number(value))) {}
  /// A size or a count, as an integer number.
  Array(Int value, SourceLoc = SourceLoc::here()) : impl_(detail::make_scalar(value)) {}
  /// Abstract: only its shape and dtype can be read.
  Array(const ShapeDtypeStruct& aval);
  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  explicit Array(detail::Ref<detail::ArrayImpl> impl) : impl_(std::move(impl)) {}
  Array& operator=(const Array&) & = default;
  Array& operator=(Array&&) & noexcept = default;
#define WEFT_IMMUTABLE(op)                                                                                                          \
  template <class T>                                                                                                                \
  void operator op(const T&)&& {                                                                                                    \
    static_assert(!sizeof(T), "weft: an array's elements can't be assigned to: write x = x.at(i).set(v), x = x.at(i).add(v), ..."); \
  }
  WEFT_IMMUTABLE(=)
  WEFT_IMMUTABLE(+=)
  WEFT_IMMUTABLE(-=)
  WEFT_IMMUTABLE(*=)
  WEFT_IMMUTABLE(/=)
#undef WEFT_IMMUTABLE

  /// Whether it holds nothing (was default-constructed).
  bool is_empty_handle() const { return !impl_; }
  const Shape& shape() const { return aval().shape; }
  /// The size of one axis; a negative one counts from the end.
  std::int64_t shape(AxisNumber axis, SourceLoc loc = SourceLoc::here()) const;
  /// The shape over all devices and processes; shape() of an array that no process holds in part.
  const Shape& global_shape() const { return aval().shape; }
  DType dtype() const { return aval().dtype; }
  int ndim() const { return aval().ndim(); }
  std::int64_t size() const { return aval().size(); }
  /// The bytes of all elements.
  std::int64_t nbytes() const { return aval().size() * dtype().itemsize(); }
  /// The one element, converted, without a type to double. Throws ShapeError if there are more, ConcretizationError if it is traced,
  /// DTypeError where T can't hold it: a large or negative integer, NaN as an integer, an imaginary part. A fraction is cut off.
  template <ScalarType T = double>
  T item(SourceLoc loc = SourceLoc::here()) const {
    check_one_element(loc);
    T value{};
    detail::read_elements(*this, detail::storage_dtype<T>(), &value, "item", loc);
    return value;
  }
  /// All elements in row-major order, converted as by item.
  template <ScalarType T>
  std::vector<T> to_vector(SourceLoc loc = SourceLoc::here()) const {
    const std::size_t n = static_cast<std::size_t>(size());
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<unsigned char> bytes(n);
      detail::read_elements(*this, bool_, bytes.data(), "to_vector", loc);
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      std::vector<T> values(n);
      detail::read_elements(*this, detail::storage_dtype<T>(), values.data(), "to_vector", loc);
      return values;
    }
  }
  /// The elements in place, in row-major order, without a copy; valid while an Array holds them. Throws DTypeError for another dtype.
  template <ScalarType T>
  std::span<const T> data(SourceLoc loc = SourceLoc::here()) const {
    return {static_cast<const T*>(detail::host_elements(*this, detail::storage_dtype<T>(), loc)), static_cast<std::size_t>(size())};
  }
  const Array& block_until_ready() const;
  /// The value of a concrete scalar as a condition. Under grad, jvp and vjp of concrete inputs it is computed on demand; under jit, vmap,
  /// scan, ... it throws ConcretizationError.
  explicit operator bool() const;
  /// The one element, converted, as item: `double(x)`.
  template <ScalarType T>
  explicit operator T() const {
    return item<T>();
  }

  Sharding sharding() const;
  std::vector<Device> devices() const;
  std::vector<Shard> addressable_shards() const;
  bool is_fully_addressable() const;
  bool is_fully_replicated() const;

  Array operator()(Index a, Index b = Index::absent(), Index c = Index::absent(), Index d = Index::absent(), Index e = Index::absent(),
                   Index f = Index::absent()) const;
  template <std::convertible_to<Index>... More>
  Array operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, More... more) const {
    return (*this)[{a, b, c, d, e, f, g, Index(more)...}];
  }
  Array operator[](Index i) const;
  /// The same as x(...): `x[{slice(), newaxis}]`, and from C++23 on `x[slice(), newaxis]`.
  Array operator[](std::initializer_list<Index> index) const;
  /// The same of indices that a function gives: `x[nonzero(mask)]`, `x[triu_indices(3)]`, `x[ix_(rows, columns)]`.
  Array operator[](const IndexList& index) const;
  Array operator()(const IndexList& index) const;
  template <detail::WholeNumber T>
  Array operator[](std::initializer_list<T>) const {
    static_assert(!sizeof(T),
                  "weft: x({0, 1}) might mean an element or two rows: write x(0, 1) for the element, x(array({0, 1})) for the rows");
    return *this;
  }
#ifdef __cpp_multidimensional_subscript
  template <class... More>
  Array operator[](Index a, Index b, More&&... more) const {
    return (*this)(a, b, std::forward<More>(more)...);
  }
#endif
  AtIndex at(Index a, Index b = Index::absent(), Index c = Index::absent(), Index d = Index::absent(), Index e = Index::absent(),
             Index f = Index::absent()) const;
  template <std::convertible_to<Index>... More>
  auto at(Index a, Index b, Index c, Index d, Index e, Index f, Index g, More... more) const {
    return at_all({a, b, c, d, e, f, g, Index(more)...});
  }
  AtIndex at(const IndexList& index) const;

  // The functions of these names as methods, which stand well at the end of an expression.
  // clang-format off
#define WEFT_REDUCTION(name) Array name(Axis axis = none, SourceLoc loc = SourceLoc::here()) const; \
  Array name(Axis axis, const ReduceOptions&, SourceLoc loc = SourceLoc::here()) const; \
  Array name(const ReduceOptions&, SourceLoc loc = SourceLoc::here()) const
#define WEFT_RUNNING(name) Array name(SourceLoc loc = SourceLoc::here()) const; \
  Array name(detail::NoneValue auto, SourceLoc loc = SourceLoc::here()) const { return name(loc); } \
  Array name(AxisNumber axis, SourceLoc loc = SourceLoc::here()) const; \
  Array name(const CumulativeOptions&, SourceLoc loc = SourceLoc::here()) const
#define WEFT_SORTED(name) Array name(AxisNumber axis = -1, SourceLoc loc = SourceLoc::here()) const; \
  Array name(detail::NoneValue auto, SourceLoc loc = SourceLoc::here()) const { return ravel(loc).name(-1, loc); } \
  Array name(const SortOptions&, SourceLoc loc = SourceLoc::here()) const
#define WEFT_METHOD(name) Array name(SourceLoc loc = SourceLoc::here()) const
  WEFT_REDUCTION(sum); WEFT_REDUCTION(prod); WEFT_REDUCTION(mean); WEFT_REDUCTION(var); WEFT_REDUCTION(std); WEFT_REDUCTION(max);
  WEFT_REDUCTION(min); WEFT_REDUCTION(argmax); WEFT_REDUCTION(argmin); WEFT_REDUCTION(any); WEFT_REDUCTION(all);
  WEFT_METHOD(T); WEFT_METHOD(mT); WEFT_METHOD(ravel); WEFT_METHOD(flatten); WEFT_METHOD(real); WEFT_METHOD(imag); WEFT_METHOD(conj);
  WEFT_METHOD(conjugate); WEFT_METHOD(round);
  WEFT_RUNNING(cumsum); WEFT_RUNNING(cumprod); WEFT_SORTED(sort); WEFT_SORTED(argsort);
#undef WEFT_REDUCTION
#undef WEFT_RUNNING
#undef WEFT_SORTED
#undef WEFT_METHOD
  // clang-format on
  Array astype(DType dtype, SourceLoc loc = SourceLoc::here()) const;
  Array reshape(Shape shape, SourceLoc loc = SourceLoc::here()) const;
  template <std::convertible_to<Int>... Sizes>
  Array reshape(Int a, Int b, Sizes... more) const {
    return reshape(Shape(a, b, more...));
  }
  Array transpose(Axis permutation = none, SourceLoc loc = SourceLoc::here()) const;
  template <std::convertible_to<Int>... Axes>
  Array transpose(AxisNumber a, AxisNumber b, Axes... more) const {
    return transpose(Axis(int(a), int(b), more...));
  }
  Array swapaxes(AxisNumber a, AxisNumber b, SourceLoc loc = SourceLoc::here()) const;
  Array squeeze(Axis axis = none, SourceLoc loc = SourceLoc::here()) const;
  Array take(Arg indices, std::optional<AxisNumber> axis = {}) const;
  Array dot(Arg other) const;
  Array matmul(Arg other) const;
  Array clip(Arg lo, Arg hi) const;

  friend Array operator+(Arg a, Arg b);
  friend Array operator-(Arg a, Arg b);
  friend Array operator*(Arg a, Arg b);
  friend Array operator/(Arg a, Arg b);
  friend Array operator%(Arg a, Arg b);
  friend Array operator==(Arg a, Arg b);
  friend Array operator!=(Arg a, Arg b);
  friend Array operator<(Arg a, Arg b);
  friend Array operator<=(Arg a, Arg b);
  friend Array operator>(Arg a, Arg b);
  friend Array operator>=(Arg a, Arg b);
  friend Array operator&(Arg a, Arg b);
  friend Array operator|(Arg a, Arg b);
  friend Array operator^(Arg a, Arg b);
  friend Array operator<<(Arg a, Arg b);
  friend Array operator>>(Arg a, Arg b);
  friend Array operator-(Arg a);
  friend Array operator+(Arg a);
  friend Array operator~(Arg a);
  Array& operator+=(Arg b) &;
  Array& operator-=(Arg b) &;
  Array& operator*=(Arg b) &;
  Array& operator/=(Arg b) &;
  Array& operator%=(Arg b) &;
  Array& operator&=(Arg b) &;
  Array& operator|=(Arg b) &;
  Array& operator^=(Arg b) &;
  friend std::ostream& operator<<(std::ostream& os, const Array& x);

  /// For the library: what the handle points to, and its abstract value.
  const detail::Ref<detail::ArrayImpl>& impl() const { return impl_; }
  const detail::Aval& aval() const {
    if (!impl_) detail::throw_empty_array({});
    return impl_->aval;
  }

 private:
  AtIndex at_all(std::vector<Index> index) const;
  void check_one_element(SourceLoc loc) const;
  detail::Ref<detail::ArrayImpl> impl_;
};

/// The same as x.to_vector<T>().
template <ScalarType T>
std::vector<T> to_vector(const Array& x, SourceLoc loc = SourceLoc::here()) {
  return x.to_vector<T>(loc);
}

/// An operand: an Array, a number, a list of integers or a vector of numbers, and the line on which it was passed.
class Arg {
 public:
  Arg(const Array& x, SourceLoc loc = SourceLoc::here()) : array_(x), loc_(loc) {}
  template <ScalarType T>
  Arg(T x, SourceLoc loc = SourceLoc::here()) : array_(x, loc), loc_(loc) {}
  Arg(Int x, SourceLoc loc = SourceLoc::here()) : array_(x, loc), loc_(loc) {}
  // Not of an initializer_list: g++ makes one of `{.name = 1}`, and would take options for operands.
  /// A list of two or more integers: `take(x, {0, 2}, 0)`. (Lists of floating numbers have no dtype of their own: array({...}, float64).)
  template <detail::WholeNumber B, detail::WholeNumber... More>
  Arg(detail::ListStart first, B second, More... more) : loc_(first.loc) {
    const std::int64_t numbers[] = {first.value, static_cast<std::int64_t>(second), static_cast<std::int64_t>(more)...};
    array_ = Array(detail::make_list(numbers, sizeof...(More) + 2, loc_));
  }
  /// A copy of a vector's, std::array's or span's numbers, of their type: `matmul(a, v)`.
  template <detail::OperandNumbers R>
  Arg(const R& v, SourceLoc loc = SourceLoc::here())
      : array_(detail::array_of_elements(v.data(), detail::storage_dtype<typename R::value_type>(), static_cast<std::int64_t>(v.size()),
                                         Shape(v.size()), {}, loc)),
        loc_(loc) {}
  const Array& array() const {
    if (array_.is_empty_handle()) detail::throw_empty_array(loc_);
    return array_;
  }
  const detail::Aval& aval() const { return array().aval(); }
  SourceLoc where() const { return loc_; }

 private:
  Array array_;
  SourceLoc loc_;
};

/// Several operands: `{x, y, 1.f}` or a vector.
class Args {
 public:
  Args(std::initializer_list<Arg> xs) : args_(xs) {}
  Args(const std::vector<Array>& xs, SourceLoc loc = SourceLoc::here());
  /// Of what a function gives to be taken apart: `stack(meshgrid(x, y), -1)`.
  template <class T>
    requires std::convertible_to<decltype(std::get<0>(std::declval<const T&>())), const Array&>
  Args(const T& xs, SourceLoc loc = SourceLoc::here())
      : args_(std::apply([loc](const auto&... x) { return std::vector<Arg>{Arg(x, loc)...}; }, xs)) {}
  const std::vector<Arg>& args() const { return args_; }

 private:
  std::vector<Arg> args_;
};

/// Arrays that a function gives and that together are an index: a vector, std::array, pair or tuple of them.
class IndexList {
 public:
  template <class T>
    requires std::constructible_from<Args, const T&>
  IndexList(const T& arrays, SourceLoc loc = SourceLoc::here()) : arrays_(arrays), loc_(loc) {}
  std::vector<Index> indices() const;
  SourceLoc where() const { return loc_; }

 private:
  Args arrays_;
  SourceLoc loc_;
};

/// Text that begins a call with a pack of operands, and the line it was passed on.
class TextArg {
 public:
  TextArg(const char* s, SourceLoc loc = SourceLoc::here());
  TextArg(const std::string& s, SourceLoc loc = SourceLoc::here()) : text_(s), loc_(loc) {}
  const std::string& str() const { return text_; }
  SourceLoc where() const { return loc_; }

 private:
  std::string text_;
  SourceLoc loc_;
};

// Programs that were written for JAX name its modules: `jnp::sin(x)`, `lax::scan(...)`, `jax::random::key(0)`. jnp is a namespace of its
// own for the sake of `jnp::pi`: as names of weft, constants would meet the user's beside `using namespace weft`. lax has functions of its
// own where jax.lax's differ from jax.numpy's of one name.
namespace constants {}
namespace jnp {
using namespace ::weft;
using namespace ::weft::constants;
}  // namespace jnp
namespace lax {
using namespace ::weft;
}  // namespace lax
namespace jax {
using namespace ::weft;
namespace numpy = ::weft::jnp;
namespace flatten_util = ::weft;
namespace ops = ::weft;
namespace tree_util = ::weft;
}  // namespace jax

}  // namespace weft
