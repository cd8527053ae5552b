// refused: parameters are values or const references
#include <weft/weft.h>
using namespace weft;
int main() { grad([](auto& x) { return sum(x * x); })(ones(3)); }
