// check_close and check_laws: for tests of functions written with weft.
#pragma once
#include "weft/transforms/testing.h"
