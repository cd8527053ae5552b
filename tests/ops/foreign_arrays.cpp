// Matrices and views of other libraries become arrays by their indices, in whatever order they keep their elements.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <Eigen/Core>
#include <array>
#include <complex>
#include <cstddef>
#include <vector>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

/// The element at each pair of indices, as the matrix itself gives it.
template <class M>
bool arrives(const M& m) {
  const Array x = array(m);
  using T = typename M::Scalar;
  if (x.shape() != Shape{m.rows(), m.cols()}) return false;
  const std::vector<T> got = x.template to_vector<T>();
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    for (Eigen::Index j = 0; j < m.cols(); ++j)
      if (got[static_cast<std::size_t>(i * m.cols() + j)] != m(i, j)) return false;
  return true;
}
template <class M>
bool arrives_as_vector(const M& m) {
  const Array x = array(m);
  using T = typename M::Scalar;
  if (x.shape() != Shape{m.size()}) return false;
  const std::vector<T> got = x.template to_vector<T>();
  for (Eigen::Index i = 0; i < m.size(); ++i)
    if (got[static_cast<std::size_t>(i)] != m(i)) return false;
  return true;
}

/// A std::mdspan of two dimensions, as far as array() asks.
template <class T>
struct View {
  using reference = T&;
  static constexpr std::size_t rank() { return 2; }
  const T* data_handle() const { return first; }
  std::size_t extent(std::size_t d) const { return sizes[d]; }
  std::size_t stride(std::size_t d) const { return strides[d]; }
  bool is_strided() const { return strided; }
  std::size_t size() const { return sizes[0] * sizes[1]; }

  const T* first;
  std::array<std::size_t, 2> sizes, strides;
  bool strided = true;
};
/// One of none.
struct Scalar0 {
  static constexpr std::size_t rank() { return 0; }
  const double* data_handle() const { return &value; }
  std::size_t extent(std::size_t) const { return 1; }
  double value = 3;
};
/// A matrix with strides of rows and columns.
struct Flipped {
  long rows() const { return 2; }
  long cols() const { return 2; }
  const float* data() const { return elements.data() + 3; }
  long rowStride() const { return -2; }
  long colStride() const { return -1; }
  std::array<float, 4> elements{1, 2, 3, 4};
};

}  // namespace

TEST_CASE("matrices of Eigen") {
  const Eigen::MatrixXf m = Eigen::MatrixXf::Random(4, 6);
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = m.cast<double>();
  CHECK(arrives(m));
  CHECK(arrives(rows));
  CHECK(arrives(Eigen::Matrix3i(Eigen::Matrix3i::Random())));
  CHECK(arrives(Eigen::MatrixXcf(Eigen::MatrixXcf::Random(3, 2))));
  CHECK(arrives(Eigen::ArrayXXd(Eigen::ArrayXXd::Random(3, 2))));
  CHECK(arrives(Eigen::Matrix<std::int8_t, 2, 3>(Eigen::Matrix<std::int8_t, 2, 3>::Random())));
  CHECK(array(m).dtype() == float32);
  CHECK(array(rows, float16).dtype() == float16);
  CHECK(array(Eigen::Matrix<bool, 2, 2>(Eigen::Matrix<bool, 2, 2>::Identity())).to_vector<int>() == std::vector{1, 0, 0, 1});
  CHECK(array(Eigen::MatrixXf(0, 3)).shape() == Shape{0, 3});
  CHECK(array(Eigen::MatrixXf(m.col(0))).shape() == Shape{4, 1});
}

