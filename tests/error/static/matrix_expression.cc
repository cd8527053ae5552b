// refused: array() reads matrices and views of numbers in memory
#include <weft/weft.h>
struct Sum {  // as Eigen's a + b
  long rows() const;
  long cols() const;
  float operator()(long i, long j) const;
};
auto program(const Sum& s) { return weft::array(s); }
