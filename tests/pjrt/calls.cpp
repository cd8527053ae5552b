// Each of the plugin's calls but compiling and running (programs.cpp): clients, devices, buffers, events, transfers, topologies.
#include "plugin.h"

using namespace pjrt_test;

TEST_CASE("pjrt: the table has every call, of version 0.93") {
  const Api& t = plugin();
  CHECK(t.head.struct_size == sizeof(Api));
  CHECK(t.version.major == 0);
  CHECK(t.version.minor == 93);
  CHECK((t.Error_Destroy ? true : false));
  CHECK((t.Error_Message ? true : false));
#define CHECK_THERE(name, ...) CHECK_MESSAGE((t.name ? true : false), #name);
  WEFT_PJRT_ENTRIES(CHECK_THERE)
#undef CHECK_THERE
  auto init = args<NoArgs>();
  CALL(Plugin_Initialize, init);
  auto attributes = args<PluginAttributesArgs>();
  CALL(Plugin_Attributes, attributes);
  REQUIRE(attributes.size == 3);
  CHECK(std::string(attributes.list[0].name, attributes.list[0].name_size) == "stablehlo_current_version");
  CHECK(attributes.list[0].value_size == 3);
}

TEST_CASE("pjrt: clients, devices and memories") {
  const TestClient c;
  const Api& t = plugin();
  CHECK(text_of(t.Client_PlatformName, c.client) == "weft");
  CHECK(text_of(t.Client_PlatformVersion, c.client).rfind("weft ", 0) == 0);
  CHECK(value_of(t.Client_ProcessIndex, c.client) == 0);
  REQUIRE(c.devices.size() == 4);
  CHECK(list_of(t.Client_AddressableDevices, c.client) == c.devices);
  CHECK(list_of(t.Client_AddressableMemories, c.client).size() == 12);
  for (std::size_t i = 0; i < 4; ++i) {
    Device* d = c.devices[i];
    DeviceDescription* about = value_of(t.Device_GetDescription, d);
    CHECK(value_of(t.DeviceDescription_Id, about) == static_cast<int>(i));
    CHECK(value_of(t.DeviceDescription_ProcessIndex, about) == 0);
    CHECK(!text_of(t.DeviceDescription_Kind, about).empty());
    CHECK(text_of(t.DeviceDescription_ToString, about) == "weft:" + std::to_string(i));
    CHECK(!text_of(t.DeviceDescription_DebugString, about).empty());
    auto attributes = args<CountedArgs<DeviceDescription, const NamedValue>>();
    attributes.object = about;
    CALL(DeviceDescription_Attributes, attributes);
    auto of_device = args<DeviceAttributesArgs>();
    of_device.object = d;
    CALL(Device_GetAttributes, of_device);
    CHECK(of_device.list == attributes.list);
    CHECK(of_device.size == attributes.size);
    of_device.release(of_device.owner);
    CHECK(value_of(t.Device_IsAddressable, d));
    CHECK(value_of(t.Device_LocalHardwareId, d) == static_cast<int>(i));
    const std::vector<Memory*> memories = list_of(t.Device_AddressableMemories, d);
    REQUIRE(memories.size() == 3);
    CHECK(value_of(t.Device_DefaultMemory, d) == memories[0]);
    CHECK(text_of(t.Memory_Kind, memories[0]) == "device");
    CHECK(text_of(t.Memory_Kind, memories[1]) == "pinned_host");
    CHECK(value_of(t.Memory_Kind_Id, memories[1]) == 1);
    CHECK(value_of(t.Memory_Id, memories[2]) == static_cast<int>(3 * i + 2));
    CHECK(!text_of(t.Memory_ToString, memories[0]).empty());
    CHECK(!text_of(t.Memory_DebugString, memories[0]).empty());
    CHECK(list_of(t.Memory_AddressableByDevices, memories[2]) == std::vector<Device*>{d});
    auto stats = args<MemoryStatsArgs>();
    stats.device = d;
    CALL(Device_MemoryStats, stats);
    CHECK(stats.bytes_limit.is_set);
    CHECK(!stats.num_allocs.is_set);
  }
  auto look = args<LookupDeviceArgs>();
  look.client = c.client, look.id = 3;
  CALL(Client_LookupDevice, look);
  CHECK(look.device == c.devices[3]);
  CALL(Client_LookupAddressableDevice, look);
  CHECK(look.device == c.devices[3]);
  look.id = 4;
  FAILS(Client_LookupDevice, look, Code::not_found, "there is no device 4");
  FAILS(Client_LookupAddressableDevice, look, Code::not_found, "there is no device 4");
  int ids[4] = {};
  auto assignment = args<DefaultAssignmentArgs>();
  assignment.client = c.client, assignment.num_replicas = 1, assignment.num_partitions = 4, assignment.size = 4,
  assignment.assignment = ids;
  CALL(Client_DefaultDeviceAssignment, assignment);
  CHECK(ids[3] == 3);
  assignment.num_partitions = 5;
  FAILS(Client_DefaultDeviceAssignment, assignment, Code::invalid_argument, "WEFT_NUM_CPU_DEVICES");
  auto processes = args<ListArgs<Client, ProcessInfo>>();
  processes.object = c.client;
  CALL(Client_UpdateGlobalProcessInfo, processes);
  NamedValue option{};
  option.name = "memory", option.name_size = 6;
  auto create = args<ClientCreateArgs>();
  create.options = &option, create.num_options = 1;
  FAILS(Client_Create, create, Code::invalid_argument, "no option `memory`");
}

