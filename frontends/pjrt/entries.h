// The table of the plugin's calls, in the interface's order, and what a framework gets of them: GetPjrtApi's structure. Each call is a
// function of its name in weft::pjrt::calls that throws; `call_of` makes of it one that gives an error.
#pragma once
#include "weft/frontends/pjrt/api.h"

// clang-format off
/// E(name, type of its arguments) for all calls that give an error or null.
#define WEFT_PJRT_ENTRIES(E)                                                                       \
  E(Error_GetCode, ValueArgs<const Error, Code>)                                                   \
  E(Plugin_Initialize, NoArgs)                                                                     \
  E(Plugin_Attributes, PluginAttributesArgs)                                                       \
  E(Event_Destroy, ObjectArgs<Event>)                                                              \
  E(Event_IsReady, ValueArgs<Event, bool>)                                                         \
  E(Event_Error, ObjectArgs<Event>)                                                                \
  E(Event_Await, ObjectArgs<Event>)                                                                \
  E(Event_OnReady, EventOnReadyArgs)                                                               \
  E(Client_Create, ClientCreateArgs)                                                               \
  E(Client_Destroy, ObjectArgs<Client>)                                                            \
  E(Client_PlatformName, TextArgs<Client>)                                                         \
  E(Client_ProcessIndex, ValueArgs<Client, int>)                                                   \
  E(Client_PlatformVersion, TextArgs<Client>)                                                      \
  E(Client_Devices, ListArgs<Client, Device* const>)                                               \
  E(Client_AddressableDevices, ListArgs<Client, Device* const>)                                    \
  E(Client_LookupDevice, LookupDeviceArgs)                                                         \
  E(Client_LookupAddressableDevice, LookupDeviceArgs)                                              \
  E(Client_AddressableMemories, ListArgs<Client, Memory* const>)                                   \
  E(Client_Compile, CompileArgs)                                                                   \
  E(Client_DefaultDeviceAssignment, DefaultAssignmentArgs)                                         \
  E(Client_BufferFromHostBuffer, FromHostArgs)                                                     \
  E(DeviceDescription_Id, ValueArgs<DeviceDescription, int>)                                       \
  E(DeviceDescription_ProcessIndex, ValueArgs<DeviceDescription, int>)                             \
  E(DeviceDescription_Attributes, CountedArgs<DeviceDescription, const NamedValue>)                \
  E(DeviceDescription_Kind, TextArgs<DeviceDescription>)                                           \
  E(DeviceDescription_DebugString, TextArgs<DeviceDescription>)                                    \
  E(DeviceDescription_ToString, TextArgs<DeviceDescription>)                                       \
  E(Device_GetDescription, ValueArgs<Device, DeviceDescription*>)                                  \
  E(Device_IsAddressable, ValueArgs<Device, bool>)                                                 \
  E(Device_LocalHardwareId, ValueArgs<Device, int>)                                                \
  E(Device_AddressableMemories, ListArgs<Device, Memory* const>)                                   \
  E(Device_DefaultMemory, ValueArgs<Device, Memory*>)                                              \
  E(Device_MemoryStats, MemoryStatsArgs)                                                           \
  E(Memory_Id, ValueArgs<Memory, int>)                                                             \
  E(Memory_Kind, TextArgs<Memory>)                                                                 \
  E(Memory_DebugString, TextArgs<Memory>)                                                          \
  E(Memory_ToString, TextArgs<Memory>)                                                             \
  E(Memory_AddressableByDevices, ListArgs<Memory, Device* const>)                                  \
  E(Executable_Destroy, ObjectArgs<Executable>)                                                    \
  E(Executable_Name, TextArgs<Executable>)                                                         \
  E(Executable_NumReplicas, ValueArgs<Executable, std::size_t>)                                    \
  E(Executable_NumPartitions, ValueArgs<Executable, std::size_t>)                                  \
  E(Executable_NumOutputs, ValueArgs<Executable, std::size_t>)                                     \
  E(Executable_SizeOfGeneratedCodeInBytes, ValueArgs<Executable, std::int64_t>)                    \
  E(Executable_GetCostAnalysis, CountedArgs<Executable, const NamedValue>)                         \
  E(Executable_OutputMemoryKinds, TwoListsArgs<Executable, const char* const, const std::size_t>)  \
  E(Executable_OptimizedProgram, ValueArgs<Executable, ProgramText*>)                              \
  E(Executable_Serialize, BytesArgs<const Executable>)                                             \
  E(LoadedExecutable_Destroy, ObjectArgs<LoadedExecutable>)                                        \
  E(LoadedExecutable_GetExecutable, ValueArgs<LoadedExecutable, Executable*>)                      \
  E(LoadedExecutable_AddressableDevices, ListArgs<LoadedExecutable, Device* const>)                \
  E(LoadedExecutable_Delete, ObjectArgs<LoadedExecutable>)                                         \
  E(LoadedExecutable_IsDeleted, ValueArgs<LoadedExecutable, bool>)                                 \
  E(LoadedExecutable_Execute, ExecuteArgs)                                                         \
  E(Executable_DeserializeAndLoad, DeserializeArgs)                                                \
  E(LoadedExecutable_Fingerprint, TextArgs<LoadedExecutable>)                                      \
  E(Buffer_Destroy, ObjectArgs<Buffer>)                                                            \
  E(Buffer_ElementType, ValueArgs<Buffer, ElementType>)                                            \
  E(Buffer_Dimensions, ListArgs<Buffer, const std::int64_t>)                                       \
  E(Buffer_UnpaddedDimensions, ListArgs<Buffer, const std::int64_t>)                               \
  E(Buffer_DynamicDimensionIndices, ListArgs<Buffer, const std::size_t>)                           \
  E(Buffer_GetMemoryLayout, ValueArgs<Buffer, Layout>)                                             \
  E(Buffer_OnDeviceSizeInBytes, ValueArgs<Buffer, std::size_t>)                                    \
  E(Buffer_Device, ValueArgs<Buffer, Device*>)                                                     \
  E(Buffer_Memory, ValueArgs<Buffer, Memory*>)                                                     \
  E(Buffer_Delete, ObjectArgs<Buffer>)                                                             \
  E(Buffer_IsDeleted, ValueArgs<Buffer, bool>)                                                     \
  E(Buffer_CopyToDevice, CopyArgs<Device>)                                                         \
  E(Buffer_ToHostBuffer, ToHostArgs)                                                               \
  E(Buffer_IsOnCpu, ValueArgs<Buffer, bool>)                                                       \
  E(Buffer_ReadyEvent, ValueArgs<Buffer, Event*>)                                                  \
  E(Buffer_UnsafePointer, ValueArgs<Buffer, std::uintptr_t>)                                       \
  E(Buffer_IncreaseExternalReferenceCount, ObjectArgs<Buffer>)                                     \
  E(Buffer_DecreaseExternalReferenceCount, ObjectArgs<Buffer>)                                     \
  E(Buffer_OpaqueDeviceMemoryDataPointer, ValueArgs<Buffer, void*>)                                \
  E(CopyToDeviceStream_Destroy, ObjectArgs<CopyToDeviceStream>)                                    \
  E(CopyToDeviceStream_AddChunk, AddChunkArgs)                                                     \
  E(CopyToDeviceStream_TotalBytes, ValueArgs<CopyToDeviceStream, std::int64_t>)                    \
  E(CopyToDeviceStream_GranuleSize, ValueArgs<CopyToDeviceStream, std::int64_t>)                   \
  E(CopyToDeviceStream_CurrentBytes, ValueArgs<CopyToDeviceStream, std::int64_t>)                  \
  E(TopologyDescription_Create, TopologyCreateArgs)                                                \
  E(TopologyDescription_Destroy, ObjectArgs<Topology>)                                             \
  E(TopologyDescription_PlatformName, TextArgs<const Topology>)                                    \
  E(TopologyDescription_PlatformVersion, TextArgs<Topology>)                                       \
  E(TopologyDescription_GetDeviceDescriptions, ListArgs<const Topology, DeviceDescription* const>) \
  E(TopologyDescription_Serialize, BytesArgs<Topology>)                                            \
  E(TopologyDescription_Attributes, ListArgs<Topology, const NamedValue>)                          \
  E(Compile, CompileForTopologyArgs)                                                               \
  E(Executable_OutputElementTypes, ListArgs<Executable, ElementType>)                              \
  E(Executable_OutputDimensions, TwoListsArgs<Executable, const std::int64_t, const std::size_t>)  \
  E(Buffer_CopyToMemory, CopyArgs<Memory>)                                                         \
  E(Client_CreateViewOfDeviceBuffer, ViewOfDeviceArgs)                                             \
  E(Executable_Fingerprint, TextArgs<Executable>)                                                  \
  E(Client_TopologyDescription, ValueArgs<Client, Topology*>)                                      \
  E(Executable_GetCompiledMemoryStats, CompiledMemoryArgs)                                         \
  E(Memory_Kind_Id, ValueArgs<Memory, int>)                                                        \
  E(ExecuteContext_Create, MadeArgs<ExecuteContext>)                                               \
  E(ExecuteContext_Destroy, ObjectArgs<ExecuteContext>)                                            \
  E(Buffer_CopyRawToHost, RawToHostArgs)                                                           \
  E(AsyncHostToDeviceTransferManager_Destroy, ObjectArgs<TransferManager>)                         \
  E(AsyncHostToDeviceTransferManager_TransferData, TransferDataArgs)                               \
  E(Client_CreateBuffersForAsyncHostToDevice, AsyncBuffersArgs)                                    \
  E(AsyncHostToDeviceTransferManager_RetrieveBuffer, RetrieveBufferArgs)                           \
  E(AsyncHostToDeviceTransferManager_Device, ValueArgs<TransferManager, Device*>)                  \
  E(AsyncHostToDeviceTransferManager_BufferCount, ValueArgs<TransferManager, std::size_t>)         \
  E(AsyncHostToDeviceTransferManager_BufferSize, TransferSizeArgs)                                 \
  E(AsyncHostToDeviceTransferManager_SetBufferError, TransferErrorArgs)                            \
  E(AsyncHostToDeviceTransferManager_AddMetadata, ListArgs<TransferManager, const NamedValue>)     \
  E(Client_DmaMap, DmaMapArgs)                                                                     \
  E(Client_DmaUnmap, ValueArgs<Client, void*>)                                                     \
  E(Client_CreateUninitializedBuffer, UninitializedArgs)                                           \
  E(Client_UpdateGlobalProcessInfo, ListArgs<Client, ProcessInfo>)                                 \
  E(TopologyDescription_Deserialize, TopologyDeserializeArgs)                                      \
  E(Client_CreateAliasBuffer, AliasBufferArgs)                                                     \
  E(Client_FulfillAliasBuffer, FulfillAliasArgs)                                                   \
  E(LoadedExecutable_GetDeviceAssignment, BytesArgs<LoadedExecutable>)                             \
  E(Client_CreateErrorBuffer, ErrorBufferArgs)                                                     \
  E(AsyncHostToDeviceTransferManager_TransferLiteral, TransferLiteralArgs)                         \
  E(Buffer_CopyRawToHostFuture, RawToHostLaterArgs)                                                \
  E(Device_PoisonExecution, PoisonArgs)                                                            \
  E(Device_CreateAsyncTrackingEvent, TrackingEventArgs)                                            \
  E(AsyncTrackingEvent_Destroy, ObjectArgs<AsyncTrackingEvent>)                                    \
  E(Executable_GetCompileOptions, BytesArgs<Executable>)                                           \
  E(Buffer_DonateWithControlDependency, DonateLaterArgs)                                           \
  E(Event_Create, MadeArgs<Event>)                                                                 \
  E(Event_Set, EventSetArgs)                                                                       \
  E(Device_GetAttributes, DeviceAttributesArgs)
