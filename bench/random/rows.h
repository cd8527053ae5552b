// The tables of fixed workloads that are written for weft and for JAX at once.
#pragma once
#include <span>

#include "writer.h"

namespace bench::random_programs {

struct Row {
  const char* name;
  Values (*write)(Writer&);
};
std::span<const Row> rows();
std::span<const Row> array_rows();
std::span<const Row> network_rows();
std::span<const Row> science_rows();
std::span<const Row> algebra_rows();
std::span<const Row> model_rows();
std::span<const Row> number_rows();
std::span<const Row> image_rows();
std::span<const Row> integer_rows();

}  // namespace bench::random_programs
