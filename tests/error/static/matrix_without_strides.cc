// refused: array() reads matrices and views of numbers in memory
#include <weft/weft.h>
struct Matrix {  // which of its indices runs fastest is not known
  long rows() const;
  long cols() const;
  long size() const;
  const float* data() const;
};
auto program(const Matrix& m) { return weft::array(m, {2, 2}); }
