// Commands that make programs of programs, run them and measure them. Each takes a file in JAX's notation
// or in StableHLO; programs are printed in the former.
#pragma once

#include "tools/command_line.h"

namespace weft::tools {

int run_command(const Arguments& line);
int show_command(const Arguments& line);
int export_command(const Arguments& line);
int grad_command(const Arguments& line);
int vmap_command(const Arguments& line);
int jit_command(const Arguments& line);
int bench_command(const Arguments& line);
int compile_command(const Arguments& line);
int view_command(const Arguments& line);

}  // namespace weft::tools
