// Compiling and running programs by the plugin's calls: on one device and on four, with donated arguments, kept as bytes, refused.
#include <thread>

#include "plugin.h"

using namespace pjrt_test;

namespace {

constexpr const char* kAxpy = R"(module @jit_axpy {
  func.func public @main(%a: tensor<f32>, %x: tensor<2x3xf32>, %y: tensor<2x3xf32> {jax.buffer_donor = true})
      -> (tensor<2x3xf32>, tensor<3x2xi32> {mhlo.memory_kind = "pinned_host"}) {
    %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %1 = stablehlo.multiply %0, %x : tensor<2x3xf32>
    %2 = stablehlo.add %1, %y : tensor<2x3xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %4 = stablehlo.convert %3 : (tensor<3x2xf32>) -> tensor<3x2xi32>
    return %2, %4 : tensor<2x3xf32>, tensor<3x2xi32>
  }
})";

}  // namespace

TEST_CASE("pjrt: a program is compiled, described and run") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* loaded = c.compile(kAxpy);
  Executable* e = value_of(t.LoadedExecutable_GetExecutable, loaded);
  CHECK(text_of(t.Executable_Name, e) == "jit_axpy");
  CHECK(value_of(t.Executable_NumReplicas, e) == 1);
  CHECK(value_of(t.Executable_NumPartitions, e) == 1);
  CHECK(value_of(t.Executable_NumOutputs, e) == 2);
  CHECK(value_of(t.Executable_SizeOfGeneratedCodeInBytes, e) == 0);
  CHECK(list_of(t.Executable_OutputElementTypes, e) == std::vector<ElementType>{ElementType::f32, ElementType::s32});
  auto dims = args<TwoListsArgs<Executable, const std::int64_t, const std::size_t>>();
  dims.object = e;
  CALL(Executable_OutputDimensions, dims);
  REQUIRE(dims.size == 2);
  CHECK(std::vector<std::int64_t>(dims.first, dims.first + 4) == std::vector<std::int64_t>{2, 3, 3, 2});
  CHECK(dims.second[1] == 2);
  auto kinds = args<TwoListsArgs<Executable, const char* const, const std::size_t>>();
  kinds.object = e;
  CALL(Executable_OutputMemoryKinds, kinds);
  CHECK(std::string(kinds.first[0], kinds.second[0]) == "device");
  CHECK(std::string(kinds.first[1], kinds.second[1]) == "pinned_host");
  auto costs = args<CountedArgs<Executable, const NamedValue>>();
  costs.object = e;
  CALL(Executable_GetCostAnalysis, costs);
  REQUIRE(costs.size == 2);
  CHECK(std::string(costs.list[0].name) == "flops");
  CHECK(costs.list[0].real >= 12.f);
  auto memory = args<CompiledMemoryArgs>();
  memory.executable = e;
  CALL(Executable_GetCompiledMemoryStats, memory);
  CHECK(memory.device.arguments == 4 + 24 + 24);
  CHECK(memory.device.outputs == 48);
  CHECK(text_of(t.Executable_Fingerprint, e).size() == 32);
  CHECK(text_of(t.LoadedExecutable_Fingerprint, loaded) == text_of(t.Executable_Fingerprint, e));
  auto program = args<ProgramText>();
  auto optimized = args<ValueArgs<Executable, ProgramText*>>();
  optimized.object = e, optimized.value = &program;
  CALL(Executable_OptimizedProgram, optimized);
  std::string text(program.code_size, ' ');
  program.code = text.data();
  CALL(Executable_OptimizedProgram, optimized);
  CHECK(text == kAxpy);
  CHECK(list_of(t.LoadedExecutable_AddressableDevices, loaded) == std::vector<Device*>{c.devices[0]});
  auto assignment = args<BytesArgs<LoadedExecutable>>();
  assignment.object = loaded;
  CALL(LoadedExecutable_GetDeviceAssignment, assignment);
  CHECK(std::string(assignment.bytes, assignment.size) == std::string{8, 1, 16, 1, 26, 2, 8, 0});
  assignment.release(assignment.owner);

  Buffer *a = c.put({2.f}, {}), *x = c.put({0, 1, 2, 3, 4, 5}, {2, 3}), *y = c.put({1, 1, 1, 1, 1, 1}, {2, 3});
  std::vector<std::vector<Buffer*>> out;
  SUBCASE("a donated argument is deleted") {
    const Outcome done = run(loaded, {{a, x, y}}, 2, out);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    CHECK(get(out[0][0]) == std::vector<float>{1, 3, 5, 7, 9, 11});
    CHECK(text_of(t.Memory_Kind, value_of(t.Buffer_Memory, out[0][1])) == "pinned_host");
    CHECK(value_of(t.Buffer_IsDeleted, y));
    CHECK(!value_of(t.Buffer_IsDeleted, x));
    std::vector<std::vector<Buffer*>> again;
    CHECK(run(loaded, {{a, x, y}}, 2, again).code == Code::invalid_argument);
  }
  SUBCASE("but its memory stays for who holds it") {
    const auto* const held = static_cast<const float*>(value_of(t.Buffer_OpaqueDeviceMemoryDataPointer, y));
    auto hold = args<ObjectArgs<Buffer>>();
    hold.object = y;
    CALL(Buffer_IncreaseExternalReferenceCount, hold);
    const Outcome done = run(loaded, {{a, x, y}}, 2, out);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    CHECK(get(out[0][0]) == std::vector<float>{1, 3, 5, 7, 9, 11});
    CHECK(value_of(t.Buffer_IsDeleted, y));
    CHECK(std::vector<float>(held, held + 6) == std::vector<float>{1, 1, 1, 1, 1, 1});
    CALL(Buffer_DecreaseExternalReferenceCount, hold);
    FAILS(Buffer_DecreaseExternalReferenceCount, hold, Code::invalid_argument, "more often than taken");
  }
  SUBCASE("but not if the caller keeps it") {
    const Outcome done = run(loaded, {{a, x, y}}, 2, out, {2});
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    CHECK(get(out[0][0]) == std::vector<float>{1, 3, 5, 7, 9, 11});
    CHECK(!value_of(t.Buffer_IsDeleted, y));
    CHECK(get(y) == std::vector<float>{1, 1, 1, 1, 1, 1});
  }
  SUBCASE("arguments that don't fit") {
    CHECK(run(loaded, {{a, x}}, 2, out).message.find("takes 3 arguments, 2 are given") != std::string::npos);
    CHECK(run(loaded, {{a, a, y}}, 2, out).message.find("argument 1 is float32[], it was compiled for float32[2,3]") != std::string::npos);
    CHECK(run(loaded, {{a, y, y}}, 2, out).message.find("donate the same buffer twice") != std::string::npos);
    Buffer* far = c.put({2.f}, {}, 1);
    CHECK(run(loaded, {{far, x, y}}, 2, out).message.find("on device weft:1") != std::string::npos);
    destroy(t.Buffer_Destroy, far);
    CHECK(!value_of(t.Buffer_IsDeleted, y));
    out.clear();
  }
  if (!out.empty())
    for (Buffer* b : out[0]) destroy(t.Buffer_Destroy, b);
  for (Buffer* b : {a, x, y}) destroy(t.Buffer_Destroy, b);
  CHECK(!value_of(t.LoadedExecutable_IsDeleted, loaded));
  auto gone = args<ObjectArgs<LoadedExecutable>>();
  gone.object = loaded;
  CALL(LoadedExecutable_Delete, gone);
  CHECK(value_of(t.LoadedExecutable_IsDeleted, loaded));
  destroy(t.Executable_Destroy, e);
  destroy(t.LoadedExecutable_Destroy, loaded);
}

