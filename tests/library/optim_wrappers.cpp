// Transformations that wrap others, and rarer ones: parameters after some updates, beside the results of optax 0.2.8.
#include <doctest/doctest.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/library/optimised.h"
#include "tests/messages.h"

using namespace weft;
using test::has, test::loss, test::message_of, test::Params, test::start;

namespace {

Array flat(const Params& p) { return concatenate({ravel(p.w), p.b}); }

/// The parameters after some updates, the gradients of some of which have a NaN.
Array trained(const optim::GradientTransformation& optimizer, int updates, const std::vector<int>& not_finite = {}) {
  const auto step = jit([&](const Params& p, const optim::OptState& state, Array added) {
    Params g = grad(loss)(p);
    g.b = g.b.at(0).add(added);
    const auto [change, next] = optimizer.update(g, state, p);
    return std::pair{optim::apply_updates(p, change), next};
  });
  Params p = start;
  optim::OptState state = optimizer.init(p);
  for (int i = 0; i < updates; ++i) {
    bool bad = false;
    for (int k : not_finite) bad = bad || k == i;
    std::tie(p, state) = step(p, state, bad ? std::numeric_limits<float>::quiet_NaN() : 0.f);
  }
  return flat(p);
}
bool near(const Array& got, const std::vector<double>& want) {
  return allclose(got, array(want), {.rtol = 3e-5, .atol = 3e-6, .equal_nan = true}).item<bool>();
}

}  // namespace

TEST_CASE("rarer transformations: the parameters after some updates are optax's") {
  CHECK(near(trained(optim::sm3(0.1), 6),
             {0.377529621, -0.876257062, 2.09094715, 0.371415675, -0.870492995, 1.55963874, 0.879560053, -1.87887311, 0.380985737}));
  CHECK(near(trained(optim::chain(optim::adaptive_grad_clip(0.05), optim::sgd(0.1)), 6),
             {0.451902747, -0.973033845, 2.02303529, 0.29728362, -0.789066792, 1.50340068, 0.964533031, -1.98802924, 0.44291696}));
  CHECK(near(trained(optim::chain(optim::sgd(0.1), optim::keep_params_nonnegative()), 6),
             {0, 0.894410133, 2.31060934, 1.14770687, 0, 1.55222738, 0.00409599859, 0, 0}));
  for (const Array& start : {random::key(3), Array(3)})  // a key, a seed
    CHECK(near(trained(optim::chain(optim::add_noise(0.1, 0.55, start), optim::sgd(0.1)), 3),
               {0.318266034, -0.619151354, 2.0759275, 0.776904702, -0.932927072, 1.5140816, 0.0955718085, -1.43263042, -0.423599899}));
  CHECK(near(trained(optim::lbfgs(0.3, {.memory_size = 3}), 6),
             {-0.0410978496, -0.165035903, 2.28512859, 1.16757441, -1.11026347, 1.55446696, -0.159541562, -1.06402493, -0.0572888851}));
  CHECK(near(trained(optim::lbfgs(0.3, {.scale_init_precond = false}), 3),
             {-0.624121428, 0.671592534, 2.60496259, 1.92332959, -1.4934752, 1.60516572, 0.860722065, -0.0513967276, -0.356937408}));
}

TEST_CASE("apply_if_finite leaves parameters and state as they are where a gradient is not finite, but not for ever") {
  CHECK(near(trained(optim::apply_if_finite(optim::adam(0.1), 2), 6, {1, 3}),
             {0.0992847234, -0.598875165, 2.40077305, 0.648939729, -1.14578831, 1.57480454, 0.603941977, -1.6015079, 0.112918094}));
  CHECK(near(trained(optim::apply_if_finite(optim::sgd(0.1), 1), 4, {1, 2}),
             {0.22571522, -0.622270644, 2.13633251, 0.786671042, -0.95401001, 1.53453302, std::numeric_limits<float>::quiet_NaN(),
              -1.45799994, -0.5}));
}

TEST_CASE("multi_transform: each leaf by the transformation of its label") {
  const auto by_path = [](const std::string& path) { return path == ".w" ? "adam" : "plain"; };
  const std::vector<double> want{-0.101905942, -0.396297276, 2.60319114, 0.845591903, -1.33333147, 1.52615178, 0.117648989, -1.47018385, 0};
  CHECK(near(trained(optim::multi_transform({{"plain", optim::sgd(0.05)}, {"adam", optim::adam(0.1)}}, by_path), 6), want));
  const auto by_leaf = [](const std::string&, const Array& leaf) { return std::string(leaf.ndim() > 1 ? "adam" : "plain"); };
  CHECK(near(trained(optim::multi_transform({{"plain", optim::sgd(0.05)}, {"adam", optim::adam(0.1)}}, by_leaf), 6), want));
  const auto half = optim::multi_transform({{"adam", optim::adam(0.1)}}, by_path);
  CHECK(has(message_of<Error>([&] { half.init(start); }), {"multi_transform", ".b", "`plain`", "adam"}));
}

