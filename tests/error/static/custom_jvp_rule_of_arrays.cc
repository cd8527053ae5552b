// refused: a jvp rule takes two std::tuples, of the primals and of their tangents
#include <weft/weft.h>
using namespace weft;
int main() { custom_jvp([](Array x) { return x; }, [](Array x, Array dx) { return std::pair{x, dx}; })(1.f); }
