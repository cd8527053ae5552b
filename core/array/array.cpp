#include "weft/core/array/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_reads.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/convert_elements.h"
#include "weft/core/array/fitting_elements.h"
#include "weft/core/array/host.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/trace/number_reads.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {

void throw_empty_array(SourceLoc loc) { throw Error(kEmptyArray, effective_loc(loc)); }

Ref<ArrayImpl> make_scalar(const Number& value) { return make_literal(value, value.default_dtype(), true).impl(); }

Ref<ArrayImpl> make_list(const std::int64_t* numbers, std::size_t count, SourceLoc loc) {
  const auto n = static_cast<std::int64_t>(count);
  for (std::int64_t i = 0; i < n; ++i)
    if (numbers[i] != static_cast<std::int32_t>(numbers[i]))
      throw DTypeError(fmt::format("the number {} doesn't fit into int32; write array({{...}}, int64)", numbers[i]), loc);
  return array_of_elements(numbers, int64, n, {n}, int32, loc).impl();
}

Array make_literal(const Number& value, DType dtype, bool weak) {
  alignas(16) ScalarBits bits{};
  switch (value.kind) {
    case Number::Kind::boolean:
    case Number::Kind::integer: convert_elements(&value.integer, int64, bits.data(), dtype, 1); break;
    case Number::Kind::unsigned_integer: convert_elements(&value.integer, uint64, bits.data(), dtype, 1); break;
    case Number::Kind::floating: convert_elements(&value.real, float64, bits.data(), dtype, 1); break;
    case Number::Kind::complex: {
      const double parts[2] = {value.real, value.imag};
      convert_elements(parts, complex128, bits.data(), dtype, 1);
    }
  }
  // All of the value is kept, but for the imaginary part of a complex number that becomes a real one.
  const bool keeps = weak && (value.kind == Number::Kind::complex ? dtype.is_complex() : dtype.is_inexact());
  return Array(Ref<ArrayImpl>(new LiteralArray(Aval{{}, dtype, weak}, bits, keeps ? std::optional(value) : std::nullopt)));
}

Array make_literal(const Aval& aval, const ScalarBits& bits, std::optional<Number> number) {
  ScalarBits element{};  // programs are compared and hashed with all bytes
  std::copy_n(bits.begin(), aval.dtype.itemsize(), element.begin());
  return Array(Ref<ArrayImpl>(new LiteralArray(aval, element, number)));
}
Array make_abstract(const Aval& aval) { return Array(Ref<ArrayImpl>(new AbstractArray(aval))); }

Number number_of(const LiteralArray& literal) {
  if (literal.number) return *literal.number;
  const DType dtype = literal.aval.dtype;
  if (dtype.is_complex()) {
    double parts[2];
    convert_elements(literal.bits.data(), dtype, parts, complex128, 1);
    Number n;
    n.kind = Number::Kind::complex, n.real = parts[0], n.imag = parts[1];
    return n;
  }
  if (dtype.is_floating()) {
    double v;
    convert_elements(literal.bits.data(), dtype, &v, float64, 1);
    return Number(v);
  }
  if (dtype == uint64) {
    unsigned long long v;
    std::memcpy(&v, literal.bits.data(), sizeof v);
    return Number(v);
  }
  long long v;
  convert_elements(literal.bits.data(), dtype, &v, int64, 1);
  return dtype.is_bool() ? Number(v != 0) : Number(v);
}

Array make_concrete(const Aval& aval, const void* bytes) {
  const Ref<Buffer> buffer = host().allocate(static_cast<std::size_t>(aval.bytes()));
  if (aval.bytes() > 0) std::memcpy(buffer->data(), bytes, static_cast<std::size_t>(aval.bytes()));
  return Array(Ref<ArrayImpl>(new ConcreteArray(aval, buffer)));
}

