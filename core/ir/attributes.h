// The attributes of a composite: values, beside its operands, that a kernel for it needs.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/integer.h"

namespace weft {

/// The value of an attribute: a bool, an integer, a floating-point number or a text.
class Attribute {
 public:
  enum class Kind { boolean, integer, number, text };
  Attribute() = default;
  Attribute(bool v) : kind_(Kind::boolean), integer_(v) {}
  template <detail::WholeNumber T>
    requires(!std::is_same_v<T, bool>)
  Attribute(T v) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(v)) {}
  Attribute(double v) : kind_(Kind::number), number_(v) {}
  Attribute(std::string v) : kind_(Kind::text), text_(std::move(v)) {}
  Attribute(const char* v) : Attribute(std::string(v)) {}

  Kind kind() const { return kind_; }
  bool boolean() const { return integer_ != 0; }
  std::int64_t integer() const { return integer_; }
  double number() const { return number_; }
  const std::string& text() const { return text_; }
  friend bool operator==(const Attribute&, const Attribute&) = default;

 private:
  Kind kind_ = Kind::boolean;
  std::int64_t integer_ = 0;
  double number_ = 0;
  std::string text_;
};
/// Attributes by name.
using Attributes = std::vector<std::pair<std::string, Attribute>>;

}  // namespace weft
