// Keys and samplers against JAX 0.10.2: the wanted numbers are its golden cases `random_*` (x64 off unless said otherwise).
#include <limits>
#include <set>

#include "checks.h"

using namespace weft;
using namespace weft::test;
using weft::random::key;

namespace {

template <class T>
bool equal(const Array& x, const std::vector<T>& want) {
  return x.dtype() == detail::storage_dtype<T>() && x.to_vector<T>() == want;
}
using Words = std::vector<std::uint32_t>;
/// The words of keys.
bool is_key(const Array& keys, const Words& want) { return keys.dtype().is_key() && equal(random::key_data(keys), want); }

/// The x of the case random_permutation_choice.
Array table() {
  return array(
      std::vector<float>{-2.351624011993408f,  0.5199576616287231f,    -0.37364402413368225f, 0.18335628509521484f, -1.2792373895645142f,
                         0.8979300260543823f,  0.13468705117702484f,   -1.0904990434646606f,  -0.4713919460773468f, -1.007636308670044f,
                         -0.4689326882362366f, 0.22395330667495728f,   -0.3452216684818268f,  0.15563102066516876f, -1.0840343236923218f,
                         0.3448319137096405f,  -0.020160727202892303f, -2.382209539413452f,   0.955139696598053f,   0.567571759223938f},
      {4, 5});
}
Array rows(const std::vector<int>& which) {
  std::vector<Array> out;
  for (int i : which) out.push_back(table()[i]);
  return stack(out);
}

}  // namespace

TEST_CASE("keys: random_keys") {
  const Array k = key(42), s = random::split(k);
  CHECK(k.ndim() == 0);
  CHECK(is_key(k, {0, 42}));
  CHECK(is_key(s, {1832780943, 270669613, 64467757, 2916123636}));
  CHECK(is_key(random::split(k, 5),
               {1832780943, 270669613, 64467757, 2916123636, 2465931498, 255383827, 3134548294, 894150801, 2954079971, 3276725750}));
  CHECK(is_key(random::fold_in(k, 7), {2547012911, 1371500959}));
  CHECK(is_key(random::fold_in(random::fold_in(k, 0), 123456), {151198057, 979835596}));
  CHECK(is_key(key(0), {0, 0}));
  CHECK(is_key(key(static_cast<std::uint64_t>(-1)), {0, 4294967295}));
  CHECK(is_key(key(2147483647), {0, 2147483647}));
  CHECK(is_key(key(std::uint64_t{7} << 32 | 9), {7, 9}));
  CHECK(is_key(random::split(s[1], {2, 3}), {3187376881, 129218101, 2350016172, 1168365246, 257214496, 567757975, 1383271662, 289976367,
                                             4101366060, 3895272353, 423881385, 714897346}));
  CHECK(is_key(random::split(random::wrap_key_data(array({0u, 3u}, uint32))), {3716834203, 3481239269, 1946498123, 2217676430}));
  const auto [first, second] = random::split<2>(k);
  CHECK(is_key(first, {1832780943, 270669613}));
  CHECK(is_key(second, {64467757, 2916123636}));
  CHECK(is_key(key(array({42})[0]), {0, 42}));
  CHECK(is_key(vmap([](const Array& seed) { return key(seed); })(array({42, -1})), {0, 42, 0, 4294967295}));
}

TEST_CASE("bits: random_bits") {
  const Array k = key(1);
  CHECK(equal<std::uint32_t>(random::bits(k), {1883912375}));
  const Words all{1883912375, 2292451390, 1915204986, 1882898417, 3854144420, 2400655036, 4225756532, 3616323604,
                  1656910982, 2748596072, 1028623903, 1730928758, 3487851715, 3367688912, 3491717864, 3043452380,
                  3577407476, 155276579,  3458439621, 227091262,  2044833133, 283902825,  680662942,  3178582379};
  CHECK(equal(random::bits(k, {2, 3, 4}), all));
  CHECK(equal(random::bits(k, 7), Words(all.begin(), all.begin() + 7)));
  CHECK(equal(random::bits(k, {3, 5}), Words(all.begin(), all.begin() + 15)));
  CHECK(equal<std::uint8_t>(random::bits(k, 5, uint8), {183, 62, 122, 241, 164}));
  CHECK(equal<std::uint16_t>(random::bits(k, 5, uint16), {14519, 2110, 46458, 49137, 37796}));
  CHECK(random::bits(k, {0, 3}).shape() == Shape{0, 3});
  CHECK(equal<std::uint64_t>(random::bits(key(13), 3, uint64),
                             {15101107887042406030u, 10510637179878050358u, 12533040421536548558u}));  // random_x64
}

