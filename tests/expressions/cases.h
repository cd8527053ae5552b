// The expressions of expressions.txt as functions of three arrays.
#pragma once
#include <weft/weft.h>

#include <vector>

struct Case {
  int number;        ///< its line in expressions.txt, comments left out
  const char* text;  ///< in C++
  bool compiles;     ///< whether jit takes it: else its shape depends on values
  bool maps;         ///< whether vmap takes it
  weft::Array (*function)(const weft::Array&, const weft::Array&, const weft::Array&);
};