TEST_CASE("lookahead: slow parameters follow the fast ones") {
  const std::vector<double> fast[] = {
      {0.098627083, -0.596985042, 2.40315366, 0.647815406, -1.14203417, 1.57749033, 0.60724324, -1.60283244, 0.123558871},
      {0.0997258797, -0.599524736, 2.40035844, 0.649484277, -1.14795399, 1.64374685, 0.601805389, -1.6006583, 0.107191451}};
  const std::vector<double> slow[] = {
      {0.199247837, -0.698504567, 2.30144095, 0.548920512, -1.04593968, 1.56155777, 0.703782201, -1.70148706, 0.212011755},
      {0.199725226, -0.699524045, 2.30035901, 0.549484909, -1.0479548, 1.54374766, 0.701804698, -1.70065761, 0.207190767}};
  for (const bool reset : {false, true}) {
    const auto optimizer = optim::lookahead(optim::adam(0.1), {.sync_period = 3, .slow_step_size = 0.5, .reset_state = reset});
    auto params = optim::LookaheadParams<Params>::init_synced(start);
    auto state = optimizer.init(params);
    const auto step = jit([&](const optim::LookaheadParams<Params>& p, const optim::OptState& s) {
      const auto [change, next] = optimizer.update(grad(loss)(p.fast), s, p);
      return std::pair{optim::apply_updates(p, change), next};
    });
    for (int i = 0; i < 7; ++i) std::tie(params, state) = step(params, state);
    CHECK(near(flat(params.fast), fast[reset]));
    CHECK(near(flat(params.slow), slow[reset]));
  }
  CHECK(has(message_of<Error>([] { optim::lookahead(optim::adam(0.1), 0, 0.5); }), {"lookahead", "sync_period is 0"}));
  CHECK(has(message_of<Error>([] { optim::scale_by_lbfgs({.memory_size = 0}); }), {"scale_by_lbfgs", "memory_size is 0"}));
  CHECK(has(message_of<Error>([] {
              optim::sgd(1).update(1.f, {});
              optim::adaptive_grad_clip(1).update(1.f, {});
            }),
            {"adaptive_grad_clip", "needs the parameters"}));
}

TEST_CASE("rarer losses and projections: optax's values and gradients") {
  const Array x = array({{0.5f, -1.5f, 3.f}, {2.f, 0.25f, -0.75f}}), y = array({{1.f, 0.f, 1.f}, {0.f, 1.f, 0.25f}});
  const Array p = array({{0.2f, 0.3f, 0.5f}, {0.1f, 0.9f, 0.f}});
  const auto is = [](const Array& got, const std::vector<double>& want) { return near(ravel(got), want); };
  CHECK(is(optim::sigmoid_focal_loss(x, y), {0.0675734878, 0.00670284731, 0.000109283334, 1.6500783, 0.110401489, 0.0967452601}));
  CHECK(is(optim::sigmoid_focal_loss(x, y, {.alpha = 0.3, .gamma = 1.5}),
           {0.0329925418, 0.0109853651, 0.000150545442, 1.2307353, 0.0500549078, 0.0906090587}));
  CHECK(is(grad([&](Array v) { return sum(optim::sigmoid_focal_loss(v, y)); })(x),
           {-0.137936994, 0.0170311071, -0.000314871897, 1.07671368, -0.20805639, 0.0632928684}));
  const auto certain = [](Array v) { return sum(optim::sigmoid_focal_loss(v, array({1.f, 0.f}))); };
  CHECK(is(grad(certain)(array({1000.f, -1000.f})), {0, 0}));
  CHECK(is(optim::generalized_kl_divergence(x, p), {18.7777348, 7.39536572}));
  CHECK(is(optim::poly_loss_cross_entropy(x, p), {2.98822117, 3.37394571}));
  CHECK(is(optim::poly_loss_cross_entropy(x, p, 0.5), {2.20138311, 2.18467855}));
  CHECK(is(optim::triplet_margin_loss(x, p, y), {1.54564762, 0.785099745}));
  CHECK(is(optim::triplet_margin_loss(x, y, p, {.margin = 0.5, .eps = 1e-3}), {0, 0.714878798}));
  using namespace optim::projections;
  CHECK(is(projection_simplex(x), {0, 0, 1, 0, 0, 0}));
  CHECK(is(projection_simplex(x, 4), {0, 0, 2.5, 1.5, 0, 0}));
  const Array weights = reshape(arange(6.f), {2, 3});
  CHECK(is(grad([&](Array v) { return sum(projection_simplex(v, 4) * weights); })(x), {0, 0, -0.5, 0.5, 0, 0}));
  CHECK(is(projection_l2_ball(x, 2), {0.24902913, -0.747087359, 1.49417472, 0.996116519, 0.124514565, -0.37354368}));
  CHECK(is(projection_l2_ball(x, 20), {0.5, -1.5, 3, 2, 0.25, -0.75}));
  CHECK(is(projection_box(x, -1, 1), {0.5, -1, 1, 1, 0.25, -0.75}));
  CHECK(is(projection_non_negative(x), {0.5, 0, 3, 2, 0.25, 0}));
}

