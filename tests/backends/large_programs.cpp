// Large programs: the work of compiling grows as the number of equations does. Work is counted, not timed: allocations by all threads, and
// the instructions of this one where the system counts them.
#include <doctest/doctest.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/weft.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>

#include "tests/backends/code_from.h"

using namespace weft;

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Those of the library's code are these, too.
[[gnu::noinline]] void* operator new(std::size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

/// Instructions of this thread in user mode; -1 where the system doesn't count them for us.
class Instructions {
 public:
  Instructions() {
    perf_event_attr a{};
    a.type = PERF_TYPE_HARDWARE, a.size = sizeof a, a.config = PERF_COUNT_HW_INSTRUCTIONS;
    a.exclude_kernel = a.exclude_hv = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
  }
  ~Instructions() {
    if (file_ >= 0) close(file_);
  }
  double count() const {
    std::uint64_t n = 0;
    return file_ >= 0 && read(file_, &n, sizeof n) == sizeof n ? static_cast<double>(n) : -1;
  }

 private:
  int file_ = -1;
};

/// A loop with many carries, each of which is a sum of itself and the next one: what holds for the last one, x, holds for the first one,
/// the result, only after as many steps as there are carries.
Array handed_on(const Array& x, int carries) {
  std::vector<Array> start(static_cast<std::size_t>(carries), zeros({4}));
  start.back() = x;
  const auto step = [](std::vector<Array> c, Array y) {
    std::vector<Array> next;
    for (std::size_t i = 0; i < c.size(); ++i) next.push_back(c[i] * y + c[std::min(i + 1, c.size() - 1)]);
    return std::pair{next, none};
  };
  return scan(step, start, ones({4})).first[0];
}

struct Work {
  double allocations, instructions;
};
Work work_of(const std::function<void()>& f) {
  static const Instructions counter;
  const double instructions = counter.count();
  const std::uint64_t before = allocations.load();
  f();
  const double count = static_cast<double>(allocations.load() - before);
  return {count, instructions < 0 ? -1 : counter.count() - instructions};
}

Array mixed(Array x, int n) {
  for (int i = 0; i < n / 4; ++i) {
    x = sin(x) * 1.01f;
    x = x + (i % 3 == 0 ? cumsum(x) : i % 3 == 1 ? flip(x, 0) : sum(x));
    x = tanh(x);
  }
  return sum(x);
}
Array chain(Array x, int n) {
  for (int i = 0; i < n / 2; ++i) x = x * 1.0001f + 0.5f;
  return x;
}

/// Each compiles and runs a program of about n equations.
const std::map<std::string, std::function<void(int n)>> kPrograms = {
    {"a chain of scalar operations", [](int n) { jit([n](Array x) { return chain(x, n); })(1.f); }},
    {"a chain with as many constants",
     [](int n) {
       jit([n](Array x) {
         for (int i = 0; i < n / 2; ++i) x = x * (1 + 1e-6f * static_cast<float>(i)) + 0.5f * static_cast<float>(i);
         return x;
       })(1.f);
     }},
    {"a chain on vectors", [](int n) { jit([n](Array x) { return chain(x, n); })(ones(100)); }},
    {"its derivative", [](int n) { jit(grad([n](Array x) { return chain(x, n); }))(1.f); }},
    {"its batch", [](int n) { jit(vmap([n](Array x) { return chain(x, n); }))(ones(20)); }},
    {"a chain that reads itself twice",
     [](int n) {
       jit([n](Array x) {
         for (int i = 0; i < n / 2; ++i) x = x * x + x;
         return x;
       })(0.1f);
     }},
    {"distinct operations", [](int n) { jit([n](Array x) { return mixed(x, n); })(ones(50)); }},
    {"their derivative", [](int n) { jit(grad([n](Array x) { return mixed(x, n / 4); }))(ones(50)); }},
    {"independent equations, many inputs and results",
     [](int n) {
       jit([](std::vector<Array> x) {
         for (std::size_t i = 0; i < x.size(); ++i) x[i] = sin(x[i]) * static_cast<float>(i);
         return x;
       })(std::vector<Array>(static_cast<std::size_t>(n / 2), Array(1.f)));
     }},
    {"slices of one array",
     [](int n) {
       jit([n](Array x) {
         Array s = 0.f;
         for (int i = 0; i < n / 3; ++i) s = s + x(i);
         return s;
       })(ones(n));
     }},
    {"an array of many parts",
     [](int n) {
       jit([n](Array x) {
         std::vector<Array> parts;
         for (int i = 0; i < n / 3; ++i) parts.push_back(x(i) * 2);
         return stack(parts);
       })(ones(n));
     }},
    {"calls of a jitted function",
     [](int n) {
       auto f = jit([](Array x) { return sin(x) + 1; });
       jit([n, &f](Array x) {
         for (int i = 0; i < n; ++i) x = f(x);
         return x;
       })(ones(8));
     }},
    {"a loop with a long body",
     [](int n) {
       jit([n](Array x) { return scan([n](Array c, None) { return std::pair{chain(c, n), none}; }, x, none, {.length = 2}).first; })(
           ones(4));
     }},
    {"many loops",
     [](int n) {
       jit([n](Array x) {
         for (int i = 0; i < n / 4; ++i) x = fori_loop(0, 3, [](Array, Array y) { return y * 0.5f + 1.f; }, x);
         return x;
       })(ones(4));
     }},
    {"the derivative of a chain that reads itself twice",
     [](int n) {
       jit(grad([n](Array x) {
         for (int i = 0; i < n / 4; ++i) x = sin(x) + x;
         return sum(x);
       }))(ones(16));
     }},
    {"the derivative of a graph with long edges",
     [](int n) {
       jit(grad([n](Array x) {
         std::vector<Array> v{x, x * 2};
         for (int i = 0; i < n; ++i) v.push_back(sin(v[static_cast<std::size_t>(i / 2)]) + v[static_cast<std::size_t>(i)]);
         return sum(v.back() + v[v.size() / 2]);
       }))(ones(16));
     }},
    {"the derivative of choices",
     [](int n) {
       jit(grad([n](Array x) {
         for (int i = 0; i < n / 12; ++i) x = where(x > static_cast<float>(i), x * 0.5f, x + 1.f);
         return sum(x);
       }))(ones(16));
     }},
    {"updates of single elements",
     [](int n) {
       jit([n](Array x) {
         for (int i = 0; i < n / 6; ++i) x = x.at(i).set(x(i / 2) * static_cast<float>(i));
         return sum(x * x);
       })(ones(n));
     }},
    {"random numbers",
     [](int n) {
       jit([n](Array x) {
         for (int i = 0; i < n / 100; ++i) x = x + random::uniform(random::fold_in(random::key(0), i), {16});
         return sum(x);
       })(ones(16));
     }},
    {"a wide tree",
     [](int n) {
       jit([n](Array x) {
         std::vector<Array> v;
         for (int i = 0; i < n / 3; ++i) v.push_back(sin(x * static_cast<float>(i)));
         for (; v.size() > 1; v.resize((v.size() + 1) / 2))
           for (std::size_t i = 0; 2 * i < v.size(); ++i) v[i] = 2 * i + 1 < v.size() ? v[2 * i] + v[2 * i + 1] : v[2 * i];
         return sum(v[0]);
       })(ones(16));
     }},
    {"the derivative of a loop with many carries",
     [](int n) {
       jit(grad([n](Array x) {
         const auto step = [](std::vector<Array> c, Array y) {
           std::vector<Array> next;
           for (std::size_t i = 0; i < c.size(); ++i) next.push_back(sin(c[i]) + y * c[(i + 1) % c.size()]);
           return std::pair{next, none};
         };
         Array s = 0.f;
         for (const Array& c : scan(step, std::vector<Array>(static_cast<std::size_t>(n / 6), x), ones({4})).first) s = s + sum(c);
         return s;
       }))(ones(4));
     }},
    {"a tangent that goes from carry to carry",
     [](int n) { make_jaxpr(grad([n](Array x) { return sum(handed_on(x, n / 6)); }))(ones(4)); }},
    {"a tangent that goes from carry to carry, forwards",
     [](int n) { make_jaxpr(jacfwd([n](Array x) { return handed_on(x, n / 6); }))(ones(4)); }},
    {"a mapped value that goes from carry to carry",
     [](int n) { make_jaxpr(vmap([n](Array x) { return handed_on(x, n / 6); }))(ones({3, 4})); }},
    {"a linear value that goes from carry to carry",
     [](int n) { make_jaxpr(linear_transpose([n](Array x) { return handed_on(x, n / 6); }, ones(4)))(ones(4)); }},
    {"a carry that is read from carry to carry", [](int n) { jit([n](Array x) { return handed_on(x, n / 6); })(ones(4)); }},
    {"a branch of many arrays",
     [](int n) {
       jit([n](Array x) {
         const auto scaled = [](std::vector<Array> c, float by) {
           for (Array& a : c) a = a * by;
           return c;
         };
         Array s = 0.f;
         std::vector<Array> v;
         for (int i = 0; i < n / 6; ++i) v.push_back(x + static_cast<float>(i));
         for (const Array& c :
              cond(x[0] > 0, [=](std::vector<Array> c) { return scaled(c, 2); }, [=](std::vector<Array> c) { return scaled(c, 3); }, v))
           s = s + sum(c);
         return s;
       })(ones(4));
     }},
    {"many sums",
     [](int n) {
       jit([n](Array x) {
         Array s = 0.f;
         for (int i = 0; i < n / 3; ++i) s = s + sum(x * static_cast<float>(i));
         return s;
       })(ones(30));
     }},
};

}  // namespace

