// refused: weft: load reads one array; load_npz(path, like) reads a tree
#include <weft/weft.h>
#include <vector>
auto f() { return weft::load<std::vector<weft::Array>>("file.npz"); }