TEST_CASE("pjrt: topologies") {
  const TestClient c;
  const Api& t = plugin();
  Topology* own = value_of(t.Client_TopologyDescription, c.client);
  CHECK(text_of<const Topology>(t.TopologyDescription_PlatformName, own) == "weft");
  CHECK(text_of(t.TopologyDescription_PlatformVersion, own).rfind("weft ", 0) == 0);
  CHECK(list_of<const Topology>(t.TopologyDescription_GetDeviceDescriptions, own).size() == 4);
  CHECK(list_of(t.TopologyDescription_Attributes, own).empty());
  auto bytes = args<BytesArgs<Topology>>();
  bytes.object = own;
  CALL(TopologyDescription_Serialize, bytes);
  auto back = args<TopologyDeserializeArgs>();
  back.bytes = bytes.bytes, back.size = bytes.size;
  CALL(TopologyDescription_Deserialize, back);
  destroy(t.TopologyDescription_Destroy, back.topology);
  back.size = 3;
  FAILS(TopologyDescription_Deserialize, back, Code::invalid_argument, "other devices");
  bytes.release(bytes.owner);
  auto create = args<TopologyCreateArgs>();
  CALL(TopologyDescription_Create, create);
  destroy(t.TopologyDescription_Destroy, create.topology);
}

