// Optimisers and schedules: six updates by each, and each schedule at seven counts, beside the results of optax 0.2.8.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/library/optimised.h"
#include "tests/messages.h"

using namespace weft;
using test::has, test::loss, test::message_of, test::Params, test::start;

namespace {

Params trained(const optim::GradientTransformation& optimizer, Params p, int updates) {
  optim::OptState state = optimizer.init(p);
  for (int i = 0; i < updates; ++i) {
    const auto [step, next] = optimizer.update(grad(loss)(p), state, p);
    p = optim::apply_updates(p, step);
    state = next;
  }
  return p;
}

struct Row {
  const char* name;
  optim::GradientTransformation optimizer;
  std::vector<float> want;
};
struct ScheduleRow {
  const char* name;
  optim::Schedule schedule;
  std::vector<float> want;
};

}  // namespace

TEST_CASE("optimizers: the parameters after six updates, eagerly, compiled, mapped and in a scan") {
  const optim::Mask matrices = [](const Array& leaf) { return leaf.ndim() > 1; };
  const Row rows[] = {
      {"optim::sgd(0.05)",
       optim::sgd(0.05),
       {0.223047643, -0.60617959, 2.139608383, 0.775651037, -0.95051705, 1.533159017, 0.117648988, -1.47018384, 0.0}},
      {"optim::sgd(0.05, 0.9)",
       optim::sgd(0.05, 0.9),
       {-0.32529175, 0.203796356, 2.427874565, 1.688151001, -1.32259845, 1.588931202, -0.66672790, -0.49714836, 0.324404954}},
      {"optim::sgd(0.05, {.momentum = 0.9, .nesterov = true})",
       optim::sgd(0.05, {.momentum = 0.9, .nesterov = true}),
       {-0.53589403, 0.631421506, 2.576050281, 1.773478269, -1.39799320, 1.588822960, -0.19396920, -0.32975333, 1.05879e-22}},
      {"optim::lars(0.1)",
       optim::lars(0.1),
       {0.498239607, -0.997831345, 2.000834703, 0.253885746, -0.751467109, 1.500283599, 0.997927487, -1.999308944, 0.496548831}},
      {"optim::lars(0.5, {.weight_decay = 0.1, .trust_coefficient = 0.01, .momentum = 0.5, .nesterov = true})",
       optim::lars(0.5, {.weight_decay = 0.1, .trust_coefficient = 0.01, .momentum = 0.5, .nesterov = true}),
       {0.441925168, -0.924034357, 2.013670683, 0.366981119, -0.790041149, 1.499495387, 0.933839798, -1.975643039, 0.397100329}},
      {"optim::novograd(0.1)",
       optim::novograd(0.1),
       {-0.154266655, -0.0707376003, 2.332407236, 1.454672933, -1.219510555, 1.576126218, 0.000590831041, -1.576804280, -0.279275864}},
      {"optim::novograd(0.05, {.b1 = 0.8, .b2 = 0.5, .weight_decay = 0.1})",
       optim::novograd(0.05, {.b1 = 0.8, .b2 = 0.5, .weight_decay = 0.1}),
       {0.195450902, -0.564100325, 1.971188426, 0.776971579, -0.902322233, 1.438076496, 0.525602877, -1.703866720, -0.0438366681}},
      {"optim::fromage(0.1)",
       optim::fromage(0.1),
       {-0.180185348, 0.132020608, 2.297270536, 1.224571347, -1.139256597, 1.531222582, 0.147441953, -1.484950423, 0.000138564588}},
      {"optim::adamw(0.1, {.weight_decay = 0.5, .mask = Params{true, false}})",
       optim::adamw(0.1, {.weight_decay = 0.5, .mask = Params{true, false}}),
       {-0.164074093, -0.20213908, 1.999995947, 0.710668743, -1.074889183, 1.550336123, 0.414240599, -1.405135989, -0.0474282578}},
      {"optim::sign_sgd(0.05)",
       optim::sign_sgd(0.05),
       {0.199999958, -0.69999992, 2.299999713, 0.550000071, -1.04999995, 1.599999904, 0.699999928, -1.70000028, 0.199999958}},
      {"optim::adam(0.1)",
       optim::adam(0.1),
       {-0.10190594, -0.39629727, 2.603191137, 0.845591902, -1.33333134, 1.526151776, 0.414240598, -1.40513598, -0.04742825}},
      {"optim::adam(0.1, 0.8, 0.95)",
       optim::adam(0.1, 0.8, 0.95),
       {-0.10324174, -0.39170098, 2.609346628, 0.843332469, -1.32693445, 1.538582801, 0.419847339, -1.40762650, -0.03311801}},
      {"optim::nadam(0.1)",
       optim::nadam(0.1),
       {-0.18890464, -0.29280191, 2.714076757, 0.912971377, -1.37723624, 1.567462921, 0.365016341, -1.33813989, -0.04929937}},
      {"optim::amsgrad(0.1)",
       optim::amsgrad(0.1),
       {-0.10190594, -0.39629727, 2.603191137, 0.818379402, -1.26775300, 1.544352054, 0.478342562, -1.44018375, 0.048863042}},
      {"optim::adamax(0.1)",
       optim::adamax(0.1),
       {-0.08182565, -0.45684695, 2.527403354, 0.819721877, -1.26887333, 1.544171690, 0.477191537, -1.43886137, 0.048015475}},
      {"optim::radam(0.1, {.b2 = 0.9})",
       optim::radam(0.1, {.b2 = 0.9}),
       {0.017271455, -0.34093260, 2.254102945, 1.151792764, -1.11243379, 1.579198598, -0.44402095, -1.07972228, 0.343794733}},
      {"optim::radam(0.1)",
       optim::radam(0.1),
       {0.0401665866, -0.363455474, 2.23140574, 1.12956452, -1.08970225, 1.55862486, -0.445849687, -1.10228527, 0.345393062}},
      {"optim::adabelief(0.1)",
       optim::adabelief(0.1),
       {-0.25623878, -0.24260815, 2.754501581, 0.991987466, -1.46007692, 1.525345802, 0.281721591, -1.25850689, -0.12646958}},
      {"optim::yogi(0.1)",
       optim::yogi(0.1),
       {-0.10075143, -0.39716851, 2.601193666, 0.844838798, -1.33179020, 1.527103066, 0.414782553, -1.40588772, -0.04694647}},
      {"optim::adamw(0.1, {.weight_decay = 0.1})",
       optim::adamw(0.1, {.weight_decay = 0.1}),
       {-0.11635039, -0.35266664, 2.471739292, 0.816507935, -1.27744936, 1.527152657, 0.372449517, -1.30415177, -0.05818846}},
      {"optim::adamw(0.1, {.weight_decay = 0.1, .mask = matrices})",
       optim::adamw(0.1, {.weight_decay = 0.1, .mask = matrices}),
       {-0.11635039, -0.35266664, 2.471739292, 0.816507935, -1.27744936, 1.527152657, 0.414240598, -1.40513598, -0.04742825}},
      {"optim::nadamw(0.1, {.weight_decay = 0.1})",
       optim::nadamw(0.1, {.weight_decay = 0.1}),
       {-0.19988904, -0.25225597, 2.575654745, 0.881574869, -1.32258510, 1.566591858, 0.328389793, -1.24236512, -0.05589152}},
      {"optim::lamb(0.1, {.weight_decay = 0.01})",
       optim::lamb(0.1, {.weight_decay = 0.01}),
       {-0.35257971, -0.14062961, 2.832374572, 1.081473231, -1.54379248, 1.533109426, 0.343594759, -1.32389163, -0.09352661}},
      {"optim::lion(0.02)",
       optim::lion(0.02),
       {0.379946023, -0.87988603, 2.119754076, 0.369964003, -0.86990404, 1.579813838, 0.879886031, -1.87976598, 0.379946023}},
      {"optim::adagrad(0.3)",
       optim::adagrad(0.3),
       {-0.57513469, 0.210506230, 3.179148435, 1.177791357, -1.46830606, 1.565761208, 0.201360806, -1.04384386, 0.003698485}},
      {"optim::adadelta(1.)",
       optim::adadelta(1.),
       {0.480100303, -0.97999835, 2.020064115, 0.269818633, -0.76974987, 1.518368840, 0.980256319, -1.98020553, 0.480358242}},
      {"optim::rmsprop(0.05)",
       optim::rmsprop(0.05),
       {-0.12155637, -0.33574610, 2.683471441, 0.822943270, -1.26889824, 1.568013072, 0.470725208, -1.42909908, 0.072148010}},
      {"optim::rmsprop(0.05, {.centered = true, .momentum = 0.5})",
       optim::rmsprop(0.05, {.centered = true, .momentum = 0.5}),
       {-0.73881530, 0.358100891, 3.400968313, 1.311473369, -1.59590280, 1.588681817, 0.084177911, -0.90810942, -0.05979766}},
      {"optim::adafactor(0.1, {.min_dim_size_to_factor = 2})",
       optim::adafactor(0.1, {.min_dim_size_to_factor = 2}),
       {-0.40995723, -0.26290607, 2.461955785, 0.971081554, -1.56417202, 1.570503592, 0.434138655, -1.38639569, 0.052896730}},
      {"optim::adafactor(0.1, {.momentum = 0.9, .weight_decay_rate = 0.01})",
       optim::adafactor(0.1, {.momentum = 0.9, .weight_decay_rate = 0.01}),
       {0.265534788, -0.73133289, 2.087838888, 0.437388896, -0.90647828, 1.586435794, 0.726805746, -1.66582798, 0.261398434}},
      {"optim::chain(optim::clip_by_global_norm(1), optim::sgd(0.2))",
       optim::chain(optim::clip_by_global_norm(1), optim::sgd(0.2)),
       {0.312802582, -0.74582380, 2.092279434, 0.626116216, -0.89190679, 1.524669051, 0.243677824, -1.62130558, -9.64897e-05}},
      {"optim::chain(optim::clip(0.5), optim::ema(0.9), optim::scale(-0.1))",
       optim::chain(optim::clip(0.5), optim::ema(0.9), optim::scale(-0.1)),
       {0.200000107, -0.69999998, 2.273623704, 0.549999892, -1.04999995, 1.563852548, 0.699999988, -1.70000028, 0.200000107}},
      {"optim::chain(optim::centralize(), optim::clip_by_block_rms(0.5), optim::scale(-0.1))",
       optim::chain(optim::centralize(), optim::clip_by_block_rms(0.5), optim::scale(-0.1)),
       {0.086114175, -0.58611428, 1.715953588, 0.534046292, -0.88003540, 1.630035400, 0.675695896, -1.87698924, 0.119661912}},
      {"optim::chain(optim::scale_by_trust_ratio(), optim::sgd(0.1))",
       optim::chain(optim::scale_by_trust_ratio(), optim::sgd(0.1)),
       {-0.18767246, 0.136101901, 2.386985063, 1.251797437, -1.16777133, 1.557088136, 0.151909530, -1.52994585, 0.000142763}},
      {"optim::masked(optim::adam(0.1), matrices)",
       optim::masked(optim::adam(0.1), matrices),
       {-0.10190594, -0.39629727, 2.603191137, 0.845591902, -1.33333146, 1.526151776, 117649.0, -128.0, 42883060.0}},
      {"optim::multi_steps(optim::adam(0.1), 2)",
       optim::multi_steps(optim::adam(0.1), 2),
       {0.199671894, -0.69953805, 2.300250768, 0.549606263, -1.04838109, 1.613063573, 0.701588273, -1.70062541, 0.204873174}},
      {"optim::adam(optim::cosine_decay_schedule(0.1, 5))",
       optim::adam(optim::cosine_decay_schedule(0.1, 5)),
       {0.199598342, -0.69934535, 2.300487518, 0.549480557, -1.04792976, 1.599876999, 0.701988935, -1.70077991, 0.206255808}},
      {"optim::chain(optim::clip_by_global_norm(1), optim::scale_by_adam({.nesterov = true}), optim::scale(-0.1))",
       optim::chain(optim::clip_by_global_norm(1), optim::scale_by_adam({.nesterov = true}), optim::scale(-0.1)),
       {-0.228262544, -0.265589178, 2.73613, 0.965743423, -1.43893838, 1.57046163, 0.302304924, -1.28385556, -0.0830655992}},
      {"optim::chain(optim::scale_by_amsgrad(), optim::scale(-0.1))",
       optim::chain(optim::scale_by_amsgrad(), optim::scale(-0.1)),
       {-0.101905942, -0.396297276, 2.60319114, 0.818379402, -1.26775301, 1.54435205, 0.478342563, -1.44018376, 0.0488630421}},
      {"optim::chain(optim::scale_by_adamax(), optim::scale(-0.1))",
       optim::chain(optim::scale_by_adamax(), optim::scale(-0.1)),
       {-0.0818256512, -0.456846952, 2.52740335, 0.819721878, -1.26887333, 1.54417169, 0.477191538, -1.43886137, 0.0480154753}},
      {"optim::chain(optim::scale_by_radam({.b2 = 0.9}), optim::scale(-0.1))",
       optim::chain(optim::scale_by_radam({.b2 = 0.9}), optim::scale(-0.1)),
       {0.0172714554, -0.340932608, 2.25410295, 1.15179276, -1.11243379, 1.5791986, -0.444020957, -1.07972229, 0.343794733}},
      {"optim::chain(optim::scale_by_belief(), optim::scale(-0.1))",
       optim::chain(optim::scale_by_belief(), optim::scale(-0.1)),
       {-0.256238788, -0.24260816, 2.75450158, 0.991987467, -1.46007693, 1.5253458, 0.281721592, -1.25850689, -0.126469582}},
      {"optim::chain(optim::scale_by_yogi(), optim::scale(-0.1))",
       optim::chain(optim::scale_by_yogi(), optim::scale(-0.1)),
       {-0.100751437, -0.397168517, 2.60119367, 0.844838798, -1.33179021, 1.52710307, 0.414782554, -1.40588772, -0.0469464734}},
      {"optim::chain(optim::scale_by_lion(), optim::scale(-0.02))",
       optim::chain(optim::scale_by_lion(), optim::scale(-0.02)),
       {0.379999936, -0.880000114, 2.11999989, 0.370000064, -0.869999886, 1.57999992, 0.880000114, -1.88000011, 0.379999936}},
      {"optim::chain(optim::scale_by_sign(), optim::scale(-0.05))",
       optim::chain(optim::scale_by_sign(), optim::scale(-0.05)),
       {0.199999958, -0.699999928, 2.29999971, 0.550000072, -1.04999995, 1.5999999, 0.699999928, -1.70000029, 0.199999958}},
      {"optim::chain(optim::scale_by_rss(), optim::scale(-0.3))",
       optim::chain(optim::scale_by_rss(), optim::scale(-0.3)),
       {-0.575134695, 0.210506231, 3.17914844, 1.17779136, -1.46830606, 1.56576121, 0.201360807, -1.04384387, 0.0036984859}},
      {"optim::chain(optim::scale_by_adadelta(), optim::scale(-1))",
       optim::chain(optim::scale_by_adadelta(), optim::scale(-1)),
       {0.480100304, -0.97999835, 2.02006412, 0.269818634, -0.76974988, 1.51836884, 0.980256319, -1.98020554, 0.480358243}},
      {"optim::chain(optim::scale_by_rms({.decay = 0.8}), optim::scale(-0.05))",
       optim::chain(optim::scale_by_rms({.decay = 0.8}), optim::scale(-0.05)),
       {0.0389208496, -0.516288996, 2.49454999, 0.686922193, -1.16090286, 1.56153536, 0.585628569, -1.56579173, 0.135445103}},
      {"optim::chain(optim::scale_by_stddev({.initial_scale = 0.1}), optim::scale(-0.05))",
       optim::chain(optim::scale_by_stddev({.initial_scale = 0.1}), optim::scale(-0.05)),
       {-0.0922398046, -0.311164469, 2.48235583, 0.875296056, -1.19463563, 1.56667387, 0.404625714, -1.37435424, 0.0479599833}},
      {"optim::sgd(optim::warmup_cosine_decay_schedule(0, 0.1, 2, 6))",
       optim::sgd(optim::warmup_cosine_decay_schedule(0, 0.1, 2, 6)),
       {0.224463433, -0.61451590, 2.137957334, 0.780719101, -0.95224004, 1.533851742, 0.087219998, -1.46408069, 0.0}},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    const Array want = array(row.want);
    const auto flat = [](const Params& p) { return concatenate({ravel(p.w), p.b}); };
    const auto six = [&](const Params& p) { return trained(row.optimizer, p, 6); };
    CHECK(allclose(flat(six(start)), want, 2e-5, 2e-6).item<bool>());
    CHECK(allclose(flat(jit(six)(start)), want, 2e-5, 2e-6).item<bool>());
    const Params two{stack({start.w, 2 * start.w}), stack({start.b, start.b})};
    CHECK(allclose(flat(tree::map([](Array x) { return x(0); }, jit(vmap(six))(two))), want, 2e-5, 2e-6).item<bool>());
    const auto by_scan = [&](const Params& p) {
      const auto body = [&](const std::pair<Params, optim::OptState>& c, None) {
        const auto [step, next] = row.optimizer.update(grad(loss)(c.first), c.second, c.first);
        return std::pair{std::pair{optim::apply_updates(c.first, step), next}, none};
      };
      return scan(body, std::pair{p, row.optimizer.init(p)}, none, {.length = 6}).first.first;
    };
    CHECK(allclose(flat(jit(by_scan)(start)), want, 2e-5, 2e-6).item<bool>());
    const Scope stepwise = disable_jit();
    CHECK(allclose(flat(jit(six)(start)), want, 2e-5, 2e-6).item<bool>());
  }
}

