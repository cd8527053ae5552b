// What is there for weft on this machine, and what is missing. Takes nothing but the machine and the environment; prints, with a remedy for
// each problem.
#pragma once

#include "tools/command_line.h"

namespace weft::tools {

/// `weft doctor`: 1 where something is wrong, 0 else; what is merely not there (a GPU, MPI) is not wrong.
int doctor(const Arguments& line);
/// `weft devices`: the devices of each platform. 1 where the one that is asked for isn't there.
int devices_command(const Arguments& line);

}  // namespace weft::tools