TEST_CASE("uniform and bernoulli are exact: random_uniform_float, random_x64") {
  const Array k = key(7);
  CHECK(equal<float>(random::uniform(k), {0.6740899085998535f}));
  CHECK(equal<float>(random::uniform(k, 6), {0.6740899085998535f, 0.9746168851852417f, 0.3028435707092285f, 0.4439585208892822f,
                                             0.7308865785598755f, 0.6309295892715454f}));
  const std::vector<float> scaled{2.7186293601989746f, 4.822318077087402f, 0.11990499496459961f,
                                  1.1077096462249756f, 3.116206169128418f, 2.4165072441101074f};
  CHECK(equal<float>(random::uniform(k, {2, 3}, float32, -2., 5.), scaled));
  // Bounds that are arrays give the same numbers.
  CHECK(equal<float>(random::uniform(k, {2, 3}, float32, full({2, 1}, -2.f), full({3}, 5.f)), scaled));
  CHECK(equal<float>(
      jit([](const Array& a, const Array& low) { return random::uniform(a, {2, 3}, float32, low, 5.); })(k, array({-2.f})[0]), scaled));
  CHECK(equal<std::uint16_t>(bitcast_convert(random::uniform(k, 5, bfloat16), uint16), {15648, 0, 16170, 15936, 16134}));
  CHECK(near(random::uniform(k, 5, float16), float16, {5}, {0.16015625, 0.4921875, 0.162109375, 0.26953125, 0.388671875}, 0));
  CHECK(equal<double>(random::uniform(key(13), 4, float64),
                      {0.818632698903468, 0.5697827832315348, 0.6794174826439283, 0.15913324450318678}));
  CHECK(equal<bool>(random::bernoulli(k, .3, 10), {false, false, false, false, false, false, false, false, true, true}));
  CHECK(equal<bool>(random::bernoulli(k, linspace(0, 1, 6)), {false, false, true, true, true, true}));
  CHECK(equal<bool>(random::bernoulli(k), {false}));
}

TEST_CASE("normal: random_normal, random_low_precision, random_x64") {
  const Array k = key(3);
  const auto [a, b] = random::split<2>(k);
  CHECK(near(random::normal(k, {3, 4}), float32, {3, 4},
             {-1.4462569952011108, 1.5393810272216797, 0.38250625133514404, 1.970701813697815, -0.5876674056053162, 0.20941562950611115,
              -1.2453285455703735, -0.3013702929019928, -0.8032536506652832, -1.13607656955719, 0.6338517665863037, -1.0104950666427612}));
  CHECK(near(random::normal(a), float32, {}, {-2.3783397674560547}));
  CHECK(near(2 + 0.5 * random::normal(b, 5),
             {1.0283892154693604, 2.05240797996521, 1.9762052297592163, 2.15299654006958, 1.8474798202514648}));
  CHECK(near(random::truncated_normal(k, -1., 2., 6), float32, {6},
             {-0.774646520614624, 1.4510362148284912, 0.4955328106880188, 1.7201045751571655, -0.2883647382259369, 0.3473750650882721}));
  const Array c = key(17);
  CHECK(near(random::normal(c, 4, bfloat16),
             convert(bitcast_convert(array({16357, 16132, 16346, 15668}, uint16), bfloat16), float64).to_vector<double>(), 0.016));
  CHECK(
      near(random::normal(c, 5, float16), float16, {5}, {-0.6767578125, -0.3232421875, -1.029296875, 0.64501953125, -1.8720703125}, 0.002));
  CHECK(near(random::exponential(c, 4, bfloat16),
             convert(bitcast_convert(array({16464, 16280, 16452, 16186}, uint16), bfloat16), float64).to_vector<double>(), 0.016));
  CHECK(near(random::truncated_normal(c, -1, 1, 3, float16), float16, {3}, {-0.443359375, -0.218994140625, -0.63720703125}, 0.002));
  CHECK(near(random::normal(key(13), 3, float64), float64, {3}, {0.9101667012620482, 0.17582117499652553, 0.46607050491971663}, 1e-12));
  const Array z = random::normal(k, {2000}, complex64);
  CHECK(std::abs(mean(real(z * conj(z))).item<double>() - 1) < .07);
}