TEST_CASE("compiling takes work in proportion to the number of equations") {
  kPrograms.at("distinct operations")(100);  // what is made once for the process
  for (const auto& [name, compile] : kPrograms) {
    CAPTURE(name);
    const Work small = work_of([&] { compile(1500); }), large = work_of([&] { compile(6000); });
    // Four times as many. What is quadratic would take sixteen times as much.
    CHECK(large.allocations < 7 * small.allocations);
    if (small.instructions > 0) CHECK(large.instructions < 7 * small.instructions);
  }
}

TEST_CASE("a program that is cut into many kernels gives the bits of its operations one by one") {
  const auto same = [](const Array& a, const Array& b) {
    const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  float expected = 1;
  for (int i = 0; i < 4000; ++i) {
    volatile const float product = expected * 1.0001f;
    expected = product + 0.5f;
  }
  CHECK(jit([](Array x) { return chain(x, 8000); })(1.f).item<float>() == expected);
  const Array x = linspace(0.f, 1.f, 40);
  CHECK(same(jit([](Array a) { return chain(a, 8000); })(x), chain(x, 8000)));
  const auto parts = [](Array a) {
    std::vector<Array> list;
    for (int i = 0; i < 300; ++i) list.push_back(a(slice(i % 30, i % 30 + 1 + i % 3)) * static_cast<float>(i));
    return concatenate(list);
  };
  CHECK(same(jit(parts)(x), parts(x)));
  const auto twice = [](Array a) {
    for (int i = 0; i < 2000; ++i) a = a * a * 0.3f + a * 0.5f;
    return a;
  };
  CHECK(same(jit(twice)(x), twice(x)));
  const auto edges = [](Array a) {
    std::vector<Array> v{a, a * 2};
    for (std::size_t i = 0; i < 1500; ++i) v.push_back(v[i / 2] * 0.5f - v[i]);
    return v.back() + v[v.size() / 2];
  };
  CHECK(same(jit(edges)(x), edges(x)));
}

TEST_CASE("loops and branches of a thousand pointers give the bits of their operations one by one, optimized too") {
  using Arrays = std::vector<Array>;
  const test::CodeFrom from("optimized");
  const auto next = [](const Arrays& a) {
    Arrays out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(a[i] * 2.f + a[(i + 1) % a.size()]);
    return out;
  };
  const auto branched = [&](const Array& which, const Arrays& a) {
    return cond(which > 0, next, [](const Arrays& b) { return Arrays(b.rbegin(), b.rend()); }, a);
  };
  const auto looped = [&](const Arrays& a) { return fori_loop(0, 3, [&](const Array&, const Arrays& b) { return next(b); }, a); };
  Arrays x;
  for (int i = 0; i < 520; ++i) x.push_back(array({1.f * i, 0.5f, -3.f}));
  for (const int which : {0, 1}) {
    const Arrays got = jit(branched)(array(which), x), want = branched(array(which), x);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(array_equal(got[i], want[i]).item<bool>());
  }
  const Arrays got = jit(looped)(x), want = looped(x);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(array_equal(got[i], want[i]).item<bool>());
}

TEST_CASE("an array that is updated 40,000 times in a program stays in its place") {
  constexpr int n = 40'000;
  const auto updated = [](Array x) {
    for (int i = 0; i < n; ++i) x = x.at(i % 8).add(1.f);
    return x;
  };
  const Array x = arange(8, float32), want = x + n / 8.f;
  CHECK(array_equal(jit(updated)(x), want).item<bool>());
  CHECK(array_equal(jit(vmap(updated))(stack({x, x})), stack({want, want})).item<bool>());
}

TEST_CASE("more arrays than one equation joins give what they give one by one") {
  for (const int n : {64, 65, 129, 5000})
    for (const int axis : {0, 1, 2}) {
      CAPTURE(n);
      CAPTURE(axis);
      const auto joined = [&](bool stacks, const Array& a) {
        std::vector<Array> parts;
        for (int i = 0; i < n; ++i) parts.push_back(a * static_cast<float>(i));
        return stacks ? stack(parts, axis) : concatenate(parts, axis % 2);
      };
      const Array x = reshape(linspace(0.f, 1.f, 6), {2, 3});
      for (const bool stacks : {true, false}) {
        const auto one = [&](Array a) { return joined(stacks, a); };
        CHECK(array_equal(jit(one)(x), one(x)).item<bool>());
        if (n < 1000) CHECK(array_equal(jit(vmap(one))(stack({x, x + 1}, 0)), stack({one(x), one(x + 1)}, 0)).item<bool>());
      }
    }
}