TEST_CASE("pjrt: buffers from the host and back, at strides and in other orders") {
  const TestClient c;
  const Api& t = plugin();
  std::vector<float> values(6);
  for (std::size_t i = 0; i < 6; ++i) values[i] = static_cast<float>(i);
  const std::int64_t dims[] = {2, 3}, columns[] = {4, 8};
  auto a = args<FromHostArgs>();
  a.client = c.client, a.data = values.data(), a.type = ElementType::f32, a.dims = dims, a.num_dims = 2, a.byte_strides = columns;
  a.num_byte_strides = 2, a.semantics = HostSemantics::only_during_call, a.device = c.devices[1];
  CALL(Client_BufferFromHostBuffer, a);
  CHECK(value_of(t.Event_IsReady, a.done_with_host));
  destroy(t.Event_Destroy, a.done_with_host);
  Buffer* b = a.buffer;
  CHECK(get(b) == std::vector<float>{0, 2, 4, 1, 3, 5});
  CHECK(value_of(t.Buffer_ElementType, b) == ElementType::f32);
  CHECK(list_of(t.Buffer_Dimensions, b) == std::vector<std::int64_t>{2, 3});
  CHECK(list_of(t.Buffer_UnpaddedDimensions, b) == std::vector<std::int64_t>{2, 3});
  CHECK(list_of(t.Buffer_DynamicDimensionIndices, b).empty());
  CHECK(value_of(t.Buffer_OnDeviceSizeInBytes, b) == 24);
  CHECK(value_of(t.Buffer_Device, b) == c.devices[1]);
  CHECK(value_of(t.Buffer_Memory, b) == value_of(t.Device_DefaultMemory, c.devices[1]));
  CHECK(value_of(t.Buffer_IsOnCpu, b));
  const Layout layout = value_of(t.Buffer_GetMemoryLayout, b);
  CHECK(layout.type == Layout::Type::tiled);
  REQUIRE(layout.tiled.minor_to_major_size == 2);
  CHECK(layout.tiled.minor_to_major[0] == 1);

  // In the caller's order of dimensions.
  const std::int64_t order[] = {0, 1};
  auto wanted = args<Layout>();
  wanted.type = Layout::Type::tiled, wanted.tiled.minor_to_major = order, wanted.tiled.minor_to_major_size = 2;
  std::vector<float> out(6);
  auto host = args<ToHostArgs>();
  host.buffer = b, host.layout = &wanted, host.out = out.data(), host.size = 24;
  CALL(Buffer_ToHostBuffer, host);
  destroy(t.Event_Destroy, host.event);
  CHECK(out == values);
  host.size = 20;
  FAILS(Buffer_ToHostBuffer, host, Code::invalid_argument, "20 bytes are given");
  const std::int64_t twice[] = {0, 0};
  wanted.tiled.minor_to_major = twice, host.size = 24;
  FAILS(Buffer_ToHostBuffer, host, Code::invalid_argument, "no permutation");

  auto raw = args<RawToHostArgs>();
  raw.buffer = b, raw.out = out.data(), raw.offset = 4, raw.size = 8;
  CALL(Buffer_CopyRawToHost, raw);
  destroy(t.Event_Destroy, raw.event);
  CHECK(out[0] == 2.f);
  CHECK(out[1] == 4.f);
  raw.size = 24;
  FAILS(Buffer_CopyRawToHost, raw, Code::invalid_argument, "of a buffer of 24");
  auto later = args<RawToHostLaterArgs>();
  later.buffer = b, later.offset = 8, later.size = 4;
  CALL(Buffer_CopyRawToHostFuture, later);
  CHECK(!value_of(t.Event_IsReady, later.event));
  float one = 0;
  RawToHostLaterCallbackArgs ready{sizeof ready, later.data, Code::ok, nullptr, 0, &one};
  later.ready(&ready);
  CHECK(value_of(t.Event_IsReady, later.event));
  CHECK(one == 4.f);
  destroy(t.Event_Destroy, later.event);

  // Copies, deletion, references.
  auto to_device = args<CopyArgs<Device>>();
  to_device.buffer = b, to_device.to = c.devices[2];
  CALL(Buffer_CopyToDevice, to_device);
  CHECK(value_of(t.Buffer_Device, to_device.copy) == c.devices[2]);
  auto to_memory = args<CopyArgs<Memory>>();
  to_memory.buffer = b, to_memory.to = list_of(t.Device_AddressableMemories, c.devices[0])[1];
  CALL(Buffer_CopyToMemory, to_memory);
  CHECK(value_of(t.Buffer_Memory, to_memory.copy) == to_memory.to);
  auto object = args<ObjectArgs<Buffer>>();
  object.object = b;
  CALL(Buffer_IncreaseExternalReferenceCount, object);
  CHECK(static_cast<float*>(value_of(t.Buffer_OpaqueDeviceMemoryDataPointer, b))[1] == 2.f);
  CHECK(value_of(t.Buffer_UnsafePointer, b) == reinterpret_cast<std::uintptr_t>(value_of(t.Buffer_OpaqueDeviceMemoryDataPointer, b)));
  CALL(Buffer_DecreaseExternalReferenceCount, object);
  FAILS(Buffer_DecreaseExternalReferenceCount, object, Code::invalid_argument, "more often than taken");
  {
    // Who holds memory reads it after the buffer was deleted, and after the framework has destroyed it.
    for (const bool is_deleted : {true, false}) {
      CAPTURE(is_deleted);
      Buffer* const other = c.put({7, 8, 9}, {3});
      auto hold = args<ObjectArgs<Buffer>>();
      hold.object = other;
      CALL(Buffer_IncreaseExternalReferenceCount, hold);
      CALL(Buffer_IncreaseExternalReferenceCount, hold);
      const auto* const elements = static_cast<const float*>(value_of(t.Buffer_OpaqueDeviceMemoryDataPointer, other));
      if (is_deleted) CALL(Buffer_Delete, hold);
      destroy(t.Buffer_Destroy, other);
      CALL(Buffer_DecreaseExternalReferenceCount, hold);
      CHECK(std::vector<float>(elements, elements + 3) == std::vector<float>{7, 8, 9});
      CALL(Buffer_DecreaseExternalReferenceCount, hold);
    }
  }
  CHECK(!value_of(t.Buffer_IsDeleted, b));
  CALL(Buffer_Delete, object);
  CHECK(value_of(t.Buffer_IsDeleted, b));
  host.layout = nullptr;
  FAILS(Buffer_ToHostBuffer, host, Code::invalid_argument, "deleted");
  CHECK(get(to_device.copy) == std::vector<float>{0, 2, 4, 1, 3, 5});
  CHECK(get(to_memory.copy) == std::vector<float>{0, 2, 4, 1, 3, 5});
  for (Buffer* x : {b, to_device.copy, to_memory.copy}) destroy(t.Buffer_Destroy, x);

  const std::int64_t negative[] = {2, -3};
  a.dims = negative;
  FAILS(Client_BufferFromHostBuffer, a, Code::invalid_argument, "not possible");
  a.dims = dims, a.type = ElementType::token;
  FAILS(Client_BufferFromHostBuffer, a, Code::not_supported, "not supported");
  a.type = ElementType::f32, a.num_byte_strides = 1;
  FAILS(Client_BufferFromHostBuffer, a, Code::invalid_argument, "1 strides");
}