TEST_CASE("randint: random_integers, random_x64") {
  const Array k = key(11);
  CHECK(equal<int>(random::randint(k, 8, 0, 10), {1, 5, 8, 6, 1, 4, 3, 3}));
  CHECK(equal<int>(random::randint(k, 4, -5, 1000000), {306911, 192718, 800879, 686759}));
  CHECK(equal<int>(random::randint(k, 3, array({0, 10, 100}), array({5, 20, 101})), {1, 15, 100}));
  CHECK(equal<std::uint8_t>(random::randint(k, 6, 0, 256, uint8), {85, 211, 144, 0, 247, 20}));
  CHECK(equal<int>(random::randint(k, 2, 0, 2147483647), {473836374, 192723}));
  CHECK(equal<int>(random::randint(k, 2, 5, 5), {5, 5}));
  CHECK(equal<std::int8_t>(random::randint(k, 5, -100, 100, int8), {41, -25, 28, -4, -69}));
  CHECK(equal<std::int64_t>(random::randint(key(13), 4, 0, 10, int64), {4, 4, 3, 1}));
  // Bounds that are arrays: the same numbers by the same formulas at run time.
  auto of_arrays = [&](const Array& low, const Array& high, DType dtype) {
    return jit([dtype](const Array& a, const Array& l, const Array& h) { return random::randint(a, 6, l, h, dtype); })(k, low, high);
  };
  for (DType dtype : {int8, uint8, int16, uint16, int32, uint32, int64, uint64})
    CHECK(of_arrays(array({3})[0], array({100})[0], dtype).to_vector<double>() == random::randint(k, 6, 3, 100, dtype).to_vector<double>());
  CHECK(of_arrays(array({0})[0], array({256})[0], uint8).to_vector<int>() == random::randint(k, 6, 0, 256, uint8).to_vector<int>());
  // The whole range, and one bound at its end.
  const long long low = std::numeric_limits<int>::min(), high = std::numeric_limits<int>::max();
  CHECK(equal<std::uint32_t>(bitcast_convert(random::randint(k, 3, low, high + 1), uint32) + 2147483648u,
                             random::bits(random::split(k)[1], 3).to_vector<std::uint32_t>()));
  CHECK(random::randint(k, 1000, 7, 8).to_vector<int>() == std::vector<int>(1000, 7));
}

TEST_CASE("permutation and choice: random_permutation_choice, random_x64") {
  const Array k = key(5), x = table();
  CHECK(equal<int>(random::permutation(k, 10), {9, 0, 2, 4, 8, 1, 3, 5, 7, 6}));
  CHECK(close(random::permutation(k, x), rows({0, 2, 1, 3}), 0));
  const std::vector<int> order = random::permutation(k, 5).to_vector<int>();
  CHECK(close(random::permutation(k, x, 1), take(x, array(order), 1), 0));
  CHECK(
      near(random::permutation(k, x, 1),
           std::vector<double>{-2.351624011993408,  -0.37364402413368225, -1.2792373895645142, 0.5199576616287231,    0.18335628509521484,
                               0.8979300260543823,  -1.0904990434646606,  -1.007636308670044,  0.13468705117702484,   -0.4713919460773468,
                               -0.4689326882362366, -0.3452216684818268,  -1.0840343236923218, 0.22395330667495728,   0.15563102066516876,
                               0.3448319137096405,  -2.382209539413452,   0.567571759223938,   -0.020160727202892303, 0.955139696598053}));
  CHECK(near(random::permutation(k, x, 1, true),
             std::vector<double>{-2.351624011993408,  -0.37364402413368225,  -1.2792373895645142, 0.5199576616287231,  0.18335628509521484,
                                 -1.007636308670044,  -0.4713919460773468,   0.8979300260543823,  -1.0904990434646606, 0.13468705117702484,
                                 -0.4689326882362366, -1.0840343236923218,   -0.3452216684818268, 0.22395330667495728, 0.15563102066516876,
                                 -2.382209539413452,  -0.020160727202892303, 0.3448319137096405,  0.567571759223938,   0.955139696598053}));
  CHECK(equal<int>(random::choice(k, 20, 6), {1, 8, 3, 16, 4, 1}));
  CHECK(equal<int>(random::choice(k, 8, 8, {.replace = false}), {0, 2, 4, 1, 3, 5, 7, 6}));
  CHECK(close(random::choice(k, x, 3, {.p = array({.1f, .2f, .3f, .4f})}), rows({2, 0, 1}), 0));
  CHECK(random::choice(k, x, {2, 3}, {.axis = 1}).shape() == Shape{4, 2, 3});
  CHECK(random::choice(k, 5, {}).ndim() == 0);
  CHECK(equal<std::int64_t>(random::permutation(key(13), array({6}, int64)[0]), {1, 0, 4, 2, 5, 3}));
  // Without replacement and with probabilities: all different, and nothing improbable.
  const std::vector<int> some = random::choice(k, 4, 3, {.replace = false, .p = array({.5f, 0.f, .25f, .25f})}).to_vector<int>();
  CHECK(std::set<int>(some.begin(), some.end()) == std::set<int>{0, 2, 3});
  // Keys are shuffled and chosen as well.
  const Array keys = random::split(k, 4);
  CHECK(close(random::key_data(random::permutation(k, keys)), random::key_data(keys)[random::permutation(k, 4)], 0));
  CHECK(random::permutation(k, 0).shape() == Shape{0});
}

