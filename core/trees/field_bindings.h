// The fields of an aggregate by structured bindings, which need one line for each number of fields.
#pragma once
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace weft::detail {

template <class Owner, bool References>
constexpr void check_references() {
  static_assert(!References, "weft: a struct with a member that is a reference is not a pytree: keep the value, or a std::shared_ptr");
}
/// References to fields of an Owner, of the declared types D.
template <class Owner, class... D, class... F>
constexpr std::tuple<F&...> bind_fields(F&... fields) {
  check_references<Owner, (std::is_reference_v<D> || ... || false)>();
  return std::tuple<F&...>(fields...);
}

// Declared only to ask whether there are references to all fields: a bit-field has none.
template <class... F>
void refer_to(F&... fields);
template <class Owner>
constexpr auto refuse_bit_fields() {  // by `auto` it is looked into at once
  static_assert(sizeof(Owner) == 0, "weft: a struct with a bit-field is not a pytree: make it a field of its own, or WEFT_STATIC(Type)");
  return std::tuple<>();
}

#define WEFT_FIELDS_1 f1
#define WEFT_TYPES_1 decltype(f1)
#define WEFT_FIELDS_2 WEFT_FIELDS_1, f2
#define WEFT_TYPES_2 WEFT_TYPES_1, decltype(f2)
#define WEFT_FIELDS_3 WEFT_FIELDS_2, f3
#define WEFT_TYPES_3 WEFT_TYPES_2, decltype(f3)
#define WEFT_FIELDS_4 WEFT_FIELDS_3, f4
#define WEFT_TYPES_4 WEFT_TYPES_3, decltype(f4)
#define WEFT_FIELDS_5 WEFT_FIELDS_4, f5
#define WEFT_TYPES_5 WEFT_TYPES_4, decltype(f5)
#define WEFT_FIELDS_6 WEFT_FIELDS_5, f6
#define WEFT_TYPES_6 WEFT_TYPES_5, decltype(f6)
#define WEFT_FIELDS_7 WEFT_FIELDS_6, f7
#define WEFT_TYPES_7 WEFT_TYPES_6, decltype(f7)
#define WEFT_FIELDS_8 WEFT_FIELDS_7, f8
#define WEFT_TYPES_8 WEFT_TYPES_7, decltype(f8)
#define WEFT_FIELDS_9 WEFT_FIELDS_8, f9
#define WEFT_TYPES_9 WEFT_TYPES_8, decltype(f9)
#define WEFT_FIELDS_10 WEFT_FIELDS_9, f10
#define WEFT_TYPES_10 WEFT_TYPES_9, decltype(f10)
#define WEFT_FIELDS_11 WEFT_FIELDS_10, f11
#define WEFT_TYPES_11 WEFT_TYPES_10, decltype(f11)
#define WEFT_FIELDS_12 WEFT_FIELDS_11, f12
#define WEFT_TYPES_12 WEFT_TYPES_11, decltype(f12)
#define WEFT_FIELDS_13 WEFT_FIELDS_12, f13
#define WEFT_TYPES_13 WEFT_TYPES_12, decltype(f13)
#define WEFT_FIELDS_14 WEFT_FIELDS_13, f14
#define WEFT_TYPES_14 WEFT_TYPES_13, decltype(f14)
#define WEFT_FIELDS_15 WEFT_FIELDS_14, f15
#define WEFT_TYPES_15 WEFT_TYPES_14, decltype(f15)
#define WEFT_FIELDS_16 WEFT_FIELDS_15, f16
#define WEFT_TYPES_16 WEFT_TYPES_15, decltype(f16)
#define WEFT_FIELDS_17 WEFT_FIELDS_16, f17
#define WEFT_TYPES_17 WEFT_TYPES_16, decltype(f17)
#define WEFT_FIELDS_18 WEFT_FIELDS_17, f18
#define WEFT_TYPES_18 WEFT_TYPES_17, decltype(f18)
#define WEFT_FIELDS_19 WEFT_FIELDS_18, f19
#define WEFT_TYPES_19 WEFT_TYPES_18, decltype(f19)
#define WEFT_FIELDS_20 WEFT_FIELDS_19, f20
#define WEFT_TYPES_20 WEFT_TYPES_19, decltype(f20)
#define WEFT_FIELDS_21 WEFT_FIELDS_20, f21
#define WEFT_TYPES_21 WEFT_TYPES_20, decltype(f21)
#define WEFT_FIELDS_22 WEFT_FIELDS_21, f22
#define WEFT_TYPES_22 WEFT_TYPES_21, decltype(f22)
#define WEFT_FIELDS_23 WEFT_FIELDS_22, f23
#define WEFT_TYPES_23 WEFT_TYPES_22, decltype(f23)
#define WEFT_FIELDS_24 WEFT_FIELDS_23, f24
#define WEFT_TYPES_24 WEFT_TYPES_23, decltype(f24)
#define WEFT_FIELDS_25 WEFT_FIELDS_24, f25
#define WEFT_TYPES_25 WEFT_TYPES_24, decltype(f25)
#define WEFT_FIELDS_26 WEFT_FIELDS_25, f26
#define WEFT_TYPES_26 WEFT_TYPES_25, decltype(f26)
#define WEFT_FIELDS_27 WEFT_FIELDS_26, f27
#define WEFT_TYPES_27 WEFT_TYPES_26, decltype(f27)
#define WEFT_FIELDS_28 WEFT_FIELDS_27, f28
#define WEFT_TYPES_28 WEFT_TYPES_27, decltype(f28)
#define WEFT_FIELDS_29 WEFT_FIELDS_28, f29
#define WEFT_TYPES_29 WEFT_TYPES_28, decltype(f29)
#define WEFT_FIELDS_30 WEFT_FIELDS_29, f30
#define WEFT_TYPES_30 WEFT_TYPES_29, decltype(f30)
#define WEFT_FIELDS_31 WEFT_FIELDS_30, f31
#define WEFT_TYPES_31 WEFT_TYPES_30, decltype(f31)
#define WEFT_FIELDS_32 WEFT_FIELDS_31, f32
#define WEFT_TYPES_32 WEFT_TYPES_31, decltype(f32)
#define WEFT_FIELDS_33 WEFT_FIELDS_32, f33
#define WEFT_TYPES_33 WEFT_TYPES_32, decltype(f33)
#define WEFT_FIELDS_34 WEFT_FIELDS_33, f34
#define WEFT_TYPES_34 WEFT_TYPES_33, decltype(f34)
#define WEFT_FIELDS_35 WEFT_FIELDS_34, f35
#define WEFT_TYPES_35 WEFT_TYPES_34, decltype(f35)
#define WEFT_FIELDS_36 WEFT_FIELDS_35, f36
#define WEFT_TYPES_36 WEFT_TYPES_35, decltype(f36)
#define WEFT_FIELDS_37 WEFT_FIELDS_36, f37
#define WEFT_TYPES_37 WEFT_TYPES_36, decltype(f37)
#define WEFT_FIELDS_38 WEFT_FIELDS_37, f38
#define WEFT_TYPES_38 WEFT_TYPES_37, decltype(f38)
#define WEFT_FIELDS_39 WEFT_FIELDS_38, f39
#define WEFT_TYPES_39 WEFT_TYPES_38, decltype(f39)
#define WEFT_FIELDS_40 WEFT_FIELDS_39, f40
#define WEFT_TYPES_40 WEFT_TYPES_39, decltype(f40)
#define WEFT_FIELDS_41 WEFT_FIELDS_40, f41
#define WEFT_TYPES_41 WEFT_TYPES_40, decltype(f41)
#define WEFT_FIELDS_42 WEFT_FIELDS_41, f42
#define WEFT_TYPES_42 WEFT_TYPES_41, decltype(f42)
#define WEFT_FIELDS_43 WEFT_FIELDS_42, f43
#define WEFT_TYPES_43 WEFT_TYPES_42, decltype(f43)
#define WEFT_FIELDS_44 WEFT_FIELDS_43, f44
#define WEFT_TYPES_44 WEFT_TYPES_43, decltype(f44)
#define WEFT_FIELDS_45 WEFT_FIELDS_44, f45
#define WEFT_TYPES_45 WEFT_TYPES_44, decltype(f45)
#define WEFT_FIELDS_46 WEFT_FIELDS_45, f46
#define WEFT_TYPES_46 WEFT_TYPES_45, decltype(f46)
#define WEFT_FIELDS_47 WEFT_FIELDS_46, f47
#define WEFT_TYPES_47 WEFT_TYPES_46, decltype(f47)
#define WEFT_FIELDS_48 WEFT_FIELDS_47, f48
#define WEFT_TYPES_48 WEFT_TYPES_47, decltype(f48)
#define WEFT_FIELDS_49 WEFT_FIELDS_48, f49
#define WEFT_TYPES_49 WEFT_TYPES_48, decltype(f49)
#define WEFT_FIELDS_50 WEFT_FIELDS_49, f50
#define WEFT_TYPES_50 WEFT_TYPES_49, decltype(f50)
#define WEFT_FIELDS_51 WEFT_FIELDS_50, f51
#define WEFT_TYPES_51 WEFT_TYPES_50, decltype(f51)
#define WEFT_FIELDS_52 WEFT_FIELDS_51, f52
#define WEFT_TYPES_52 WEFT_TYPES_51, decltype(f52)
#define WEFT_FIELDS_53 WEFT_FIELDS_52, f53
#define WEFT_TYPES_53 WEFT_TYPES_52, decltype(f53)
#define WEFT_FIELDS_54 WEFT_FIELDS_53, f54
#define WEFT_TYPES_54 WEFT_TYPES_53, decltype(f54)
#define WEFT_FIELDS_55 WEFT_FIELDS_54, f55
#define WEFT_TYPES_55 WEFT_TYPES_54, decltype(f55)
#define WEFT_FIELDS_56 WEFT_FIELDS_55, f56
#define WEFT_TYPES_56 WEFT_TYPES_55, decltype(f56)
#define WEFT_FIELDS_57 WEFT_FIELDS_56, f57
#define WEFT_TYPES_57 WEFT_TYPES_56, decltype(f57)
#define WEFT_FIELDS_58 WEFT_FIELDS_57, f58
#define WEFT_TYPES_58 WEFT_TYPES_57, decltype(f58)
#define WEFT_FIELDS_59 WEFT_FIELDS_58, f59
#define WEFT_TYPES_59 WEFT_TYPES_58, decltype(f59)
#define WEFT_FIELDS_60 WEFT_FIELDS_59, f60
#define WEFT_TYPES_60 WEFT_TYPES_59, decltype(f60)
#define WEFT_FIELDS_61 WEFT_FIELDS_60, f61
#define WEFT_TYPES_61 WEFT_TYPES_60, decltype(f61)
#define WEFT_FIELDS_62 WEFT_FIELDS_61, f62
#define WEFT_TYPES_62 WEFT_TYPES_61, decltype(f62)
#define WEFT_FIELDS_63 WEFT_FIELDS_62, f63
#define WEFT_TYPES_63 WEFT_TYPES_62, decltype(f63)
#define WEFT_FIELDS_64 WEFT_FIELDS_63, f64
#define WEFT_TYPES_64 WEFT_TYPES_63, decltype(f64)
#define WEFT_BIND(n)                                              \
  if constexpr (N == n) {                                         \
    auto& [WEFT_FIELDS_##n] = t;                                  \
    if constexpr (requires { refer_to(WEFT_FIELDS_##n); })        \
      return bind_fields<Owner, WEFT_TYPES_##n>(WEFT_FIELDS_##n); \
    else                                                          \
      return refuse_bit_fields<Owner>();                          \
  }

/// The fields of an aggregate of N fields that has no base with members, as a tuple of references.
inline constexpr std::size_t max_fields = 64;
template <std::size_t N, class Owner, class T>
constexpr auto bind_members(T& t) {
  static_assert(N <= max_fields);
  if constexpr (N == 0) return std::tuple<>();
  // clang-format off
  WEFT_BIND(1) WEFT_BIND(2) WEFT_BIND(3) WEFT_BIND(4) WEFT_BIND(5) WEFT_BIND(6) WEFT_BIND(7) WEFT_BIND(8)
  WEFT_BIND(9) WEFT_BIND(10) WEFT_BIND(11) WEFT_BIND(12) WEFT_BIND(13) WEFT_BIND(14) WEFT_BIND(15) WEFT_BIND(16)
  WEFT_BIND(17) WEFT_BIND(18) WEFT_BIND(19) WEFT_BIND(20) WEFT_BIND(21) WEFT_BIND(22) WEFT_BIND(23) WEFT_BIND(24)
  WEFT_BIND(25) WEFT_BIND(26) WEFT_BIND(27) WEFT_BIND(28) WEFT_BIND(29) WEFT_BIND(30) WEFT_BIND(31) WEFT_BIND(32)
  WEFT_BIND(33) WEFT_BIND(34) WEFT_BIND(35) WEFT_BIND(36) WEFT_BIND(37) WEFT_BIND(38) WEFT_BIND(39) WEFT_BIND(40)
  WEFT_BIND(41) WEFT_BIND(42) WEFT_BIND(43) WEFT_BIND(44) WEFT_BIND(45) WEFT_BIND(46) WEFT_BIND(47) WEFT_BIND(48)
  WEFT_BIND(49) WEFT_BIND(50) WEFT_BIND(51) WEFT_BIND(52) WEFT_BIND(53) WEFT_BIND(54) WEFT_BIND(55) WEFT_BIND(56)
  WEFT_BIND(57) WEFT_BIND(58) WEFT_BIND(59) WEFT_BIND(60) WEFT_BIND(61) WEFT_BIND(62) WEFT_BIND(63) WEFT_BIND(64)
  // clang-format on
}

#undef WEFT_BIND
#undef WEFT_FIELDS_1
#undef WEFT_TYPES_1
#undef WEFT_FIELDS_2
#undef WEFT_TYPES_2
#undef WEFT_FIELDS_3
#undef WEFT_TYPES_3
#undef WEFT_FIELDS_4
#undef WEFT_TYPES_4
#undef WEFT_FIELDS_5
#undef WEFT_TYPES_5
#undef WEFT_FIELDS_6
#undef WEFT_TYPES_6
#undef WEFT_FIELDS_7
#undef WEFT_TYPES_7
#undef WEFT_FIELDS_8
#undef WEFT_TYPES_8
#undef WEFT_FIELDS_9
#undef WEFT_TYPES_9
#undef WEFT_FIELDS_10
#undef WEFT_TYPES_10
#undef WEFT_FIELDS_11
#undef WEFT_TYPES_11
#undef WEFT_FIELDS_12
#undef WEFT_TYPES_12
#undef WEFT_FIELDS_13
#undef WEFT_TYPES_13
#undef WEFT_FIELDS_14
#undef WEFT_TYPES_14
#undef WEFT_FIELDS_15
#undef WEFT_TYPES_15
#undef WEFT_FIELDS_16
#undef WEFT_TYPES_16
#undef WEFT_FIELDS_17
#undef WEFT_TYPES_17
#undef WEFT_FIELDS_18
#undef WEFT_TYPES_18
#undef WEFT_FIELDS_19
#undef WEFT_TYPES_19
#undef WEFT_FIELDS_20
#undef WEFT_TYPES_20
#undef WEFT_FIELDS_21
#undef WEFT_TYPES_21
#undef WEFT_FIELDS_22
#undef WEFT_TYPES_22
#undef WEFT_FIELDS_23
#undef WEFT_TYPES_23
#undef WEFT_FIELDS_24
#undef WEFT_TYPES_24
#undef WEFT_FIELDS_25
#undef WEFT_TYPES_25
#undef WEFT_FIELDS_26
#undef WEFT_TYPES_26
#undef WEFT_FIELDS_27
#undef WEFT_TYPES_27
#undef WEFT_FIELDS_28
#undef WEFT_TYPES_28
#undef WEFT_FIELDS_29
#undef WEFT_TYPES_29
#undef WEFT_FIELDS_30
#undef WEFT_TYPES_30
#undef WEFT_FIELDS_31
#undef WEFT_TYPES_31
#undef WEFT_FIELDS_32
#undef WEFT_TYPES_32
#undef WEFT_FIELDS_33
#undef WEFT_TYPES_33
#undef WEFT_FIELDS_34
#undef WEFT_TYPES_34
#undef WEFT_FIELDS_35
#undef WEFT_TYPES_35
#undef WEFT_FIELDS_36
#undef WEFT_TYPES_36
#undef WEFT_FIELDS_37
#undef WEFT_TYPES_37
#undef WEFT_FIELDS_38
#undef WEFT_TYPES_38
#undef WEFT_FIELDS_39
#undef WEFT_TYPES_39
#undef WEFT_FIELDS_40
#undef WEFT_TYPES_40
#undef WEFT_FIELDS_41
#undef WEFT_TYPES_41
#undef WEFT_FIELDS_42
#undef WEFT_TYPES_42
#undef WEFT_FIELDS_43
#undef WEFT_TYPES_43
#undef WEFT_FIELDS_44
#undef WEFT_TYPES_44
#undef WEFT_FIELDS_45
#undef WEFT_TYPES_45
#undef WEFT_FIELDS_46
#undef WEFT_TYPES_46
#undef WEFT_FIELDS_47
#undef WEFT_TYPES_47
#undef WEFT_FIELDS_48
#undef WEFT_TYPES_48
#undef WEFT_FIELDS_49
#undef WEFT_TYPES_49
#undef WEFT_FIELDS_50
#undef WEFT_TYPES_50
#undef WEFT_FIELDS_51
#undef WEFT_TYPES_51
#undef WEFT_FIELDS_52
#undef WEFT_TYPES_52
#undef WEFT_FIELDS_53
#undef WEFT_TYPES_53
#undef WEFT_FIELDS_54
#undef WEFT_TYPES_54
#undef WEFT_FIELDS_55
#undef WEFT_TYPES_55
#undef WEFT_FIELDS_56
#undef WEFT_TYPES_56
#undef WEFT_FIELDS_57
#undef WEFT_TYPES_57
#undef WEFT_FIELDS_58
#undef WEFT_TYPES_58
#undef WEFT_FIELDS_59
#undef WEFT_TYPES_59
#undef WEFT_FIELDS_60
#undef WEFT_TYPES_60
#undef WEFT_FIELDS_61
#undef WEFT_TYPES_61
#undef WEFT_FIELDS_62
#undef WEFT_TYPES_62
#undef WEFT_FIELDS_63
#undef WEFT_TYPES_63
#undef WEFT_FIELDS_64
#undef WEFT_TYPES_64

}  // namespace weft::detail