TEST_CASE("schedules: their values, eagerly, compiled and mapped") {
  const ScheduleRow rows[] = {
      {"optim::constant_schedule(0.5)", optim::constant_schedule(0.5), {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
      {"optim::linear_schedule(1, 0.1, 10)",
       optim::linear_schedule(1, 0.1, 10),
       {1.0, 0.909999966, 0.730000019, 0.640000045, 0.550000011, 0.190000027, 0.100000001}},
      {"optim::linear_schedule(1, 0.1, 10, 3)",
       optim::linear_schedule(1, 0.1, 10, 3),
       {1.0, 1.0, 1.0, 0.909999966, 0.819999992, 0.459999948, 0.100000001}},
      {"optim::polynomial_schedule(1, 0.1, 2, 10)",
       optim::polynomial_schedule(1, 0.1, 2, 10),
       {1.0, 0.828999936, 0.541000008, 0.423999994, 0.324999988, 0.109000004, 0.100000001}},
      {"optim::exponential_decay(1, 5, 0.5)",
       optim::exponential_decay(1, 5, 0.5),
       {1.0, 0.870550572, 0.659753918, 0.574349164, 0.5, 0.287174612, 0.143587306}},
      {"optim::exponential_decay(1, 5, 0.5, {.transition_begin = 2, .staircase = true, .end_value = 0.3})",
       optim::exponential_decay(1, 5, 0.5, {.transition_begin = 2, .staircase = true, .end_value = 0.3}),
       {1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.300000011}},
      {"optim::cosine_decay_schedule(1, 10, 0.1)",
       optim::cosine_decay_schedule(1, 10, 0.1),
       {1.0, 0.977975428, 0.814503371, 0.689057648, 0.549999952, 0.122024580, 0.100000001}},
      {"optim::cosine_decay_schedule({.init_value = 1, .decay_steps = 10, .alpha = 0.1})",
       optim::cosine_decay_schedule({.init_value = 1, .decay_steps = 10, .alpha = 0.1}),
       {1.0, 0.977975428, 0.814503371, 0.689057648, 0.549999952, 0.122024580, 0.100000001}},
      {"optim::cosine_decay_schedule(1, 10, 0, 2)",
       optim::cosine_decay_schedule(1, 10, 0, 2),
       {1.0, 0.951655328, 0.630265474, 0.428381353, 0.249999970, 0.000598867, 0.0}},
      {"optim::piecewise_constant_schedule(1, {{4, 0.1}, {8, 0.5}})",
       optim::piecewise_constant_schedule(1, {{4, 0.1}, {8, 0.5}}),
       {1.0, 1.0, 1.0, 0.100000001, 0.100000001, 0.050000000, 0.050000000}},
      {"optim::join_schedules({optim::linear_schedule(0, 1, 4), optim::constant_schedule(0.5)}, {4})",
       optim::join_schedules({optim::linear_schedule(0, 1, 4), optim::constant_schedule(0.5)}, {4}),
       {0.0, 0.25, 0.75, 0.5, 0.5, 0.5, 0.5}},
      {"optim::warmup_constant_schedule(0.1, 1, 5)",
       optim::warmup_constant_schedule(0.1, 1, 5),
       {0.100000023, 0.280000030, 0.640000045, 0.820000052, 1.0, 1.0, 1.0}},
      {"optim::warmup_cosine_decay_schedule(0.1, 1, 4, 12, 0.01)",
       optim::warmup_cosine_decay_schedule(0.1, 1, 4, 12, 0.01),
       {0.100000023, 0.325000047, 0.774999976, 1.0, 0.962320327, 0.315571665, 0.009999999}},
      {"optim::warmup_cosine_decay_schedule({.init_value = 0.1, .peak_value = 1, ...})",
       optim::warmup_cosine_decay_schedule({.init_value = 0.1, .peak_value = 1, .warmup_steps = 4, .decay_steps = 12, .end_value = 0.01}),
       {0.100000023, 0.325000047, 0.774999976, 1.0, 0.962320327, 0.315571665, 0.009999999}},
      {"optim::warmup_exponential_decay_schedule(0.1, 1, 4, 5, 0.5)",
       optim::warmup_exponential_decay_schedule(0.1, 1, 4, 5, 0.5),
       {0.100000023, 0.325000047, 0.774999976, 1.0, 0.870550572, 0.5, 0.25}},
  };
  const Array counts = array({0, 1, 3, 4, 5, 9, 14});
  for (const ScheduleRow& row : rows) {
    INFO(std::string(row.name));
    const auto at = [&](Array count) { return row.schedule(count); };
    CHECK(allclose(vmap(at)(counts), array(row.want), 1e-5, 1e-6).item<bool>());
    CHECK(allclose(jit(vmap(at))(counts), array(row.want), 1e-5, 1e-6).item<bool>());
    for (int i = 0; i < 7; ++i) CHECK(std::abs(row.schedule(counts(i)).item<float>() - row.want[static_cast<std::size_t>(i)]) < 1e-5f);
  }
  CHECK(has(message_of<Error>([] { optim::cosine_decay_schedule(1, 0); }), "decay_steps is 0"));
  CHECK(has(message_of<Error>([] { optim::join_schedules({optim::constant_schedule(1)}, {3}); }), "1 schedules have 1 boundaries"));
}

TEST_CASE("optimizers: masks by path, moving averages, derivatives of the learning rate, dtypes, what is refused") {
  const optim::Mask biases = [](const std::string& path, const Array&) { return path == ".b"; };
  const Params p = trained(optim::masked(optim::set_to_zero(), biases), start, 1);
  const Params by_path = trained(optim::masked(optim::set_to_zero(), [](const std::string& path) { return path == ".b"; }), start, 1);
  CHECK(tree::allclose(by_path, p));
  const Params by_array = trained(optim::masked(optim::set_to_zero(), [](Array leaf) { return max(leaf) <= max(start.b); }), start, 1);
  CHECK(array_equal(by_array.b, start.b).item<bool>());
  CHECK(array_equal(p.b, start.b).item<bool>());
  CHECK(allclose(p.w, start.w + grad(loss)(start).w).item<bool>());
  const Params mean = optim::incremental_update(p, start, 0.25f);
  CHECK(allclose(mean.w, 0.25f * p.w + 0.75f * start.w).item<bool>());
  CHECK(std::abs(optim::global_norm(start).item<float>() - tree::norm(start).item<float>()) < 1e-6f);

  const auto after = [](Array rate) { return loss(trained(optim::adam(rate), start, 3)); };
  const float h = 1e-2f, difference = (after(0.1f + h).item<float>() - after(0.1f - h).item<float>()) / (2 * h);
  CHECK(std::abs(jit(grad(after))(0.1f).item<float>() - difference) < 0.02f * std::abs(difference));

  const Params half{start.w.astype(bfloat16), start.b.astype(float64)};
  const Params moved = trained(optim::adamw(optim::linear_schedule(0.1, 0, 10)), half, 2);
  CHECK(moved.w.dtype() == bfloat16);
  CHECK(moved.b.dtype() == float64);

  const auto adamw = optim::adamw(0.1);
  const auto donating = jit([&](const Params& p, const optim::OptState& s) { return adamw.update(p, s, p); }, {.donate_argnums = {1}});
  CHECK(allclose(donating(start, adamw.init(start)).first.b, adamw.update(start, adamw.init(start), start).first.b).item<bool>());
  CHECK(has(message_of<Error>([&] { adamw.update(start, adamw.init(start)); }), "it needs the parameters"));
  CHECK(has(message_of<Error>([&] { adamw.update(start, {}, start); }), "too few arrays"));
  CHECK(has(message_of<Error>([&] { optim::sgd(0.1).update(start, adamw.init(start), start); }), "it has 5 arrays, and 0 are used"));
  CHECK(has(message_of<ShapeError>([&] { adamw.update(start, adamw.init(Params{start.b, start.w}), start); }),
            "adam: the update .w is f32[3,2]"));
  CHECK_THROWS_AS(optim::multi_steps(adamw, 0), Error);
}

TEST_CASE("optimizers: multi_steps takes the mean of gradients that differ") {
  const optim::GradientTransformation mean_of_three = optim::multi_steps(optim::sgd(1), 3);
  optim::OptState state = mean_of_three.init(ones(2));
  std::vector<Array> updates;
  for (const float g : {3.f, 6.f, 12.f}) {
    const auto [update, next] = mean_of_three.update(full({2}, g), state, ones(2));
    updates.push_back(update), state = next;
  }
  CHECK(all(updates[0] == 0.f).item<bool>());
  CHECK(all(updates[1] == 0.f).item<bool>());
  CHECK(allclose(updates[2], full({2}, -7.f)).item<bool>());
}

TEST_CASE("optimizers: an update by the ratio of norms can be differentiated where all parameters are zero") {
  const optim::GradientTransformation ratio = optim::scale_by_trust_ratio();
  const Array derivative = grad([&](Array p) { return sum(ratio.update(ones(3), ratio.init(p), p).first); })(zeros(3));
  CHECK(all(isfinite(derivative)).item<bool>());
}

TEST_CASE("optim: what is kept of whole numbers would be rounded, so they are refused unless they are left out") {
  const std::map<std::string, Array> params{{"counts", array({5, 6})}, {"w", ones(2)}};
  for (const auto& t : {optim::adam(0.1), optim::sgd(0.1, 0.9), optim::rmsprop(0.1), optim::chain({optim::clip(1.), optim::adagrad(0.1)})})
    CHECK(has(message_of<DTypeError>([&] { t.init(params); }), {"[\"counts\"]", "i32[2]", "rounded to whole numbers", "masked"}));
  const auto rest = optim::masked(optim::adam(0.1), [](const std::string&, const Array& p) { return p.dtype().is_inexact(); });
  CHECK(rest.update(params, rest.init(params), params).first.at("counts").dtype() == int32);
  optim::sgd(0.1).init(params);  // keeps nothing
}
