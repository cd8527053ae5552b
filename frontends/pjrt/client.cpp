// The client and its devices: those of weft's platform, with a memory each under the names that JAX uses for a device's and a host's.
#include <fmt/format.h>

#include "weft/core/base/config.h"
#include "weft/core/base/environment.h"
#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/objects.h"
#include "weft/version.h"

namespace weft::pjrt {

std::string platform_version() { return "weft " + std::string(weft::version()); }

namespace {

DeviceDescription describe(const weft::Device& d, int id) {
  DeviceDescription out;
  out.id = id, out.process = d.process_index(), out.kind = d.kind();
  out.text = fmt::format("weft:{}", id);
  return out;
}

}  // namespace

Client::Client() {
  const std::vector<weft::Device> all = weft::devices();
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto d = std::make_unique<Device>(all[i]);
    d->client = this;
    d->description = describe(all[i], static_cast<int>(i));
    d->is_addressable = all[i].process_index() == weft::process_index();
    // Memory of the host has one kind more than one name: a program may ask for any.
    static constexpr const char* kinds[] = {"device", "pinned_host", "unpinned_host"};
    for (int k = 0; k < 3; ++k) {
      auto m = std::make_unique<Memory>();
      m->id = static_cast<int>(i) * 3 + k, m->kind_id = k, m->kind = kinds[k], m->device = d.get();
      m->text = fmt::format("weft:{} {}", i, kinds[k]);
      d->memories.push_back(m.get());
      d->owned_memories.push_back(std::move(m));
    }
    devices.push_back(d.get());
    if (d->is_addressable) {
      d->local_id = static_cast<int>(addressable.size());
      addressable.push_back(d.get());
      memories.insert(memories.end(), d->memories.begin(), d->memories.end());
    }
    topology.owned.push_back(d->description);
    owned.push_back(std::move(d));
  }
  topology.platform_version = platform_version();
  for (DeviceDescription& d : topology.owned) topology.descriptions.push_back(&d);
}

Device& Client::device(int id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= devices.size())
    throw Failure(Code::not_found, fmt::format("weft: there is no device {}; there are {}", id, devices.size()));
  return *devices[static_cast<std::size_t>(id)];
}

namespace {

template <class A>
void give_text(A& a, const std::string& text) {
  a.text = text.c_str(), a.size = text.size();
}
template <class A, class T>
void give_list(A& a, const std::vector<T>& list) {
  a.list = list.data(), a.size = list.size();
}
NamedValue version_value(const char* name, const std::int64_t (&parts)[3]) {
  NamedValue v{};
  v.head.struct_size = sizeof v;
  v.name = name, v.name_size = std::char_traits<char>::length(name), v.type = NamedValue::Type::int64_list;
  v.int64_list = parts, v.value_size = 3;
  return v;
}

}  // namespace

