// refused: weft: save writes one array; save_npz(path, tree) and save_checkpoint(folder, tree) write a tree
#include <weft/weft.h>
struct Model { weft::Array w; };
void f(const Model& m) { weft::save("model.npy", m); }