// clang-format on

namespace weft::pjrt {

struct Api {
  Head head;
  Version version;
  void (*Error_Destroy)(ObjectArgs<Error>*);
  void (*Error_Message)(TextArgs<const Error>*);
#define WEFT_PJRT_MEMBER(name, ...) Error* (*name)(__VA_ARGS__*);
  WEFT_PJRT_ENTRIES(WEFT_PJRT_MEMBER)
#undef WEFT_PJRT_MEMBER
};

struct LayoutsExtension {
  Extension base;
  Error* (*MemoryLayout_Destroy)(ObjectArgs<MemoryLayout>*);
  Error* (*MemoryLayout_Serialize)(BytesArgs<MemoryLayout>*);
  Error* (*Client_GetDefaultLayout)(DefaultLayoutArgs<Client>*);
  Error* (*Buffer_MemoryLayout)(ValueArgs<Buffer, MemoryLayout*>*);
  Error* (*Topology_GetDefaultLayout)(DefaultLayoutArgs<Topology>*);
  Error* (*Executable_GetOutputLayouts)(CountedArgs<Executable, MemoryLayout*>*);
  Error* (*Executable_GetParameterLayouts)(CountedArgs<Executable, MemoryLayout*>*);
};

/// Serialised xla.OpSharding messages: a list of them, and of their sizes; null for what is not sharded.
using ShardingsArgs = TwoListsArgs<Executable, const char* const, const std::size_t>;
struct ShardingsExtension {
  Extension base;
  Error* (*Executable_ParameterShardings)(ShardingsArgs*);
  Error* (*Executable_OutputShardings)(ShardingsArgs*);
};

namespace calls {
#define WEFT_PJRT_DECLARE(name, ...) void name(__VA_ARGS__& a);
WEFT_PJRT_ENTRIES(WEFT_PJRT_DECLARE)
#undef WEFT_PJRT_DECLARE
void MemoryLayout_Destroy(ObjectArgs<MemoryLayout>& a);
void MemoryLayout_Serialize(BytesArgs<MemoryLayout>& a);
void Client_GetDefaultLayout(DefaultLayoutArgs<Client>& a);
void Buffer_MemoryLayout(ValueArgs<Buffer, MemoryLayout*>& a);
void Topology_GetDefaultLayout(DefaultLayoutArgs<Topology>& a);
void Executable_GetOutputLayouts(CountedArgs<Executable, MemoryLayout*>& a);
void Executable_GetParameterLayouts(CountedArgs<Executable, MemoryLayout*>& a);
void Executable_ParameterShardings(ShardingsArgs& a);
void Executable_OutputShardings(ShardingsArgs& a);
}  // namespace calls

/// The table, made once.
const Api* api();

}  // namespace weft::pjrt
