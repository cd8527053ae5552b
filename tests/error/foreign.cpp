// Exceptions of other libraries leave weft as errors of its own; those of the user's functions pass through it unchanged.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <filesystem>
#include <future>
#include <new>
#include <regex>
#include <stdexcept>
#include <system_error>

#include "tests/messages.h"
#include "weft/core/errors/boundary.h"

using namespace weft;
using test::has;
using test::message_of;

namespace {

std::string line(int n) { return "foreign.cpp:" + std::to_string(n); }

template <class E, class Thrown>
std::string translated(Thrown thrown) {
  return message_of<E>([&] { detail::guarded("an operation", SourceLoc::here(), [&] { throw thrown; }); });
}

struct Own {
  int number;
};
/// Whether the call throws just the exception that a function of the user's did.
template <class F>
bool passes(F&& call) {
  try {
    call(Own{7});
    return false;
  } catch (const Own& o) {
    if (o.number != 7) return false;
  }
  // One of a type that the library would translate if it came from another library.
  try {
    call(std::bad_alloc());
    return false;
  } catch (const Error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

}  // namespace

TEST_CASE("exceptions of other libraries become errors that name the operation and the line") {
  CHECK(has(translated<MemoryError>(std::bad_alloc()), {"an operation: out of memory", "foreign.cpp:"}));
  CHECK(has(translated<SystemError>(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
            {"an operation: ", "foreign.cpp:"}));
  CHECK(has(
      translated<IoError>(std::filesystem::filesystem_error("cannot open", "/nowhere", std::make_error_code(std::errc::permission_denied))),
      {"an operation: ", "/nowhere", "foreign.cpp:"}));
  CHECK(has(translated<Error>(std::out_of_range("map::at")), {"an operation: internal error: map::at", "foreign.cpp:"}));
  CHECK(has(translated<Error>(std::length_error("too long")), {"an operation: internal error: too long"}));
  CHECK(has(translated<Error>(std::future_error(std::future_errc::broken_promise)), "an operation: internal error: "));
  CHECK(has(translated<Error>(std::regex_error(std::regex_constants::error_brack)), "an operation: internal error: "));
  CHECK_THROWS_AS(translated<Error>(17), int);  // no library throws such a thing: it is the user's
  CHECK(has(translated<ShapeError>(ShapeError("one of weft's")), "one of weft's"));
}

TEST_CASE("too much memory is asked for: the operation, the line, and it can be caught by any of its bases") {
  const auto ask = [] { return zeros({std::int64_t{1} << 30, std::int64_t{1} << 30}); };
  const std::string text = message_of<MemoryError>(ask);
  CHECK(has(text, {"out of memory: 4611686018427387904 bytes", line(__LINE__ - 2)}));
  CHECK(text.find("out of memory") > 0);  // behind the operation's name
  CHECK_THROWS_AS(ask(), DeviceError);
  CHECK_THROWS_AS(ask(), std::runtime_error);
  CHECK_THROWS_AS(ask(), std::exception);
  CHECK(has(message_of<MemoryError>([] {
              const Array x = jit([](Array v) { return broadcast_to(v, {std::int64_t{1} << 40, 1 << 20}) + 1.f; }, {.name = "large"})(1.f);
              x.block_until_ready();
            }),
            {"large", "out of memory", "foreign.cpp:"}));
}

TEST_CASE("exceptions of the user's own pass through every transform unchanged") {
  const Array x = ones(3);
  CHECK(passes([&](auto e) { jit([&](Array) -> Array { throw e; })(x); }));
  CHECK(passes([&](auto e) { grad([&](Array) -> Array { throw e; })(x); }));
  CHECK(passes([&](auto e) { vmap([&](Array) -> Array { throw e; })(x); }));
  CHECK(passes([&](auto e) { (void)make_jaxpr([&](Array) -> Array { throw e; })(x); }));
  CHECK(passes([&](auto e) { pmap([&](Array) -> Array { throw e; })(ones({1, 3})); }));
  CHECK(passes([&](auto e) { jit([&](Array y) { return grad([&](Array) -> Array { throw e; })(y); })(x); }));
  CHECK(passes([&](auto e) { scan([&](Array, Array) -> std::pair<Array, Array> { throw e; }, x, ones({2, 3})); }));
  CHECK(passes([&](auto e) {
    auto f = custom_jvp([](Array y) { return sin(y); }, [&](std::tuple<Array>, std::tuple<Array>) -> std::pair<Array, Array> { throw e; });
    grad([&](Array y) { return sum(f(y)); })(x);
  }));
  CHECK(passes([&](auto e) { checkpoint([&](Array) -> Array { throw e; })(x); }));
  const auto off = disable_jit();
  CHECK(passes([&](auto e) { jit([&](Array) -> Array { throw e; })(x); }));
}

TEST_CASE("exceptions of a callback pass through the programs that call it") {
  const auto call = [](auto e, Array x) { return pure_callback([e](Array) -> Array { throw e; }, ShapeDtypeStruct{{3}, float32}, x); };
  CHECK(passes([&](auto e) { (void)call(e, ones(3)).block_until_ready(); }));
  CHECK(passes([&](auto e) { (void)jit([&](Array x) { return call(e, x) + 1.f; })(ones(3)).block_until_ready(); }));
}