namespace calls {

void Plugin_Initialize(NoArgs&) {}

// The portable versions of StableHLO that are read: the framework writes programs in one of them.
void Plugin_Attributes(PluginAttributesArgs& a) {
  static constexpr std::int64_t current[] = {1, 19, 0}, minimum[] = {1, 0, 0};
  static const NamedValue attributes[] = {
      version_value("stablehlo_current_version", current), version_value("stablehlo_minimum_version", minimum), [] {
        NamedValue v{};
        v.head.struct_size = sizeof v;
        v.name = "xla_version", v.name_size = 11, v.type = NamedValue::Type::int64, v.int64 = 2, v.value_size = 1;
        return v;
      }()};
  a.list = attributes, a.size = std::size(attributes);
}

void Client_Create(ClientCreateArgs& a) {
  for (std::size_t i = 0; i < a.num_options; ++i)
    invalid(fmt::format("there is no option `{}`; devices are set by WEFT_PLATFORM and WEFT_NUM_CPU_DEVICES",
                        std::string(a.options[i].name, a.options[i].name_size)));
  // As XLA's CPU backend does, by which JAX's tests and users judge.
  config.flush_subnormals = detail::is_switched_on("WEFT_FLUSH_SUBNORMALS", true);
  a.client = new Client;
}
void Client_Destroy(ObjectArgs<Client>& a) { delete a.object; }

void Client_PlatformName(TextArgs<Client>& a) { a.text = kPlatformName, a.size = sizeof kPlatformName - 1; }
void Client_PlatformVersion(TextArgs<Client>& a) { give_text(a, a.object->topology.platform_version); }
void Client_ProcessIndex(ValueArgs<Client, int>& a) { a.value = weft::process_index(); }
void Client_Devices(ListArgs<Client, Device* const>& a) { give_list(a, a.object->devices); }
void Client_AddressableDevices(ListArgs<Client, Device* const>& a) { give_list(a, a.object->addressable); }
void Client_AddressableMemories(ListArgs<Client, Memory* const>& a) { give_list(a, a.object->memories); }
void Client_LookupDevice(LookupDeviceArgs& a) { a.device = &a.client->device(a.id); }
void Client_LookupAddressableDevice(LookupDeviceArgs& a) {
  if (a.id < 0 || static_cast<std::size_t>(a.id) >= a.client->addressable.size())
    throw Failure(Code::not_found,
                  fmt::format("weft: there is no device {} of this process; it has {}", a.id, a.client->addressable.size()));
  a.device = a.client->addressable[static_cast<std::size_t>(a.id)];
}
void Client_TopologyDescription(ValueArgs<Client, Topology*>& a) { a.value = &a.object->topology; }

// Replicas are the slower-varying dimension.
void Client_DefaultDeviceAssignment(DefaultAssignmentArgs& a) {
  const std::int64_t count = std::int64_t{a.num_replicas} * a.num_partitions;
  if (a.num_replicas < 1 || a.num_partitions < 1 || count > static_cast<std::int64_t>(a.client->devices.size()))
    invalid(fmt::format("{} replicas of {} partitions don't fit {} devices; WEFT_NUM_CPU_DEVICES says how many the host has",
                        a.num_replicas, a.num_partitions, a.client->devices.size()));
  if (a.size < static_cast<std::size_t>(count)) invalid("the list for a device assignment is too short");
  for (int i = 0; i < count; ++i) a.assignment[i] = i;
}

void Client_UpdateGlobalProcessInfo(ListArgs<Client, ProcessInfo>&) {}

void DeviceDescription_Id(ValueArgs<DeviceDescription, int>& a) { a.value = a.object->id; }
void DeviceDescription_ProcessIndex(ValueArgs<DeviceDescription, int>& a) { a.value = a.object->process; }
void DeviceDescription_Attributes(CountedArgs<DeviceDescription, const NamedValue>& a) { give_list(a, a.object->attributes); }
void DeviceDescription_Kind(TextArgs<DeviceDescription>& a) { give_text(a, a.object->kind); }
void DeviceDescription_DebugString(TextArgs<DeviceDescription>& a) { give_text(a, a.object->text); }
void DeviceDescription_ToString(TextArgs<DeviceDescription>& a) { give_text(a, a.object->text); }

void Device_GetDescription(ValueArgs<Device, DeviceDescription*>& a) { a.value = &a.object->description; }
void Device_IsAddressable(ValueArgs<Device, bool>& a) { a.value = a.object->is_addressable; }
void Device_LocalHardwareId(ValueArgs<Device, int>& a) { a.value = a.object->local_id; }
void Device_AddressableMemories(ListArgs<Device, Memory* const>& a) { give_list(a, a.object->memories); }
void Device_DefaultMemory(ValueArgs<Device, Memory*>& a) { a.value = a.object->default_memory(); }

void Device_GetAttributes(DeviceAttributesArgs& a) {
  a.list = a.object->description.attributes.data(), a.size = a.object->description.attributes.size();
  a.owner = nullptr, a.release = [](void*) {};  // the list is the description's
}

void Device_MemoryStats(MemoryStatsArgs& a) {
  const MemoryStats s = a.device->device.memory_stats();
  const auto unknown = MemoryStatsArgs::Known{0, false};
  a.bytes_in_use = s.bytes_in_use;
  a.peak_bytes_in_use = {s.peak_bytes_in_use, true}, a.bytes_limit = {s.bytes_limit, true};
  a.num_allocs = a.largest_alloc_size = a.bytes_reserved = a.peak_bytes_reserved = a.bytes_reservable_limit = unknown;
  a.largest_free_block_bytes = a.pool_bytes = a.peak_pool_bytes = unknown;
}

void Memory_Id(ValueArgs<Memory, int>& a) { a.value = a.object->id; }
void Memory_Kind(TextArgs<Memory>& a) { give_text(a, a.object->kind); }
void Memory_Kind_Id(ValueArgs<Memory, int>& a) { a.value = a.object->kind_id; }
void Memory_DebugString(TextArgs<Memory>& a) { give_text(a, a.object->text); }
void Memory_ToString(TextArgs<Memory>& a) { give_text(a, a.object->text); }
void Memory_AddressableByDevices(ListArgs<Memory, Device* const>& a) { a.list = &a.object->device, a.size = 1; }

// A topology is that of this process's devices: there is no other to compile for.
void TopologyDescription_Create(TopologyCreateArgs& a) {
  auto t = std::make_unique<Topology>();
  t->platform_version = platform_version();
  int id = 0;
  for (const weft::Device& d : weft::devices()) t->owned.push_back(describe(d, id++));
  for (DeviceDescription& d : t->owned) t->descriptions.push_back(&d);
  a.topology = t.release();
}
void TopologyDescription_Destroy(ObjectArgs<Topology>& a) { delete a.object; }
void TopologyDescription_PlatformName(TextArgs<const Topology>& a) { a.text = kPlatformName, a.size = sizeof kPlatformName - 1; }
void TopologyDescription_PlatformVersion(TextArgs<Topology>& a) { give_text(a, a.object->platform_version); }
void TopologyDescription_GetDeviceDescriptions(ListArgs<const Topology, DeviceDescription* const>& a) {
  give_list(a, a.object->descriptions);
}
void TopologyDescription_Attributes(ListArgs<Topology, const NamedValue>& a) { a.list = nullptr, a.size = 0; }

// What programs that were compiled depend on: the version, and the kinds of the devices.
void TopologyDescription_Serialize(BytesArgs<Topology>& a) {
  auto text = std::make_unique<std::string>(a.object->platform_version);
  for (const DeviceDescription& d : a.object->owned) *text += fmt::format("\n{} {} {}", d.id, d.process, d.kind);
  a.bytes = text->data(), a.size = text->size();
  a.owner = text.release();
  a.release = [](void* owner) { delete static_cast<std::string*>(owner); };
}
void TopologyDescription_Deserialize(TopologyDeserializeArgs& a) {
  TopologyCreateArgs made{};
  TopologyDescription_Create(made);
  std::unique_ptr<Topology> t(made.topology);
  BytesArgs<Topology> here{};
  here.object = t.get();
  TopologyDescription_Serialize(here);
  const bool same = std::string_view(here.bytes, here.size) == std::string_view(a.bytes, a.size);
  here.release(here.owner);
  if (!same) invalid("a topology is of other devices, or another version, than those that are here");
  a.topology = t.release();
}

}  // namespace calls
}  // namespace weft::pjrt
