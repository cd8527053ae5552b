// The plugin as a framework sees it: opened by its path, used by its table of calls alone.
#pragma once
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "weft/frontends/pjrt/entries.h"

namespace pjrt_test {
using namespace weft::pjrt;

inline const Api& plugin() {
  static const Api* const table = [] {
    const char* path = std::getenv("WEFT_PJRT_LIBRARY");
    REQUIRE_MESSAGE(path, "WEFT_PJRT_LIBRARY names the plugin");
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library, dlerror());
    auto get = reinterpret_cast<const Api* (*)()>(dlsym(library, "GetPjrtApi"));
    REQUIRE((get ? true : false));
    return get();
  }();
  return *table;
}

/// What a call gave: its error's code and message.
struct Outcome {
  Code code = Code::ok;
  std::string message;
};
inline Outcome outcome(Error* e) {
  Outcome out;
  if (!e) return out;
  ValueArgs<const Error, Code> code{{sizeof code, nullptr}, e, Code::ok};
  CHECK(plugin().Error_GetCode(&code) == nullptr);
  TextArgs<const Error> text{{sizeof text, nullptr}, e, nullptr, 0};
  plugin().Error_Message(&text);
  out.code = code.value, out.message.assign(text.text, text.size);
  ObjectArgs<Error> destroy{{sizeof destroy, nullptr}, e};
  plugin().Error_Destroy(&destroy);
  return out;
}
/// A structure of arguments with its size in place.
template <class A>
A args() {
  A a{};
  a.head.struct_size = sizeof a;
  return a;
}
#define CALL(name, a)                                                     \
  do {                                                                    \
    const auto done = pjrt_test::outcome(pjrt_test::plugin().name(&(a))); \
    INFO(#name << ": " << done.message);                                  \
    REQUIRE(done.code == Code::ok);                                       \
  } while (false)
#define FAILS(name, a, wanted, part)                                           \
  do {                                                                         \
    const auto done = pjrt_test::outcome(pjrt_test::plugin().name(&(a)));      \
    CHECK(done.code == wanted);                                                \
    CHECK_MESSAGE(done.message.find(part) != std::string::npos, done.message); \
  } while (false)

template <class Value, class T>
Value value_of(Error* (*call)(ValueArgs<T, Value>*), T* object) {
  auto a = args<ValueArgs<T, Value>>();
  a.object = object;
  REQUIRE(outcome(call(&a)).code == Code::ok);
  return a.value;
}
template <class T>
std::string text_of(Error* (*call)(TextArgs<T>*), T* object) {
  auto a = args<TextArgs<T>>();
  a.object = object;
  REQUIRE(outcome(call(&a)).code == Code::ok);
  return {a.text, a.size};
}
template <class T>
void destroy(Error* (*call)(ObjectArgs<T>*), T* object) {
  auto a = args<ObjectArgs<T>>();
  a.object = object;
  REQUIRE(outcome(call(&a)).code == Code::ok);
}
template <class T, class Item>
std::vector<std::remove_const_t<Item>> list_of(Error* (*call)(ListArgs<T, Item>*), T* object) {
  auto a = args<ListArgs<T, Item>>();
  a.object = object;
  REQUIRE(outcome(call(&a)).code == Code::ok);
  return {a.list, a.list + a.size};
}

/// CompileOptionsProto: so many partitions, on these devices.
inline std::string partitions(const std::vector<int>& devices) {
  std::string assignment = {8, 1, 16, static_cast<char>(devices.size())};
  for (int d : devices) assignment += {26, 3, 10, 1, static_cast<char>(d)};
  std::string build = {32, 1, 40, static_cast<char>(devices.size()), 74, static_cast<char>(assignment.size())};
  build += assignment;
  return std::string{26, static_cast<char>(build.size())} + build;
}

/// A client for the length of a test.
class TestClient {
 public:
  TestClient() {
    auto a = args<ClientCreateArgs>();
    CALL(Client_Create, a);
    client = a.client;
    devices = list_of(plugin().Client_Devices, client);
  }
  ~TestClient() { destroy(plugin().Client_Destroy, client); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  Outcome try_compile(const std::string& text, LoadedExecutable** out, const std::string& options = {}, const char* format = "mlir") const {
    std::string code = text;
    auto program = args<ProgramText>();
    program.code = code.data(), program.code_size = code.size(), program.format = format, program.format_size = std::strlen(format);
    auto a = args<CompileArgs>();
    a.client = client, a.program = &program, a.options = options.data(), a.options_size = options.size();
    const Outcome done = outcome(plugin().Client_Compile(&a));
    *out = a.executable;
    return done;
  }
  LoadedExecutable* compile(const std::string& text, const std::string& options = {}) const {
    LoadedExecutable* out = nullptr;
    const Outcome done = try_compile(text, &out, options);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    return out;
  }
  Buffer* put(const std::vector<float>& values, const std::vector<std::int64_t>& dims, std::size_t device = 0) const {
    auto a = args<FromHostArgs>();
    a.client = client, a.data = values.data(), a.type = ElementType::f32, a.dims = dims.data(), a.num_dims = dims.size();
    a.semantics = HostSemantics::only_during_call, a.device = devices.at(device);
    CALL(Client_BufferFromHostBuffer, a);
    destroy(plugin().Event_Destroy, a.done_with_host);
    return a.buffer;
  }
  Client* client = nullptr;
  std::vector<Device*> devices;
};

inline std::vector<float> get(Buffer* b) {
  auto a = args<ToHostArgs>();
  a.buffer = b;
  CALL(Buffer_ToHostBuffer, a);
  std::vector<float> out(a.size / sizeof(float));
  a.out = out.data();
  CALL(Buffer_ToHostBuffer, a);
  auto wait = args<ObjectArgs<Event>>();
  wait.object = a.event;
  CALL(Event_Await, wait);
  destroy(plugin().Event_Destroy, a.event);
  return out;
}

/// Starts a call of one device's arguments and results; more by lists of lists.
inline Outcome start(LoadedExecutable* e, const std::vector<std::vector<Buffer*>>& arguments, std::size_t results,
                     std::vector<std::vector<Buffer*>>& out, std::vector<Event*>& events,
                     const std::vector<std::int64_t>& not_donated = {}) {
  std::vector<Buffer* const*> in;
  for (const auto& a : arguments) in.push_back(a.data());
  out.assign(arguments.size(), std::vector<Buffer*>(results));
  std::vector<Buffer**> lists;
  for (auto& o : out) lists.push_back(o.data());
  auto options = args<ExecuteOptions>();
  options.not_donated = not_donated.data(), options.num_not_donated = not_donated.size();
  events.assign(arguments.size(), nullptr);
  auto a = args<ExecuteArgs>();
  a.executable = e, a.options = &options, a.arguments = in.data(), a.num_devices = arguments.size(), a.num_args = arguments[0].size();
  a.outputs = lists.data(), a.complete = events.data();
  return outcome(plugin().LoadedExecutable_Execute(&a));
}
/// And waits for its end.
inline Outcome run(LoadedExecutable* e, const std::vector<std::vector<Buffer*>>& arguments, std::size_t results,
                   std::vector<std::vector<Buffer*>>& out, const std::vector<std::int64_t>& not_donated = {}) {
  std::vector<Event*> events;
  Outcome done = start(e, arguments, results, out, events, not_donated);
  if (done.code != Code::ok) return done;
  for (Event* event : events) {
    auto wait = args<ObjectArgs<Event>>();
    wait.object = event;
    const Outcome waited = outcome(plugin().Event_Await(&wait));
    if (waited.code != Code::ok) done = waited;
    destroy(plugin().Event_Destroy, event);
  }
  return done;
}

}  // namespace pjrt_test
