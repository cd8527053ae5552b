// check_close and check_laws: for tests of functions written with weft.
#pragma once
#include "transforms/testing.h"
