// refused: weft: save writes one array; save_checkpoint(folder, tree) writes a tree
#include <weft/weft.h>
struct Model { weft::Array w; };
void f(const Model& m) { weft::save("model.npy", m); }
