// The table of fixed workloads that are written for weft and for JAX at once.
#pragma once
#include <span>

#include "writer.h"

namespace bench::random_programs {

struct Row {
  const char* name;
  Values (*write)(Writer&);
};
std::span<const Row> rows();

}  // namespace bench::random_programs