TEST_CASE("pjrt: a result has memory of its own, also where it is an argument") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6xf32>) {
    %0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    return %x, %0 : tensor<2x3xf32>, tensor<6xf32>
  })");
  Buffer* x = c.put({0, 1, 2, 3, 4, 5}, {2, 3});
  std::vector<std::vector<Buffer*>> out;
  const Outcome done = run(e, {{x}}, 2, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  for (Buffer* b : out[0]) {
    CHECK(get(b) == std::vector<float>{0, 1, 2, 3, 4, 5});
    CHECK(value_of(t.Buffer_UnsafePointer, b) != value_of(t.Buffer_UnsafePointer, x));
    destroy(t.Buffer_Destroy, b);
  }
  destroy(t.Buffer_Destroy, x);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: arguments and results lie in memory in the orders that the program states") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"}, %y: tensor<2x3xf32>)
      -> (tensor<2x3xf32>, tensor<3x2xf32> {mhlo.layout_mode = "{0,1}"}) {
    %0 = stablehlo.subtract %x, %y : tensor<2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %0, %1 : tensor<2x3xf32>, tensor<3x2xf32>
  })");
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const std::int64_t dims[] = {2, 3}, columns[] = {0, 1}, wrong[] = {0, 0};
  auto layout = args<Layout>();
  layout.type = Layout::Type::tiled, layout.tiled.minor_to_major = columns, layout.tiled.minor_to_major_size = 2;
  auto a = args<FromHostArgs>();
  a.client = c.client, a.data = values.data(), a.type = ElementType::f32, a.dims = dims, a.num_dims = 2, a.device_layout = &layout;
  a.semantics = HostSemantics::only_during_call, a.device = c.devices[0];
  CALL(Client_BufferFromHostBuffer, a);
  destroy(t.Event_Destroy, a.done_with_host);
  Buffer *x = a.buffer, *y = c.put({1, 1, 1, 2, 2, 2}, {2, 3});
  CHECK(get(x) == values);
  const Layout own = value_of(t.Buffer_GetMemoryLayout, x);
  CHECK(std::vector<std::int64_t>(own.tiled.minor_to_major, own.tiled.minor_to_major + 2) == std::vector<std::int64_t>{0, 1});
  const auto memory_of = [&](Buffer* b) {
    std::vector<float> out(6);
    auto raw = args<RawToHostArgs>();
    raw.buffer = b, raw.out = out.data(), raw.size = 24;
    CALL(Buffer_CopyRawToHost, raw);
    destroy(t.Event_Destroy, raw.event);
    return out;
  };
  CHECK(memory_of(x) == std::vector<float>{0, 3, 1, 4, 2, 5});

  std::vector<std::vector<Buffer*>> out;
  Outcome done = run(e, {{x, y}}, 2, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(get(out[0][0]) == std::vector<float>{-1, 0, 1, 1, 2, 3});
  CHECK(memory_of(out[0][0]) == std::vector<float>{-1, 0, 1, 1, 2, 3});
  CHECK(get(out[0][1]) == std::vector<float>{-1, 1, 0, 2, 1, 3});
  CHECK(memory_of(out[0][1]) == std::vector<float>{-1, 0, 1, 1, 2, 3});
  CHECK(list_of(t.Buffer_Dimensions, out[0][1]) == std::vector<std::int64_t>{3, 2});
  for (Buffer* b : out[0]) destroy(t.Buffer_Destroy, b);
  done = run(e, {{y, x}}, 2, out);
  CHECK(done.code == Code::invalid_argument);
  CHECK_MESSAGE(done.message.find("argument 0 lies in memory in the order {1,0}, it was compiled for {0,1}") != std::string::npos,
                done.message);

  auto copy = args<CopyArgs<Device>>();
  copy.buffer = x, copy.to = c.devices[1];
  CALL(Buffer_CopyToDevice, copy);
  CHECK(get(copy.copy) == values);
  CHECK(memory_of(copy.copy) == memory_of(x));
  destroy(t.Buffer_Destroy, copy.copy);
  layout.tiled.minor_to_major = wrong;
  FAILS(Client_BufferFromHostBuffer, a, Code::invalid_argument, "{0,0} is no order of 2 dimensions");
  destroy(t.Buffer_Destroy, x), destroy(t.Buffer_Destroy, y);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: a transposed result whose layout is left open lies as what it is of") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(func.func @main(%x: tensor<2x3x1xf32>, %y: tensor<2x3x1xf32> {mhlo.layout_mode = "{0,1,2}"})
      -> (tensor<1x3x2xf32> {mhlo.layout_mode = "auto"}, tensor<3x1x2xf32> {mhlo.layout_mode = "auto"}, tensor<1x3x2xf32>,
          tensor<2x3x1xf32> {mhlo.layout_mode = "auto"}) {
    %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<2x3x1xf32>) -> tensor<1x3x2xf32>
    %1 = stablehlo.transpose %y, dims = [1, 2, 0] : (tensor<2x3x1xf32>) -> tensor<3x1x2xf32>
    %2 = stablehlo.add %y, %y : tensor<2x3x1xf32>
    return %0, %1, %0, %2 : tensor<1x3x2xf32>, tensor<3x1x2xf32>, tensor<1x3x2xf32>, tensor<2x3x1xf32>
  })");
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> dims{2, 3, 1}, reversed{0, 1, 2};
  auto layout = args<Layout>();
  layout.type = Layout::Type::tiled;
  layout.tiled = {{sizeof(TiledLayout), nullptr}, reversed.data(), 3, nullptr, nullptr, 0};
  auto a = args<FromHostArgs>();
  a.client = c.client, a.data = values.data(), a.type = ElementType::f32, a.dims = dims.data(), a.num_dims = dims.size();
  a.semantics = HostSemantics::only_during_call, a.device = c.devices[0], a.device_layout = &layout;
  CALL(Client_BufferFromHostBuffer, a);
  destroy(t.Event_Destroy, a.done_with_host);
  Buffer *x = c.put(values, dims), *y = a.buffer;
  std::vector<std::vector<Buffer*>> out;
  const Outcome done = run(e, {{x, y}}, 4, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  const std::vector<float> columns{0, 3, 1, 4, 2, 5}, doubled{0, 2, 4, 6, 8, 10};
  const std::vector<std::vector<std::int64_t>> orders{{0, 1, 2}, {2, 0, 1}, {2, 1, 0}, {2, 1, 0}};
  for (std::size_t i = 0; i < 4; ++i) {
    const TiledLayout own = value_of(t.Buffer_GetMemoryLayout, out[0][i]).tiled;
    CHECK(std::vector<std::int64_t>(own.minor_to_major, own.minor_to_major + own.minor_to_major_size) == orders[i]);
    CHECK(get(out[0][i]) == (i < 3 ? columns : doubled));
    destroy(t.Buffer_Destroy, out[0][i]);
  }
  destroy(t.Buffer_Destroy, x), destroy(t.Buffer_Destroy, y);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: tiles of a layout are kept with it, and leave memory as it is") {
  const TestClient c;
  const Api& t = plugin();
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> dims{2, 3}, columns{0, 1}, tile_dims{8, 128, 2}, wrong_tile{8, 0, 2};
  const std::vector<std::size_t> tile_dim_sizes{2, 1};
  auto layout = args<Layout>();
  layout.type = Layout::Type::tiled;
  layout.tiled = {{sizeof(TiledLayout), nullptr}, columns.data(), 2, tile_dims.data(), tile_dim_sizes.data(), 2};
  auto a = args<FromHostArgs>();
  a.client = c.client, a.data = values.data(), a.type = ElementType::f32, a.dims = dims.data(), a.num_dims = dims.size();
  a.semantics = HostSemantics::only_during_call, a.device = c.devices[0], a.device_layout = &layout;
  CALL(Client_BufferFromHostBuffer, a);
  destroy(t.Event_Destroy, a.done_with_host);
  Buffer* x = a.buffer;
  CHECK(get(x) == values);
  const TiledLayout own = value_of(t.Buffer_GetMemoryLayout, x).tiled;
  CHECK(std::vector<std::int64_t>(own.minor_to_major, own.minor_to_major + own.minor_to_major_size) == columns);
  REQUIRE(own.num_tiles == 2);
  CHECK(std::vector<std::size_t>(own.tile_dim_sizes, own.tile_dim_sizes + 2) == tile_dim_sizes);
  CHECK(std::vector<std::int64_t>(own.tile_dims, own.tile_dims + 3) == tile_dims);

  const auto program = [](const std::string& in) {
    return "func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = \"" + in +
           "\"}) -> (tensor<2x3xf32> {mhlo.layout_mode = \"{1,0:T(4)}\"}) {\n  %0 = stablehlo.add %x, %x : tensor<2x3xf32>\n  return %0 : "
           "tensor<2x3xf32>\n}";
  };
  LoadedExecutable* e = c.compile(program("{0,1:T(8,128)(2)}"));
  std::vector<std::vector<Buffer*>> out;
  Outcome done = run(e, {{x}}, 1, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(get(out[0][0]) == std::vector<float>{0, 2, 4, 6, 8, 10});
  const TiledLayout made = value_of(t.Buffer_GetMemoryLayout, out[0][0]).tiled;
  REQUIRE(made.num_tiles == 1);
  CHECK((made.minor_to_major[0] == 1 && made.tile_dims[0] == 4));
  done = run(e, {{out[0][0]}}, 1, out);
  CHECK_MESSAGE(done.message.find("lies in memory in the order {1,0:T(4)}, it was compiled for {0,1:T(8,128)(2)}") != std::string::npos,
                done.message);
  destroy(t.LoadedExecutable_Destroy, e);

  layout.tiled.tile_dims = wrong_tile.data();
  FAILS(Client_BufferFromHostBuffer, a, Code::not_supported, "the tile (8,0)");
  LoadedExecutable* none = nullptr;
  for (const auto& [in, problem] : {std::pair("{1,0:T(8,*)}", "the tile (8,*)"), std::pair("{1,0:T(8", "never closed")})
    CHECK_MESSAGE(c.try_compile(program(in), &none).message.find(problem) != std::string::npos, in);
  destroy(t.Buffer_Destroy, x);
}

TEST_CASE("pjrt: an executable is kept as bytes and loaded again") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* loaded = c.compile(kAxpy);
  Executable* e = value_of(t.LoadedExecutable_GetExecutable, loaded);
  auto bytes = args<BytesArgs<const Executable>>();
  bytes.object = e;
  CALL(Executable_Serialize, bytes);
  auto load = args<DeserializeArgs>();
  load.client = c.client, load.bytes = bytes.bytes, load.size = bytes.size;
  CALL(Executable_DeserializeAndLoad, load);
  CHECK(text_of(t.LoadedExecutable_Fingerprint, load.executable) == text_of(t.LoadedExecutable_Fingerprint, loaded));
  destroy(t.LoadedExecutable_Destroy, load.executable);
  for (std::size_t n = 0; n < bytes.size; n += 7) {
    load.size = n;
    CHECK(outcome(t.Executable_DeserializeAndLoad(&load)).code == Code::invalid_argument);
  }
  bytes.release(bytes.owner);
  auto options = args<BytesArgs<Executable>>();
  options.object = e;
  CALL(Executable_GetCompileOptions, options);
  CHECK(options.size == 0);
  options.release(options.owner);
  destroy(t.Executable_Destroy, e);
  destroy(t.LoadedExecutable_Destroy, loaded);
}