TEST_CASE("schedules of cycles, and those whose parameters are given by name: optax's values") {
  const Array counts = array({0, 5, 15, 20, 22, 30, 40});
  const auto is = [&](const optim::Schedule& s, const std::vector<double>& want) { return near(vmap(s)(counts), want); };
  CHECK(is(optim::cosine_onecycle_schedule({.transition_steps = 40, .peak_value = 0.1}),
           {0.00400000066, 0.0395766832, 0.0971941799, 0.0811745673, 0.0716942996, 0.0283060949, 4e-07}));
  CHECK(is(optim::linear_onecycle_schedule({.transition_steps = 40, .peak_value = 0.1, .pct_start = 0.25, .div_factor = 10}),
           {0.01, 0.055, 0.08125, 0.0625, 0.055, 0.025, 1e-06}));
  CHECK(is(optim::sgdr_schedule({{.init_value = 0, .peak_value = 1, .warmup_steps = 5, .decay_steps = 20},
                                 {.init_value = 0.1, .peak_value = 0.5, .warmup_steps = 2, .decay_steps = 10}}),
           {0, 1, 0.24999997, 0.1, 0.5, 0, 0}));
  CHECK(is(
      optim::piecewise_interpolate_schedule({.interpolate_type = "cosine", .init_value = 2, .boundaries_and_scales = {{10, 0.5}, {30, 3}}}),
      {2, 1.5, 1.29289317, 2, 2.30901718, 3, 3}));
  CHECK(is(optim::exponential_decay(
               {.init_value = 1, .transition_steps = 10, .decay_rate = 0.5, .transition_begin = 3, .staircase = true, .end_value = 0.2}),
           {1, 1, 0.5, 0.5, 0.5, 0.25, 0.2}));
  CHECK(is(optim::warmup_exponential_decay_schedule(
               {.init_value = 0, .peak_value = 1, .warmup_steps = 5, .transition_steps = 10, .decay_rate = 0.5}),
           {0, 1, 0.5, 0.353553385, 0.307786107, 0.176776692, 0.0883883461}));
  CHECK(is(optim::linear_schedule({.init_value = 1, .end_value = 0, .transition_steps = 20, .transition_begin = 5}),
           {1, 1, 0.5, 0.25, 0.15, 0, 0}));
  CHECK(is(optim::polynomial_schedule({.init_value = 1, .end_value = 0, .power = 2, .transition_steps = 20}),
           {1, 0.5625, 0.0625, 0, 0, 0, 0}));
  CHECK(is(optim::piecewise_constant_schedule({.init_value = 1, .boundaries_and_scales = {{5, 0.5}, {22, 0.1}}}),
           {1, 0.5, 0.5, 0.5, 0.05, 0.05, 0.05}));
  CHECK(is(optim::warmup_constant_schedule({.init_value = 0, .peak_value = 1, .warmup_steps = 20}), {0, 0.25, 0.75, 1, 1, 1, 1}));
  CHECK(has(message_of<Error>([] { optim::sgdr_schedule({}); }), {"sgdr_schedule", "at least one cycle"}));
  CHECK(has(message_of<Error>([] { optim::cosine_onecycle_schedule({.transition_steps = 2, .peak_value = 1}); }),
            {"cosine_onecycle_schedule", "from update 0 to update 0"}));
  CHECK(has(message_of<Error>([] { optim::piecewise_interpolate_schedule({.interpolate_type = "cubic", .init_value = 1}); }),
            {"interpolate_type is \"cubic\"", "\"linear\" or \"cosine\""}));
}
