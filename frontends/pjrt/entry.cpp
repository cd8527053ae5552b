// What the framework asks the library for: its table of calls. No exception leaves it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/status.h"

namespace weft::pjrt {
namespace {

/// The call as it is in the table: what it throws becomes an error. A caller that was built for an older version has a structure that ends
/// earlier: the call works on a whole one, in which what the caller doesn't know is zero, and the caller gets back what it knows.
/// `since_first`: all of its fields are in every version, whatever size a caller states.
template <class Args, void (*function)(Args&), bool since_first = false>
Error* call_of(Args* a) noexcept {
  static_assert(std::is_trivially_copyable_v<Args>);
  try {
    if (!a) invalid("a call without its arguments");
    const std::size_t given = a->head.struct_size, known = std::min(given, sizeof(Args));
    if (known < sizeof(Head)) invalid(fmt::format("a call with a structure of {} bytes", known));
    if (since_first || sizeof(Args) - known < alignof(Args)) {
      function(*a);
      return nullptr;
    }
    Args whole{};
    std::memcpy(&whole, a, known);
    whole.head.struct_size = sizeof(Args);
    function(whole);
    whole.head.struct_size = given;
    std::memcpy(a, &whole, known);
    return nullptr;
  } catch (...) {
    return new_error(current_error());
  }
}

void destroy_error(ObjectArgs<Error>* a) { delete a->object; }
void message_of(TextArgs<const Error>* a) { a->text = a->object->message.c_str(), a->size = a->object->message.size(); }

}  // namespace

const Api* api() {
  static ShardingsExtension shardings = {{sizeof(ShardingsExtension), kShardingsExtension, nullptr},
                                         &call_of<ShardingsArgs, calls::Executable_ParameterShardings>,
                                         &call_of<ShardingsArgs, calls::Executable_OutputShardings>};
  static LayoutsExtension layouts = {{sizeof(LayoutsExtension), kLayoutsExtension, &shardings.base},
                                     &call_of<ObjectArgs<MemoryLayout>, calls::MemoryLayout_Destroy>,
                                     &call_of<BytesArgs<MemoryLayout>, calls::MemoryLayout_Serialize>,
                                     &call_of<DefaultLayoutArgs<Client>, calls::Client_GetDefaultLayout>,
                                     &call_of<ValueArgs<Buffer, MemoryLayout*>, calls::Buffer_MemoryLayout>,
                                     &call_of<DefaultLayoutArgs<Topology>, calls::Topology_GetDefaultLayout>,
                                     &call_of<CountedArgs<Executable, MemoryLayout*>, calls::Executable_GetOutputLayouts>,
                                     &call_of<CountedArgs<Executable, MemoryLayout*>, calls::Executable_GetParameterLayouts>};
  static const Api table = [] {
    Api t{};
    t.head = {sizeof(Api), &layouts.base};
    t.version = {{sizeof(Version), nullptr}, kMajorVersion, kMinorVersion};
    t.Error_Destroy = destroy_error, t.Error_Message = message_of;
#define WEFT_PJRT_FILL(name, ...) t.name = &call_of<__VA_ARGS__, calls::name>;
    WEFT_PJRT_ENTRIES(WEFT_PJRT_FILL)
#undef WEFT_PJRT_FILL
    // Headers of versions before 0.72 leave the last field out of the size.
    t.Plugin_Attributes = &call_of<PluginAttributesArgs, calls::Plugin_Attributes, true>;
    return t;
  }();
  return &table;
}

}  // namespace weft::pjrt

extern "C" __attribute__((visibility("default"))) const weft::pjrt::Api* GetPjrtApi() { return weft::pjrt::api(); }
