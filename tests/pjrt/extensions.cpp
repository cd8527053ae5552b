// What the interface's extensions tell of an executable: the layouts of its arguments, and the shardings of arguments and results.
#include "plugin.h"

using namespace pjrt_test;

namespace {

template <class E>
const E& extension(int type) {
  const Extension* at = plugin().head.extensions;
  while (at && at->type != type) at = at->next;
  REQUIRE((at ? true : false));
  return *reinterpret_cast<const E*>(at);
}

/// The serialised shardings of an executable's arguments or results; none, where it has none.
using ShardingsOf = Error* (*)(ShardingsArgs*);
std::vector<std::string> shardings(Executable* e, bool of_results) {
  const auto& told = extension<ShardingsExtension>(kShardingsExtension);
  auto a = args<ShardingsArgs>();
  a.object = e;
  const Outcome done = outcome(of_results ? told.Executable_OutputShardings(&a) : told.Executable_ParameterShardings(&a));
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  std::vector<std::string> out;
  for (std::size_t i = 0; a.first && i < a.size; ++i) out.emplace_back(a.first[i], a.second[i]);
  return out;
}

}  // namespace

TEST_CASE("pjrt: shardings and layouts are told without the program") {
  const TestClient c;
  const Api& t = plugin();
  // As JAX's HloSharding.to_proto().SerializeToString() has them: {devices=[4,1]0,1,2,3}, {replicated}, and
  // {devices=[1,2,2]0,2,1,3 last_tile_dim_replicate}.
  const std::string rows("\x08\x03\x1a\x02\x04\x01\x22\x04\x00\x01\x02\x03", 12), whole("\x08\x00", 2);
  const std::string columns("\x08\x03\x1a\x03\x01\x02\x02\x22\x04\x00\x02\x01\x03\x30\x01", 15);
  LoadedExecutable* e = c.compile(R"(module @jit_f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=2, "j"=2]>
  func.func public @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i", "j"}, {}]>}, %s: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})
      -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"j"}]>}) {
    %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<2xf32>) -> tensor<8x2xf32>
    %2 = stablehlo.multiply %x, %1 : tensor<8x2xf32>
    return %2 : tensor<8x2xf32>
  }
})",
                                  partitions({0, 1, 2, 3}));
  Executable* about = value_of(t.LoadedExecutable_GetExecutable, e);
  CHECK(shardings(about, false) == std::vector{rows, whole});
  CHECK(shardings(about, true) == std::vector{columns});
  auto layouts = args<CountedArgs<Executable, MemoryLayout*>>();
  layouts.object = about;
  const Outcome done = outcome(extension<LayoutsExtension>(kLayoutsExtension).Executable_GetParameterLayouts(&layouts));
  REQUIRE_MESSAGE(done.code == Code::ok, done.message);
  CHECK(layouts.size == 2);
  destroy(t.Executable_Destroy, about);
  destroy(t.LoadedExecutable_Destroy, e);

  LoadedExecutable* alone =
      c.compile("module @jit_g { func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> } }");
  about = value_of(t.LoadedExecutable_GetExecutable, alone);
  CHECK(shardings(about, false).empty());
  CHECK(shardings(about, true).empty());
  destroy(t.Executable_Destroy, about);
  destroy(t.LoadedExecutable_Destroy, alone);
}
