#include "refused.h"

#include "weft/core/trace/trace.h"

namespace weft::test {

std::set<std::string>& covered_errors() {
  static std::set<std::string> names;
  return names;
}

namespace {

bool works() {
  if (detail::current_trace()) return false;
  const Array x = array({1., 2., 3.});
  auto f = [](Array v) { return sum(v * v); };
  const Array gradient = jit(grad(f))(x), mapped = vmap([&](Array v) { return v * psum(v, "i"); }, {.axis_name = "i"})(x);
  return tree::all_close(gradient, 2. * x) && tree::all_close(mapped, 6. * x);
}

}  // namespace

void refused(const std::type_info& type, const std::string& name, const std::function<void()>& program,
             const std::vector<std::string>& parts) {
  std::string message;
  try {
    program();
    FAIL_CHECK(name << " was not refused");
    return;
  } catch (const Error& e) {
    message = e.what();
    CHECK_MESSAGE(typeid(e) == type, name << ": another class, " << typeid(e).name() << ": " << message);
  }
  for (const std::string& part : parts)
    CHECK_MESSAGE(message.find(part) != std::string::npos, name << ": no \"" << part << "\" in: " << message);
  CHECK_MESSAGE(message.find("internal error") == std::string::npos, message);
  CHECK_MESSAGE(works(), "after " << name);
}

}  // namespace weft::test