TEST_CASE("other distributions: random_other_distributions") {
  const Array k = key(9);
  const Array logits =
      array({{.8274038434028625, -.4166490435600281, -1.1799280643463135, .8777672052383423, -1.0009392499923706, -2.1134605407714844},
             {.7532958388328552, -1.5378942489624023, -.7177716493606567, .1348848044872284, -.8342215418815613, .39778196811676025},
             {1.3606452941894531, -.8948759436607361, -.3020395040512085, -1.3659356832504272, -1.9951565265655518, .39150816202163696},
             {-1.7302578687667847, 1.108976125717163, -.679926335811615, -.3439618945121765, -.2598169147968292, -.5132843255996704}});
  CHECK(equal<int>(random::categorical(k, logits), {1, 5, 0, 1}));
  CHECK(equal<int>(random::categorical(k, logits, 0), {2, 0, 3, 1, 3, 3}));
  CHECK(equal<int>(random::categorical(k, logits[0], -1, 7), {1, 3, 0, 0, 1, 3, 0}));
  CHECK(near(random::gumbel(k, 4), {-1.163029432296753, 3.41198468208313, 0.1417323350906372, -0.8252516984939575}));
  CHECK(near(random::exponential(k, 4), {0.04163278266787529, 3.428427219390869, 0.5444716215133667, 0.10762237757444382}));
  CHECK(near(random::laplace(k, 4), {2.5064635276794434, -2.735280990600586, 0.17470628023147583, 1.5893077850341797}));
  CHECK(near(random::cauchy(k, 4), {-7.763143539428711, 9.778902053833008, -0.25725257396698, -3.0120725631713867}, 2e-5));
  CHECK(near(random::logistic(k, 4), {-3.1579787731170654, 3.395451545715332, -0.3233819007873535, -2.174832820892334}));
  CHECK(equal<int>(random::rademacher(k, 8), {1, -1, 1, 1, 1, -1, 1, 1}));
}

TEST_CASE("under transforms: random_under_transforms") {
  const Array k = key(21), ks = random::split(k, 3);
  auto two = [](const Array& a) { return random::uniform(a, 2); };
  const std::vector<float> v{0.3872945308685303f, 0.3603721857070923f, 0.7798042297363281f,
                             0.5050724744796753f, 0.9464410543441772f, 0.6357675790786743f};
  CHECK(equal(vmap(two)(ks), v));
  CHECK(equal(jit(vmap(two))(ks), v));
  CHECK(equal(vmap(jit(two), {.out_axes = 1})(ks), transpose(array(v, {3, 2})).to_vector<float>()));
  auto folded = [&](const Array& i) { return random::uniform(random::fold_in(k, i)); };
  CHECK(equal<float>(vmap(folded)(arange(4)), {0.3872945308685303f, 0.7798042297363281f, 0.9464410543441772f, 0.996614933013916f}));
  auto step = [](const Array& a, None) {
    const auto [next, now] = random::split<2>(a);
    return std::pair{next, random::randint(now, {}, 0, 1000)};
  };
  const auto [last, ints] = scan(step, k, none, {.length = 4});
  CHECK(is_key(last, {3323585503, 1894102733}));
  CHECK(equal<int>(ints, {214, 972, 550, 94}));
  CHECK(near(grad([&](const Array& s) { return sum(s * random::uniform(k, 3)); })(array({-1.2383450269699097f})[0]), {1.7243869304656982}));
  CHECK(sum(where(random::bernoulli(ks[0], .75, 6), 1 / .75, 0.)).item<float>() == doctest::Approx(8));
}