TEST_CASE("pjrt: programs that are refused, by their status") {
  const TestClient c;
  LoadedExecutable* out = nullptr;
  Outcome done = c.try_compile("func.func @main() {", &out);
  CHECK(done.code == Code::invalid_argument);
  CHECK(done.message.find(":1:") != std::string::npos);
  done = c.try_compile(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = my.thing %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}", &out);
  CHECK(done.message.find("2:") != std::string::npos);
  done = c.try_compile(kAxpy, &out, {}, "hlo");
  CHECK(done.code == Code::not_supported);
  done = c.try_compile(kAxpy, &out, std::string("\x1a\x7f", 2));
  CHECK(done.message.find("damaged") != std::string::npos);
  done = c.try_compile(kAxpy, &out, partitions({0, 9}));
  CHECK(done.code == Code::not_found);
}

TEST_CASE("pjrt: a program for four devices") {
  const TestClient c;
  const Api& t = plugin();
  const std::string program = R"(module @jit_spread attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=4]>
  func.func public @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, %s: tensor<2xf32>)
      -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, tensor<2xf32>) {
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<2xf32>) -> tensor<8x2xf32>
    %2 = stablehlo.multiply %x, %1 : tensor<8x2xf32>
    return %2, %0 : tensor<8x2xf32>, tensor<2xf32>
  }
})";
  for (const std::vector<int>& devices : {std::vector<int>{0, 1, 2, 3}, std::vector<int>{3, 1, 0, 2}}) {
    LoadedExecutable* e = c.compile(program, partitions(devices));
    const std::vector<Device*> on = list_of(t.LoadedExecutable_AddressableDevices, e);
    REQUIRE(on.size() == 4);
    std::vector<std::vector<Buffer*>> in, out;
    for (std::size_t p = 0; p < 4; ++p) {
      const auto f = static_cast<float>(4 * p);
      const auto d = static_cast<std::size_t>(devices[p]);
      CHECK(on[p] == c.devices[d]);
      in.push_back({c.put({f, f + 1, f + 2, f + 3}, {2, 2}, d), c.put({10, 100}, {2}, d)});
    }
    const Outcome done = run(e, in, 2, out);
    REQUIRE_MESSAGE(done.code == Code::ok, done.message);
    for (std::size_t p = 0; p < 4; ++p) {
      const auto f = static_cast<float>(4 * p);
      CHECK(get(out[p][0]) == std::vector<float>{10 * f, 100 * (f + 1), 10 * (f + 2), 100 * (f + 3)});
      CHECK(get(out[p][1]) == std::vector<float>{0 + 2 + 4 + 6 + 8 + 10 + 12 + 14, 1 + 3 + 5 + 7 + 9 + 11 + 13 + 15});
      CHECK(value_of(t.Buffer_Device, out[p][0]) == on[p]);
    }
    for (auto* lists : {&in, &out})
      for (auto& list : *lists)
        for (Buffer* b : list) destroy(t.Buffer_Destroy, b);
    destroy(t.LoadedExecutable_Destroy, e);
  }
}