namespace {

// The array itself, or the value of a traced one if it can be computed; else throws an error that explains why not.
Array value_or_throw(const Array& x, const char* operation, SourceLoc loc) {
  const Aval& aval = x.aval();
  if (x.impl()->kind == ArrayImpl::Kind::abstract)
    throw ConcretizationError(fmt::format("{}: {} is abstract: it has a shape and a dtype, but no value", operation, to_string(aval)), loc);
  const TracedArray* t = as_traced(x);
  if (!t) return x;
  check_not_leaked(x, operation, loc);
  Array value = concrete_or_empty(x);
  if (!value.is_empty_handle()) return value;
  const auto [maker, line] = t->trace->origin(t->var);
  const std::string what =
      maker.empty() ? fmt::format("an input {}", to_string(aval)) : fmt::format("the result {} of {}", to_string(aval), maker);
  throw ConcretizationError(
      fmt::format(
          "{}: {} has no value yet: it is traced ({}). Use cond, where or while_loop instead of a C++ branch or loop on it, "
          "&, | and ~ instead of &&, || and !, declare the parameter as int, bool, ... if it is a constant, or compute it outside of the "
          "transform",
          operation, what, t->trace->what()),
      loc ? loc : line);
}

// A host address of the elements, which are gathered into `storage` if they aren't in one host buffer.
const void* elements(const Array& x, std::vector<std::byte>& storage, SourceLoc loc) {
  if (const LiteralArray* literal = as_literal(x)) return literal->bits.data();
  const ConcreteArray& c = *as_concrete(x);
  host().wait(c);
  if (c.buffer && c.buffer->on_host()) return c.buffer->data();
  storage.resize(static_cast<std::size_t>(c.aval.bytes()));
  host().read(c, storage.data(), loc);
  return storage.data();
}

}  // namespace

void throw_donated(const Array& x, const char* operation, SourceLoc loc) {
  throw Error(
      fmt::format(
          "{}: the array {} was donated to a jitted function (donate_argnums), which has taken its memory; keep a copy, or don't donate it",
          operation, to_string(x.aval())),
      loc);
}

void read_elements(const Array& x, DType as, void* out, const char* operation, SourceLoc loc) {
  if (x.dtype().is_key() != as.is_key())
    throw DTypeError(
        fmt::format("{}: {} holds keys, which are not numbers; random::key_data gives their uint32 parts", operation, to_string(x.aval())),
        loc);
  guarded(operation, loc, [&] {
    const Array value = value_or_throw(x, operation, loc);
    const ArrayReads of_value(value, operation, loc);
    std::vector<std::byte> storage;
    const void* const from = elements(value, storage, loc);
    if (const std::optional<Misfit> misfit = first_misfit(from, value.dtype(), as, value.size()))
      throw DTypeError(fmt::format("{}: {}{} is {}, which {} can't hold; read it as a wider type, or clip or convert it first", operation,
                                   value.ndim() == 0 ? "" : fmt::format("element {} of ", misfit->position), to_string(value.aval()),
                                   misfit->number, as.name()),
                       loc);
    convert_elements(from, value.dtype(), out, as, value.size());
  });
  if (as_traced(x) && as.is_inexact() && x.dtype().is_inexact()) note_number_read(operation, loc);
}

const void* host_elements(const Array& x, DType as, SourceLoc loc) {
  const Aval& aval = x.aval();
  if (aval.dtype != as)
    throw DTypeError(fmt::format("data: asked for {} elements of {}; use data<T>() of just its dtype, or to_vector<T>(), which converts",
                                 as.name(), to_string(aval)),
                     loc);
  const Array value = value_or_throw(x, "data", loc);
  const ArrayReads of_value(value, "data", loc);
  if (!as_traced(x)) {
    if (const LiteralArray* literal = as_literal(value)) return literal->bits.data();
    if (const ConcreteArray* c = as_concrete(value); c->buffer && c->buffer->on_host()) {
      host().wait(*c);
      return c->buffer->data();
    }
  }
  throw Error(
      fmt::format("data: the elements of {} are not in one block of host memory; use to_vector<T>(), or device_get first", to_string(aval)),
      loc);
}

}  // namespace detail

using namespace detail;

Array::Array(const ShapeDtypeStruct& aval) : impl_(make_abstract(Aval{aval.shape, aval.dtype}).impl()) {}

void Array::check_one_element(SourceLoc loc) const {
  if (size() != 1) throw ShapeError(fmt::format("item: {} has {} elements; item reads an array of one", to_string(aval()), size()), loc);
}

const Array& Array::block_until_ready() const {
  if (const ConcreteArray* c = as_concrete(*this)) {
    const ArrayReads reads(*this, "block_until_ready", {});
    host().wait(*c);
  }
  return *this;
}

Array::operator bool() const {
  if (size() != 1)
    throw ShapeError(
        fmt::format("bool: {} has {} elements, which is not a condition; use any or all, and &, | and ~ instead of &&, || and !",
                    to_string(aval()), size()));
  bool value = false;
  read_elements(*this, bool_, &value, "bool", effective_loc({}));
  return value;
}

Args::Args(const std::vector<Array>& xs, SourceLoc loc) {
  for (const Array& x : xs) args_.emplace_back(x, loc);
}

}  // namespace weft
