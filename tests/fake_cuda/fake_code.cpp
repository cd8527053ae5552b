// The fake driver's code: what is linked and loaded, and how kernels run.
#include <exception>

#include "fake_state.h"

using namespace fake_cuda;

extern "C" {

Result cuLinkCreate_v2(unsigned, int*, void**, LinkState* l) {
  ENTER(cuLinkCreate_v2)
  *l = reinterpret_cast<LinkState>(new std::string);
  state().links.insert(*l);
  return kSuccess;
}
// "Machine code" is what was given.
Result cuLinkAddData_v2(LinkState l, int type, void* data, std::size_t bytes, const char*, unsigned, int*, void**) {
  ENTER(cuLinkAddData_v2)
  if (type != kInputPtx || bytes == 0 || static_cast<const char*>(data)[bytes - 1] != 0) return kInvalid;
  reinterpret_cast<std::string*>(l)->assign(static_cast<const char*>(data), bytes);
  return kSuccess;
}
Result cuLinkComplete(LinkState l, void** code, std::size_t* bytes) {
  ENTER(cuLinkComplete)
  auto& text = *reinterpret_cast<std::string*>(l);
  return *code = text.data(), *bytes = text.size(), kSuccess;
}
Result cuLinkDestroy(LinkState l) {
  ENTER_TO_DESTROY(cuLinkDestroy)
  if (!state().links.erase(l)) return kIllegal;
  delete reinterpret_cast<std::string*>(l);
  return injected;
}
Result cuModuleLoadDataEx(Module* m, const void* image, unsigned, int*, void**) {
  ENTER(cuModuleLoadDataEx)
  NEEDS(not_while_capturing())
  try {
    auto* made = new FakeModule{fake_cuda::load(static_cast<const char*>(image))};
    *m = reinterpret_cast<Module>(made);
    state().modules.insert(made);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fake driver: %s\n", e.what());
    return kInvalid;
  }
  return kSuccess;
}
Result cuModuleUnload(Module m) {
  ENTER_TO_DESTROY(cuModuleUnload)
  NEEDS(not_while_capturing())
  if (!state().modules.erase(m)) return kIllegal;
  delete reinterpret_cast<FakeModule*>(m);
  return injected;
}
Result cuModuleGetFunction(Function* f, Module m, const char* name) {
  ENTER(cuModuleGetFunction)
  *f = reinterpret_cast<Function>(reinterpret_cast<FakeModule*>(m)->code->find(name));
  return *f ? kSuccess : kNotFound;
}
Result cuLaunchKernel(Function f, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, Stream s,
                      void** parameters, void**) {
  ENTER(cuLaunchKernel)
  NEEDS(may_use(s))
  if (blocks == 0 || blocks > 0x7fffffff || threads == 0 || threads > 1024) return kInvalid;
  if (state().skips_kernels && !captures(s)) return kSuccess;
  if (!captures(s)) flush();
  std::vector<DevicePointer> values;
  if (!captures(s) && !is_blocked(s)) {
    try {
      fake_cuda::run(reinterpret_cast<void*>(f), blocks, threads, parameters);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fake driver: %s\n", e.what());
      return std::string(e.what()).find("address") != std::string::npos ? kIllegalAddress : kLaunchFailed;
    }
    return kSuccess;
  }
  // How many there are is not known here; weft ends them with the workspace, null or not, and never has more than these.
  for (int i = 0; i < 512; ++i) {
    if (!parameters[i]) break;
    values.push_back(*static_cast<DevicePointer*>(parameters[i]));
  }
  return now_or_later(s, [=]() mutable {
    if (state().skips_kernels) return kSuccess;
    std::vector<void*> p;
    for (DevicePointer& v : values) p.push_back(&v);
    try {
      fake_cuda::run(reinterpret_cast<void*>(f), blocks, threads, p.data());
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fake driver: %s\n", e.what());
      return kLaunchFailed;
    }
    return kSuccess;
  });
}

}  // extern "C"
