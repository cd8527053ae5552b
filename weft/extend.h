// Primitives and transforms of a program's own (docs/add_an_op.md): the declarations that weft's own operations and passes are written
// with. They follow the library's inner parts: unlike the rest of the interface, they may change between minor versions.
#pragma once
#include "weft/core/ir/named.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/elementwise/elementwise.h"

namespace weft::extend {

// Programs: their equations, operands and types.
using detail::Atom;
using detail::Aval;
using detail::JaxprData;
using detail::Kind;
using detail::ParamsBase;
using detail::ParamsRef;
using detail::ParamText;
using detail::Primitive;
using detail::Var;

// A primitive is a struct that derives from one of these, or says itself what core/ir/primitive.h asks of it.
using detail::Binary;
using detail::Comparison;
using detail::Domain;
using detail::LinearUnary;
using detail::Unary;
using detail::kAny, detail::kBits, detail::kBool, detail::kComplex, detail::kFloating, detail::kInexact, detail::kInteger, detail::kNumber,
    detail::kReal;
using detail::kExact, detail::kKeepsIntegers, detail::kMultiplies, detail::kReadsSpecials;
// Its kernel.
using detail::KernelBuilder;
using detail::KernelValue;
using detail::MathFunction;
// Its application.
using detail::bind_all;
using detail::bind_one;
using detail::bind_primitive;

// A transform is a walk over a program and a table of rules by primitive.
using detail::find_named;
using detail::find_primitive;
using detail::find_rule;
using detail::ProgramValues;
using detail::Rule;
using detail::RuleOf;
using detail::VarMap;
using detail::walk;
using detail::walk_as;

}  // namespace weft::extend