TEST_CASE("pjrt: the host's memory is used in place where the caller permits it") {
  const TestClient c;
  const Api& t = plugin();
  std::unique_ptr<float, decltype(&std::free)> memory(static_cast<float*>(std::aligned_alloc(64, 65536)), &std::free);
  memory.get()[5] = 7.f;
  const std::int64_t dims[] = {16384};
  auto a = args<FromHostArgs>();
  a.client = c.client, a.data = memory.get(), a.type = ElementType::f32, a.dims = dims, a.num_dims = 1, a.device = c.devices[0];
  a.semantics = HostSemantics::immutable_zero_copy;
  CALL(Client_BufferFromHostBuffer, a);
  CHECK(value_of(t.Buffer_UnsafePointer, a.buffer) == reinterpret_cast<std::uintptr_t>(memory.get()));
  CHECK(!value_of(t.Event_IsReady, a.done_with_host));
  int called = 0;
  auto on = args<EventOnReadyArgs>();
  on.event = a.done_with_host, on.user = &called;
  on.callback = [](Error* e, void* user) {
    CHECK(e == nullptr);
    ++*static_cast<int*>(user);
  };
  CALL(Event_OnReady, on);
  // A program that writes to its argument's memory gets a copy.
  LoadedExecutable* add = c.compile(R"(func.func @main(%x: tensor<16384xf32> {tf.aliasing_output = 0 : i32}) -> tensor<16384xf32> {
    %0 = stablehlo.add %x, %x : tensor<16384xf32>
    return %0 : tensor<16384xf32>
  })");
  std::vector<std::vector<Buffer*>> out;
  const Outcome ran = run(add, {{a.buffer}}, 1, out);
  CHECK_MESSAGE(ran.code == Code::ok, ran.message);
  CHECK(get(out[0][0])[5] == 14.f);
  CHECK(memory.get()[5] == 7.f);
  CHECK(value_of(t.Buffer_IsDeleted, a.buffer));
  destroy(t.Buffer_Destroy, a.buffer);
  CHECK(called == 1);
  destroy(t.Event_Destroy, a.done_with_host);
  destroy(t.Buffer_Destroy, out[0][0]);
  destroy(t.LoadedExecutable_Destroy, add);

  static int deleted = 0;
  auto view = args<ViewOfDeviceArgs>();
  view.client = c.client, view.data = memory.get(), view.dims = dims, view.num_dims = 1, view.type = ElementType::f32;
  view.device = c.devices[0];
  view.on_delete = [](void*, void*) { ++deleted; };
  CALL(Client_CreateViewOfDeviceBuffer, view);
  CHECK(get(view.buffer)[5] == 7.f);
  CHECK(deleted == 0);
  destroy(t.Buffer_Destroy, view.buffer);
  CHECK(deleted == 1);

  // Columns of three elements each: a copy in row-major order, and the memory is given back at once.
  std::vector<float> columns{1, 2, 3, 4, 5, 6};
  const std::int64_t matrix[] = {3, 2}, minor_to_major[] = {0, 1};
  auto layout = args<Layout>();
  layout.tiled.minor_to_major = minor_to_major, layout.tiled.minor_to_major_size = 2;
  view.data = columns.data(), view.dims = matrix, view.num_dims = 2, view.layout = &layout;
  CALL(Client_CreateViewOfDeviceBuffer, view);
  CHECK(deleted == 2);
  CHECK(get(view.buffer) == std::vector<float>{1, 4, 2, 5, 3, 6});
  destroy(t.Buffer_Destroy, view.buffer);
}