TEST_CASE("pjrt: values of one group are divided alike") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(module @jit_alike attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=2, "j"=2]>
  func.func public @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                         %y: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"j"}]>}) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
    %n = stablehlo.iota dim = 0 : tensor<4x2xf32>
    sdy.sharding_group %x group_id = 7 : tensor<4x2xf32>
    sdy.sharding_group %n group_id = 7 : tensor<4x2xf32>
    %0 = stablehlo.add %x, %y : tensor<4x2xf32>
    %1 = stablehlo.abs %x : tensor<4x2xf32>
    %2 = stablehlo.abs %y : tensor<4x2xf32>
    sdy.sharding_group %1 group_id = 8 : tensor<4x2xf32>
    sdy.sharding_group %2 group_id = 8 : tensor<4x2xf32>
    return %n, %1, %2 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
})",
                                  partitions({0, 1, 2, 3}));
  std::vector<std::vector<Buffer*>> in, out;
  for (std::size_t p = 0; p < 4; ++p) {
    const float row = p < 2 ? 0 : 4, column = p % 2 == 0 ? 0 : 1;
    in.push_back({c.put({row, row + 1, row + 2, row + 3}, {2, 2}, p), c.put({column, column + 2, column + 4, column + 6}, {4, 1}, p)});
  }
  const Outcome done = run(e, in, 3, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  for (std::size_t p = 0; p < 4; ++p) {
    const float row = p < 2 ? 0 : 2, at = 2 * row + (p % 2 == 0 ? 0 : 1);
    CHECK(get(out[p][0]) == std::vector<float>{row, row, row + 1, row + 1});
    for (std::size_t i = 1; i < 3; ++i) {
      CHECK(list_of(t.Buffer_Dimensions, out[p][i]) == std::vector<std::int64_t>{2, 1});
      CHECK(get(out[p][i]) == std::vector<float>{at, at + 2});
    }
  }
  for (auto* lists : {&in, &out})
    for (auto& list : *lists)
      for (Buffer* b : list) destroy(t.Buffer_Destroy, b);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: what is shown of a program for several devices can be read, whatever its name is") {
  const TestClient c;
  const Api& t = plugin();
  for (const std::string name : {"@jit_add", "@\"jit_scatter-add\"", "@\"a \\22b\\22\"", "@\"0\""}) {
    INFO(name);
    LoadedExecutable* e = c.compile("module " + name + R"( attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})",
                                    partitions({0, 1}));
    Executable* described = value_of(t.LoadedExecutable_GetExecutable, e);
    auto shown = args<ProgramText>();
    auto a = args<ValueArgs<Executable, ProgramText*>>();
    a.object = described, a.value = &shown;
    CALL(Executable_OptimizedProgram, a);
    std::string text(shown.code_size, ' ');
    shown.code = text.data();
    CALL(Executable_OptimizedProgram, a);
    LoadedExecutable* again = c.compile(text, partitions({0, 1}));
    Executable* described_again = value_of(t.LoadedExecutable_GetExecutable, again);
    CHECK(text_of(t.Executable_Name, described_again) == text_of(t.Executable_Name, described));
    destroy(t.Executable_Destroy, described), destroy(t.Executable_Destroy, described_again);
    destroy(t.LoadedExecutable_Destroy, e), destroy(t.LoadedExecutable_Destroy, again);
  }
}

