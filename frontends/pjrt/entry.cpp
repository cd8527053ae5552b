// What the framework asks the library for: its table of calls. No exception leaves it.
#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/status.h"

namespace weft::pjrt {
namespace {

/// The call as it is in the table: what it throws becomes an error. A structure of a caller that was built for an older version may be
/// too small to write to.
template <class Args, void (*function)(Args&)>
Error* call_of(Args* a) noexcept {
  try {
    if (!a) invalid("a call without its arguments");
    if (a->head.struct_size + alignof(Args) <= sizeof(Args))
      throw Failure(Code::failed_precondition, "weft: the framework was built for an older version of the interface than 0.90");
    function(*a);
    return nullptr;
  } catch (...) {
    return new_error(current_error());
  }
}

void destroy_error(ObjectArgs<Error>* a) { delete a->object; }
void message_of(TextArgs<const Error>* a) { a->text = a->object->message.c_str(), a->size = a->object->message.size(); }

}  // namespace

const Api* api() {
  static LayoutsExtension layouts = {{sizeof(LayoutsExtension), kLayoutsExtension, nullptr},
                                     &call_of<ObjectArgs<MemoryLayout>, calls::MemoryLayout_Destroy>,
                                     &call_of<BytesArgs<MemoryLayout>, calls::MemoryLayout_Serialize>,
                                     &call_of<DefaultLayoutArgs<Client>, calls::Client_GetDefaultLayout>,
                                     &call_of<ValueArgs<Buffer, MemoryLayout*>, calls::Buffer_MemoryLayout>,
                                     &call_of<DefaultLayoutArgs<Topology>, calls::Topology_GetDefaultLayout>,
                                     &call_of<CountedArgs<Executable, MemoryLayout*>, calls::Executable_GetOutputLayouts>};
  static const Api table = [] {
    Api t{};
    t.head = {sizeof(Api), &layouts.base};
    t.version = {{sizeof(Version), nullptr}, kMajorVersion, kMinorVersion};
    t.Error_Destroy = destroy_error, t.Error_Message = message_of;
#define WEFT_PJRT_FILL(name, ...) t.name = &call_of<__VA_ARGS__, calls::name>;
    WEFT_PJRT_ENTRIES(WEFT_PJRT_FILL)
#undef WEFT_PJRT_FILL
    return t;
  }();
  return &table;
}

}  // namespace weft::pjrt

extern "C" __attribute__((visibility("default"))) const weft::pjrt::Api* GetPjrtApi() { return weft::pjrt::api(); }