TEST_CASE("views of Eigen's matrices") {
  const Eigen::MatrixXf m = Eigen::MatrixXf::Random(4, 6);
  CHECK(arrives(m.transpose()));
  CHECK(arrives(m.block(1, 2, 2, 3)));
  CHECK(arrives(m.transpose().block(1, 1, 3, 2)));
  CHECK(arrives(m.topRows<2>()));
  CHECK(arrives(Eigen::Ref<const Eigen::MatrixXf>(m)));
  CHECK(arrives(Eigen::Ref<const Eigen::MatrixXf>(m.block(1, 2, 2, 3))));
  CHECK(arrives(Eigen::Map<const Eigen::MatrixXf>(m.data(), 3, 8)));
  CHECK(arrives(Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(m.data(), 3, 8)));
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  CHECK(arrives(Eigen::Map<const Eigen::MatrixXf, 0, Strides>(m.data(), 2, 3, Strides(7, 2))));
  CHECK(arrives(m.array()));
  CHECK(arrives(m(Eigen::seq(0, 2), Eigen::seq(1, 4)).eval()));
}

TEST_CASE("vectors of Eigen") {
  const Eigen::MatrixXf m = Eigen::MatrixXf::Random(4, 6);
  CHECK(arrives_as_vector(Eigen::VectorXd(Eigen::VectorXd::Random(5))));
  CHECK(arrives_as_vector(Eigen::RowVector3f(Eigen::RowVector3f::Random())));
  CHECK(arrives_as_vector(m.col(2)));
  CHECK(arrives_as_vector(m.row(2)));
  CHECK(arrives_as_vector(m.transpose().row(2)));
  CHECK(arrives_as_vector(m.diagonal()));
  CHECK(arrives_as_vector(m.row(1).segment(2, 3)));
  CHECK(arrives_as_vector(Eigen::Map<const Eigen::VectorXf, 0, Eigen::InnerStride<3>>(m.data(), 5)));
}

TEST_CASE("matrices of Eigen in a shape, and in rows") {
  Eigen::Matrix2i m;
  m << 1, 2, 3, 4;
  CHECK(array(m, {2, 2}).to_vector<int>() == std::vector{1, 2, 3, 4});
  CHECK(array(m, {4}).to_vector<int>() == std::vector{1, 2, 3, 4});
  CHECK(array(m.transpose(), {4}, float32).to_vector<int>() == std::vector{1, 3, 2, 4});
  CHECK(has(message_of<ShapeError>([&] { array(m, {5}); }), "4 values don't fit shape (5,)"));
  const Array both = array(std::vector<Eigen::Matrix2i>{m, m.transpose()});
  CHECK(both.shape() == Shape{2, 2, 2});
  CHECK(both.to_vector<int>() == std::vector{1, 2, 3, 4, 1, 3, 2, 4});
  CHECK(array(std::vector<Eigen::Vector2i>{m.row(0), m.row(1)}).to_vector<int>() == std::vector{1, 2, 3, 4});
  CHECK_THROWS_AS(array(std::vector<Eigen::VectorXi>{m.row(0), Eigen::VectorXi::Zero(3)}), ShapeError);
}

TEST_CASE("views with strides, as std::mdspan") {
  const std::vector<float> v{1, 2, 3, 4, 5, 6};
  CHECK(array(View<float>{v.data(), {2, 3}, {3, 1}}).to_vector<int>() == std::vector{1, 2, 3, 4, 5, 6});  // layout_right
  CHECK(array(View<float>{v.data(), {2, 3}, {1, 2}}).to_vector<int>() == std::vector{1, 3, 5, 2, 4, 6});  // layout_left
  CHECK(array(View<float>{v.data(), {2, 2}, {1, 3}}).to_vector<int>() == std::vector{1, 4, 2, 5});        // layout_stride
  CHECK(array(View<float>{v.data(), {2, 3}, {1, 2}}).shape() == Shape{2, 3});
  CHECK(array(View<float>{v.data(), {2, 3}, {1, 2}}, {3, 2}).to_vector<int>() == std::vector{1, 3, 5, 2, 4, 6});
  CHECK(has(message_of<ShapeError>([&] { array(View<float>{v.data(), {2, 3}, {1, 2}, false}); }), "equal distances"));
  CHECK(array(Scalar0()).shape() == Shape{});
  CHECK(array(Scalar0()).item<double>() == 3);
  CHECK(array(Flipped()).to_vector<int>() == std::vector{4, 3, 2, 1});
}