TEST_CASE("pjrt: events") {
  const Api& t = plugin();
  auto made = args<MadeArgs<Event>>();
  CALL(Event_Create, made);
  CHECK(!value_of(t.Event_IsReady, made.made));
  auto object = args<ObjectArgs<Event>>();
  object.object = made.made;
  FAILS(Event_Error, object, Code::invalid_argument, "before the event was ready");
  static Outcome seen;
  auto on = args<EventOnReadyArgs>();
  on.event = made.made;
  on.callback = [](Error* e, void*) { seen = outcome(e); };
  CALL(Event_OnReady, on);
  auto set = args<EventSetArgs>();
  set.event = made.made, set.code = Code::aborted, set.message = "no more", set.message_size = 7;
  CALL(Event_Set, set);
  CHECK(seen.code == Code::aborted);
  CHECK(seen.message == "no more");
  CHECK(value_of(t.Event_IsReady, made.made));
  FAILS(Event_Await, object, Code::aborted, "no more");
  FAILS(Event_Error, object, Code::aborted, "no more");
  seen = {};
  CALL(Event_OnReady, on);
  CHECK(seen.code == Code::aborted);
  destroy(t.Event_Destroy, made.made);
}

TEST_CASE("pjrt: buffers that fail, uninitialised ones, and ones that come in parts") {
  const TestClient c;
  const Api& t = plugin();
  const std::int64_t dims[] = {4};
  Memory* memory = value_of(t.Device_DefaultMemory, c.devices[0]);
  auto failed = args<ErrorBufferArgs>();
  failed.client = c.client, failed.code = Code::internal, failed.message = "lost", failed.message_size = 4, failed.dims = dims;
  failed.num_dims = 1, failed.type = ElementType::f32, failed.memory = memory;
  CALL(Client_CreateErrorBuffer, failed);
  auto ready = args<ValueArgs<Buffer, Event*>>();
  ready.object = failed.buffer;
  CALL(Buffer_ReadyEvent, ready);
  auto wait = args<ObjectArgs<Event>>();
  wait.object = ready.value;
  FAILS(Event_Await, wait, Code::internal, "lost");
  destroy(t.Event_Destroy, ready.value);
  LoadedExecutable* add = c.compile(R"(func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  })");
  std::vector<std::vector<Buffer*>> out;
  CHECK(run(add, {{failed.buffer}}, 1, out).message == "lost");
  destroy(t.Buffer_Destroy, failed.buffer);

  auto empty = args<UninitializedArgs>();
  empty.client = c.client, empty.dims = dims, empty.num_dims = 1, empty.type = ElementType::f32, empty.device = c.devices[0];
  CALL(Client_CreateUninitializedBuffer, empty);
  CHECK(get(empty.buffer).size() == 4);
  destroy(t.Buffer_Destroy, empty.buffer);

  ShapeSpec specs[2] = {{{sizeof(ShapeSpec), nullptr}, dims, 1, ElementType::f32},
                        {{sizeof(ShapeSpec), nullptr}, dims, 1, ElementType::f32}};
  auto make = args<AsyncBuffersArgs>();
  make.client = c.client, make.shapes = specs, make.num_shapes = 2, make.memory = memory;
  CALL(Client_CreateBuffersForAsyncHostToDevice, make);
  TransferManager* m = make.manager;
  CHECK(value_of(t.AsyncHostToDeviceTransferManager_BufferCount, m) == 2);
  CHECK(value_of(t.AsyncHostToDeviceTransferManager_Device, m) == c.devices[0]);
  auto size = args<TransferSizeArgs>();
  size.manager = m, size.index = 1;
  CALL(AsyncHostToDeviceTransferManager_BufferSize, size);
  CHECK(size.size == 16);
  auto metadata = args<ListArgs<TransferManager, const NamedValue>>();
  metadata.object = m;
  CALL(AsyncHostToDeviceTransferManager_AddMetadata, metadata);
  auto take = args<RetrieveBufferArgs>();
  take.manager = m;
  CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, take);
  Buffer* first = take.buffer;
  FAILS(AsyncHostToDeviceTransferManager_RetrieveBuffer, take, Code::invalid_argument, "retrieved already");
  ready.object = first;
  CALL(Buffer_ReadyEvent, ready);
  CHECK(!value_of(t.Event_IsReady, ready.value));
  const float parts[] = {1, 2, 3, 4};
  auto data = args<TransferDataArgs>();
  data.manager = m, data.data = parts + 2, data.offset = 8, data.size = 8;
  CALL(AsyncHostToDeviceTransferManager_TransferData, data);
  destroy(t.Event_Destroy, data.done);
  CHECK(!value_of(t.Event_IsReady, ready.value));
  data.data = parts, data.offset = 0, data.is_last = true;
  CALL(AsyncHostToDeviceTransferManager_TransferData, data);
  destroy(t.Event_Destroy, data.done);
  CHECK(value_of(t.Event_IsReady, ready.value));
  destroy(t.Event_Destroy, ready.value);
  CHECK(get(first) == std::vector<float>{1, 2, 3, 4});
  FAILS(AsyncHostToDeviceTransferManager_TransferData, data, Code::invalid_argument, "complete already");
  data.index = 2;
  FAILS(AsyncHostToDeviceTransferManager_TransferData, data, Code::invalid_argument, "no buffer 2");
  take.index = 1;
  CALL(AsyncHostToDeviceTransferManager_RetrieveBuffer, take);
  auto literal = args<TransferLiteralArgs>();
  literal.manager = m, literal.index = 1, literal.data = parts, literal.dims = dims, literal.num_dims = 1, literal.type = ElementType::s32;
  FAILS(AsyncHostToDeviceTransferManager_TransferLiteral, literal, Code::invalid_argument, "another type");
  auto lost = args<TransferErrorArgs>();
  lost.manager = m, lost.index = 1, lost.code = Code::cancelled, lost.message = "stopped", lost.message_size = 7;
  CALL(AsyncHostToDeviceTransferManager_SetBufferError, lost);
  CHECK(run(add, {{take.buffer}}, 1, out).code == Code::cancelled);
  literal.index = 0, literal.type = ElementType::f32;
  FAILS(AsyncHostToDeviceTransferManager_TransferLiteral, literal, Code::invalid_argument, "complete already");
  destroy(t.AsyncHostToDeviceTransferManager_Destroy, m);

  // A donated buffer is the other's once what it depends on is there.
  auto donate = args<DonateLaterArgs>();
  donate.buffer = first;
  CALL(Buffer_DonateWithControlDependency, donate);
  CHECK(value_of(t.Buffer_IsDeleted, first));
  DonateLaterCallbackArgs done{sizeof done, donate.data, Code::ok, nullptr, 0};
  donate.ready(&done);
  CHECK(get(donate.donated) == std::vector<float>{1, 2, 3, 4});
  for (Buffer* b : {first, take.buffer, donate.donated}) destroy(t.Buffer_Destroy, b);
  destroy(t.LoadedExecutable_Destroy, add);
}

