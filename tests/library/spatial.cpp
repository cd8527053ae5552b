// Rotations: what the expressions beside JAX's do not reach: messages, maps over structs of them, derivatives at rotations by 0.
#include <doctest/doctest.h>
#include <weft/scipy.h>
#include <weft/weft.h>

#include <cmath>
#include <string>

#include "tests/messages.h"

using namespace weft;
using jax::scipy::spatial::transform::Rotation, jax::scipy::spatial::transform::Slerp;
using test::refuses;

namespace {
bool close(const Array& a, const Array& b) { return a.shape() == b.shape() && allclose(a, b, {.atol = 1e-6}).item<bool>(); }
}  // namespace

TEST_CASE("rotations: there and back, mapped, compiled and in a row") {
  const Array angles = array({{0.3f, -0.4f, 1.2f}, {2.5f, 0.9f, -3.f}, {0.f, 0.f, 0.f}}), v = array({1.f, 2.f, 3.f});
  for (const std::string seq : {"xyz", "ZYX", "yzx"}) CHECK(close(Rotation::from_euler(seq, angles).as_euler(seq), angles));
  const Rotation r = Rotation::from_euler("xyz", angles);
  CHECK(close(Rotation::from_matrix(r.as_matrix()).as_matrix(), r.as_matrix()));
  CHECK(close(Rotation::from_mrp(r.as_mrp()).as_matrix(), r.as_matrix()));
  CHECK(close(r.apply(r.apply(v), true), broadcast_to(v, {3, 3})));
  CHECK(close((r * r.inv()).magnitude(), zeros(3)));
  CHECK(close(jit(vmap([](Rotation q, Array x) { return q.apply(x); }))(r, ones({3, 3})), r.apply(ones({3, 3}))));
  CHECK((r.size() == 3 && !r.single() && r[1].single() && r[slice(1, none)].size() == 2));
  CHECK(Rotation::concatenate({r, r}).size() == 6);
  CHECK(close(Rotation::from_euler("X", std::acos(-1.)).apply(v), array({1.f, -2.f, -3.f})));
  CHECK(close(Rotation::identity(float64).as_matrix(), eye(3, float64)));
  CHECK(close(r[slice(0, 1)].mean().as_matrix(), r[0].as_matrix()));
  CHECK(close(r.mean(array({0.f, 1.f, 0.f})).as_matrix(), r[1].as_matrix()));
}

TEST_CASE("rotations: where the second angle leaves the others undetermined, one of them is 0") {
  const double half = std::acos(0.);
  for (const std::string seq : {"xyz", "XYZ"})
    for (double middle : {half, -half}) {
      const Rotation r = Rotation::from_euler(seq, array({0.3, middle, 0.4}, float64));
      const Array angles = r.as_euler(seq);
      CHECK(angles[2].item() == doctest::Approx(0));
      CHECK(allclose(Rotation::from_euler(seq, angles).as_matrix(), r.as_matrix(), {.atol = 1e-6}).item<bool>());
    }
}

TEST_CASE("rotations: derivatives at rotations by 0") {
  const Array w = array({1.f, -1.f, 2.f});
  CHECK(close(grad([&](Array v) { return sum(Rotation::from_rotvec(v).as_rotvec() * w); })(zeros(3)), w));
  CHECK(close(jacfwd([](Array v) { return Rotation::from_rotvec(v).apply(array({1.f, 0.f, 0.f})); })(zeros(3)),
              array({{0.f, 0.f, 0.f}, {0.f, 0.f, 1.f}, {0.f, -1.f, 0.f}})));
}

TEST_CASE("rotations between times go on beyond the last one") {
  const Slerp slerp = Slerp::init(array({0, 1, 3}), Rotation::from_euler("x", array({{0.f}, {0.2f}, {0.6f}})));
  CHECK(close(slerp(array({-1.f, 0.5f, 2.f, 4.f})).as_rotvec()(slice(), 0), array({-0.2f, 0.1f, 0.4f, 0.8f})));
  CHECK(slerp(1).single());
}

TEST_CASE("rotations: messages") {
  const Array v = ones({2, 3});
  CHECK(refuses<Error>([&] { return Rotation::from_euler("xx", v).quat; }, {"from_euler", "'xx'", "neighbours differ"}));
  CHECK(refuses<Error>([&] { return Rotation::from_euler("xYz", v).quat; }, {"from_euler", "'xYz'"}));
  CHECK(refuses<Error>([&] { return Rotation::from_rotvec(v).as_euler("xy"); }, {"as_euler", "three of x, y, z"}));
  CHECK(refuses<ShapeError>([&] { return Rotation::from_euler("xy", v).quat; }, {"from_euler", "f32[2,3]", "2 elements"}));
  CHECK(refuses<ShapeError>([&] { return Rotation::from_quat(v).quat; }, {"from_quat", "f32[2,3]", "4 elements"}));
  CHECK(refuses<ShapeError>([&] { return Rotation::from_matrix(v).quat; }, {"from_matrix", "f32[2,3]"}));
  CHECK(refuses<ShapeError>([&] { return Rotation::identity()[0].quat; }, {"one rotation alone"}));
  CHECK(refuses<ShapeError>([&] { return Rotation::from_rotvec(v).mean(ones(3)).quat; }, {"mean", "f32[3]", "f32[2,4]"}));
  CHECK(refuses<ShapeError>([&] { return Slerp::init(ones(3), Rotation::from_rotvec(v)).times; }, {"Slerp", "f32[3]", "f32[2,4]"}));
  CHECK(refuses<ShapeError>([&] { return cluster::vq::vq(v, ones({2, 4})).code; }, {"vq", "f32[2,3]", "f32[2,4]"}));
  CHECK(jax::scipy::cluster::vq::vq(array({1.1f, 3.9f}), array({1.f, 4.f})).code.to_vector<int>() == std::vector<int>{0, 1});
}