TEST_CASE("pjrt: a donated argument whose memory no result can take stays the caller's") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e =
      c.compile(R"(func.func @main(%x: tensor<2x3xf32> {jax.buffer_donor = true}, %y: tensor<6xf32> {jax.buffer_donor = true},
        %z: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<3x2xf32>, tensor<2xf32>) {
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.slice %y [0:2] : (tensor<6xf32>) -> tensor<2xf32>
    %2 = stablehlo.slice %z [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %1, %2 : tensor<2xf32>
    return %0, %3 : tensor<3x2xf32>, tensor<2xf32>
  })");
  const std::vector<Buffer*> in{c.put({0, 1, 2, 3, 4, 5}, {2, 3}), c.put({5, 6, 7, 8, 9, 10}, {6}), c.put({1, 1, 1, 1}, {4})};
  std::vector<std::vector<Buffer*>> out;
  const Outcome done = run(e, {in}, 2, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(get(out[0][0]) == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(get(out[0][1]) == std::vector<float>{6, 7});
  CHECK(value_of(t.Buffer_IsDeleted, in[0]));
  CHECK(get(in[1]) == std::vector<float>{5, 6, 7, 8, 9, 10});
  CHECK(get(in[2]) == std::vector<float>{1, 1, 1, 1});
  for (Buffer* b : {in[0], in[1], in[2], out[0][0], out[0][1]}) destroy(t.Buffer_Destroy, b);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: devices that hold addends of an array") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(module @jit_sums attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced={"y"}>})
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x", "y"}>}) {
    %0 = stablehlo.multiply %x, %x : tensor<4xf32>
    %1 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}], unreduced={"y"}>] out_shardings=[<@mesh, [{"x"}], unreduced={"y"}>] manual_axes={"x", "y"} (%a: tensor<2xf32>) {
      %2 = stablehlo.add %a, %a : tensor<2xf32>
      sdy.return %2 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
})",
                                  partitions({0, 1, 2, 3}));
  // The blocks of devices (0, 0) and (0, 1) add up to the first half.
  std::vector<std::vector<Buffer*>> in, out;
  for (std::size_t d = 0; d < 4; ++d) in.push_back({c.put({static_cast<float>(d), 10}, {2}, d)});
  const Outcome done = run(e, in, 2, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  std::vector<float> sum(4);
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(get(out[d][0]) == (d < 2 ? std::vector<float>{1, 400} : std::vector<float>{25, 400}));
    const std::vector<float> addend = get(out[d][1]);
    REQUIRE(addend.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) sum[i] += addend[i];
  }
  CHECK(sum == std::vector<float>{2, 40, 10, 40});
  for (auto* lists : {&in, &out})
    for (auto& list : *lists)
      for (Buffer* b : list) destroy(t.Buffer_Destroy, b);
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: several threads compile and run at once") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* shared = c.compile(kAxpy);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        LoadedExecutable* own = c.compile(kAxpy);
        for (LoadedExecutable* e : {shared, own}) {
          std::vector<Buffer*> in{c.put({2.f}, {}), c.put({0, 1, 2, 3, 4, 5}, {2, 3}), c.put({1, 1, 1, 1, 1, 1}, {2, 3})};
          std::vector<std::vector<Buffer*>> out;
          if (run(e, {in}, 2, out).code == Code::ok && get(out[0][0]) == std::vector<float>{1, 3, 5, 7, 9, 11}) ++right;
          for (Buffer* b : out[0]) destroy(t.Buffer_Destroy, b);
          for (Buffer* b : in) destroy(t.Buffer_Destroy, b);
        }
        destroy(t.LoadedExecutable_Destroy, own);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 160);
  destroy(t.LoadedExecutable_Destroy, shared);
}