TEST_CASE("pjrt: what weft has nothing for says so") {
  const TestClient c;
  auto stream = args<ObjectArgs<CopyToDeviceStream>>();
  FAILS(CopyToDeviceStream_Destroy, stream, Code::not_supported, "not supported");
  auto chunk = args<AddChunkArgs>();
  FAILS(CopyToDeviceStream_AddChunk, chunk, Code::not_supported, "not supported");
  auto number = args<ValueArgs<CopyToDeviceStream, std::int64_t>>();
  FAILS(CopyToDeviceStream_TotalBytes, number, Code::not_supported, "not supported");
  FAILS(CopyToDeviceStream_GranuleSize, number, Code::not_supported, "not supported");
  FAILS(CopyToDeviceStream_CurrentBytes, number, Code::not_supported, "not supported");
  auto dma = args<DmaMapArgs>();
  FAILS(Client_DmaMap, dma, Code::not_supported, "not supported");
  auto unmap = args<ValueArgs<Client, void*>>();
  FAILS(Client_DmaUnmap, unmap, Code::not_supported, "not supported");
  auto alias = args<AliasBufferArgs>();
  FAILS(Client_CreateAliasBuffer, alias, Code::not_supported, "not supported");
  auto fulfill = args<FulfillAliasArgs>();
  FAILS(Client_FulfillAliasBuffer, fulfill, Code::not_supported, "not supported");
  auto poison = args<PoisonArgs>();
  FAILS(Device_PoisonExecution, poison, Code::not_supported, "not supported");
  auto track = args<TrackingEventArgs>();
  FAILS(Device_CreateAsyncTrackingEvent, track, Code::not_supported, "not supported");
  auto tracking = args<ObjectArgs<AsyncTrackingEvent>>();
  FAILS(AsyncTrackingEvent_Destroy, tracking, Code::not_supported, "not supported");
}
