// How kernels run, stated by the program: schedule.
#pragma once
#include "weft/transforms/jit/schedule.h"