TEST_CASE("pjrt: arrays of one mesh become arrays of another") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(module @jit_move attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @line = <["i"=4]>
  sdy.mesh @grid = <["a"=2, "b"=2]>
  func.func public @main(%x: tensor<4x4xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@line, [{"i"}, {}]>})
      -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@grid, [{"b"}, {"a"}]>}) {
    return %x : tensor<4x4xf32>
  }
})",
                                  partitions({0, 1, 2, 3}));
  std::vector<std::vector<Buffer*>> in, out;
  for (std::size_t p = 0; p < 4; ++p) {
    const auto f = static_cast<float>(4 * p);
    in.push_back({c.put({f, f + 1, f + 2, f + 3}, {1, 4}, p)});
  }
  const Outcome done = run(e, in, 1, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(get(out[0][0]) == std::vector<float>{0, 1, 4, 5});
  CHECK(get(out[1][0]) == std::vector<float>{8, 9, 12, 13});
  CHECK(get(out[2][0]) == std::vector<float>{2, 3, 6, 7});
  CHECK(get(out[3][0]) == std::vector<float>{10, 11, 14, 15});
  for (std::size_t p = 0; p < 4; ++p) {
    CHECK(value_of(t.Buffer_IsDeleted, in[p][0]));
    destroy(t.Buffer_Destroy, in[p][0]), destroy(t.Buffer_Destroy, out[p][0]);
  }
  destroy(t.LoadedExecutable_Destroy, e);
}

TEST_CASE("pjrt: a transform of no elements") {
  const TestClient c;
  const Api& t = plugin();
  LoadedExecutable* e = c.compile(R"(func.func @main(%x: tensor<3x0xf32>) -> tensor<3x0xf32> {
    %0 = stablehlo.convert %x : (tensor<3x0xf32>) -> tensor<3x0xcomplex<f32>>
    %1 = "stablehlo.fft"(%0) {fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 0>} : (tensor<3x0xcomplex<f32>>) -> tensor<3x0xcomplex<f32>>
    %2 = stablehlo.real %1 : (tensor<3x0xcomplex<f32>>) -> tensor<3x0xf32>
    return %2 : tensor<3x0xf32>
  })");
  Buffer* x = c.put({}, {3, 0});
  std::vector<std::vector<Buffer*>> out;
  const Outcome done = run(e, {{x}}, 1, out);
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(list_of(t.Buffer_Dimensions, out[0][0]) == std::vector<std::int64_t>{3, 0});
  destroy(t.Buffer_Destroy, x), destroy(t.Buffer_Destroy, out[0][0]);
  destroy(t.LoadedExecutable_Destroy, e);
}
