// The C interface between a framework and its devices, PJRT, as weft's plugin offers it: version 0.93, the extensions for layouts and
// shardings. Structures, constants and their order are those of openxla's pjrt_c_api.h; names are our own where they are not seen from
// outside. Where that header is installed, tests/pjrt/header.cpp holds these declarations against it.
//
// Every call takes one structure: a head, what goes in, and what comes out. Many have the same form, so they share a template.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::pjrt {

inline constexpr int kMajorVersion = 0, kMinorVersion = 93;

/// A part of the interface beyond its table: a list, each with a number that says what it is.
struct Extension {
  std::size_t struct_size;
  int type;
  Extension* next;
};
inline constexpr int kLayoutsExtension = 4, kShardingsExtension = 19;

/// What begins every structure: its size as the caller knows it.
struct Head {
  std::size_t struct_size;
  Extension* extensions;
};

/// The codes of absl::Status.
enum class Code : int {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  not_supported = 12,  // UNIMPLEMENTED
  internal = 13,
  unavailable = 14,
};

/// The type of a buffer's elements, in the interface's order.
enum class ElementType : int {
  invalid,
  pred,
  s8,
  s16,
  s32,
  s64,
  u8,
  u16,
  u32,
  u64,
  f16,
  f32,
  f64,
  bf16,
  c64,
  c128,
  f8e5m2,
  f8e4m3fn,
  f8e4m3b11fnuz,
  f8e5m2fnuz,
  f8e4m3fnuz,
  s4,
  u4,
  token,
  s2,
  u2,
  f8e4m3,
  f8e3m4,
  f8e8m0fnu,
  f4e2m1fn,
};

/// What may be done with a host's memory that a buffer is made from.
enum class HostSemantics : int { only_during_call, until_transfer_completes, immutable_zero_copy, mutable_zero_copy };

struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Topology;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct ExecuteContext;
struct TransferManager;
struct AsyncTrackingEvent;
struct CopyToDeviceStream;
struct FulfillAliasCallback;
struct MemoryLayout;

/// A value with a name.
struct NamedValue {
  enum class Type : int { string, int64, int64_list, real, boolean };
  Head head;
  const char* name;
  std::size_t name_size;
  Type type;
  union {
    const char* string;
    std::int64_t int64;
    const std::int64_t* int64_list;
    float real;
    bool boolean;
  };
  std::size_t value_size;  ///< of a string or a list; else 1
};

/// Dimensions from the one whose elements are next to each other to the one whose are furthest apart.
struct TiledLayout {
  Head head;
  const std::int64_t* minor_to_major;
  std::size_t minor_to_major_size;
  const std::int64_t* tile_dims;
  const std::size_t* tile_dim_sizes;
  std::size_t num_tiles;
};
struct StridesLayout {
  Head head;
  const std::int64_t* byte_strides;
  std::size_t num_byte_strides;
};
struct Layout {
  enum class Type : int { tiled, strides };
  Head head;
  union {
    TiledLayout tiled;
    StridesLayout strides;
  };
  Type type;
};

struct ProgramText {
  Head head;
  char* code;
  std::size_t code_size;
  const char* format;
  std::size_t format_size;
};

struct ShapeSpec {
  Head head;
  const std::int64_t* dims;
  std::size_t num_dims;
  ElementType type;
};

// Forms that many calls have.

struct NoArgs {
  Head head;
};
template <class T>
struct ObjectArgs {
  Head head;
  T* object;
};
/// One value of an object, or one that is set.
template <class T, class Value>
struct ValueArgs {
  Head head;
  T* object;
  Value value;
};
template <class T>
struct TextArgs {
  Head head;
  T* object;
  const char* text;
  std::size_t size;
};
template <class T, class Item>
struct ListArgs {
  Head head;
  T* object;
  Item* list;
  std::size_t size;
};
template <class T, class Item>
struct CountedArgs {
  Head head;
  T* object;
  std::size_t size;
  Item* list;
};
template <class T, class First, class Second>
struct TwoListsArgs {
  Head head;
  T* object;
  std::size_t size;
  First* first;
  Second* second;
};
/// Bytes that `owner` holds, until they are given back by `release(owner)`.
template <class T>
struct BytesArgs {
  Head head;
  T* object;
  const char* bytes;
  std::size_t size;
  void* owner;
  void (*release)(void* owner);
};
/// The object that a call makes.
template <class T>
struct MadeArgs {
  Head head;
  T* made;
};

// Calls of a form of their own.

struct EventOnReadyArgs {
  Head head;
  Event* event;
  void (*callback)(Error* error, void* user);
  void* user;
};
struct EventSetArgs {
  Head head;
  Event* event;
  Code code;
  const char* message;
  std::size_t message_size;
};
struct ClientCreateArgs {
  Head head;
  const NamedValue* options;
  std::size_t num_options;
  void* kv_get;
  void* kv_get_user;
  void* kv_put;
  void* kv_put_user;
  Client* client;
  void* kv_try_get;
  void* kv_try_get_user;
};
struct LookupDeviceArgs {
  Head head;
  Client* client;
  int id;
  Device* device;
};
struct CompileArgs {
  Head head;
  Client* client;
  const ProgramText* program;
  const char* options;
  std::size_t options_size;
  LoadedExecutable* executable;
};
struct CompileForTopologyArgs {
  Head head;
  const Topology* topology;
  const ProgramText* program;
  const char* options;
  std::size_t options_size;
  Client* client;
  Executable* executable;
};
struct DefaultAssignmentArgs {
  Head head;
  Client* client;
  int num_replicas;
  int num_partitions;
  std::size_t size;
  int* assignment;
};
struct ProcessInfo {
  std::size_t struct_size;
  int task_id;
  std::uint64_t incarnation_id;
  int state;
  int error_code;
  const char* error_message;
  std::size_t error_message_size;
};
struct DmaMapArgs {
  Head head;
  Client* client;
  void* data;
  std::size_t size;
};
struct FromHostArgs {
  Head head;
  Client* client;
  const void* data;
  ElementType type;
  const std::int64_t* dims;
  std::size_t num_dims;
  const std::int64_t* byte_strides;
  std::size_t num_byte_strides;
  HostSemantics semantics;
  Device* device;
  Memory* memory;
  Layout* device_layout;
  Event* done_with_host;
  Buffer* buffer;
};
struct ViewOfDeviceArgs {
  Head head;
  Client* client;
  void* data;
  const std::int64_t* dims;
  std::size_t num_dims;
  ElementType type;
  Layout* layout;
  Device* device;
  void (*on_delete)(void* data, void* user);
  void* on_delete_user;
  std::intptr_t stream;
  Buffer* buffer;
  Memory* memory;
};
struct UninitializedArgs {
  Head head;
  Client* client;
  const std::int64_t* dims;
  std::size_t num_dims;
  ElementType type;
  Layout* layout;
  Device* device;
  Memory* memory;
  Buffer* buffer;
};
struct ErrorBufferArgs {
  Head head;
  Client* client;
  Code code;
  const char* message;
  std::size_t message_size;
  const std::int64_t* dims;
  std::size_t num_dims;
  ElementType type;
  Layout* layout;
  Memory* memory;
  Buffer* buffer;
};
struct AliasBufferArgs {
  Head head;
  Client* client;
  Memory* memory;
  const std::int64_t* dims;
  std::size_t num_dims;
  ElementType type;
  Layout* layout;
  Buffer* buffer;
  FulfillAliasCallback* callback;
};
struct FulfillAliasArgs {
  Head head;
  Client* client;
  Buffer* buffer;
  Code code;
  const char* message;
  std::size_t message_size;
  FulfillAliasCallback* callback;
};
struct AsyncBuffersArgs {
  Head head;
  Client* client;
  ShapeSpec* shapes;
  std::size_t num_shapes;
  Layout** layouts;
  std::size_t num_layouts;
  Memory* memory;
  TransferManager* manager;
};
struct TransferDataArgs {
  Head head;
  TransferManager* manager;
  int index;
  const void* data;
  std::int64_t offset;
  std::int64_t size;
  bool is_last;
  Event* done;
};
struct TransferLiteralArgs {
  Head head;
  TransferManager* manager;
  int index;
  const void* data;
  const std::int64_t* dims;
  std::size_t num_dims;
  ElementType type;
  Layout* layout;
  Event* done;
};
struct RetrieveBufferArgs {
  Head head;
  TransferManager* manager;
  int index;
  Buffer* buffer;
};
struct TransferSizeArgs {
  Head head;
  TransferManager* manager;
  int index;
  std::size_t size;
};
struct TransferErrorArgs {
  Head head;
  TransferManager* manager;
  int index;
  Code code;
  const char* message;
  std::size_t message_size;
};
struct MemoryStatsArgs {
  Head head;
  Device* device;
  std::int64_t bytes_in_use;
  /// A number that not every device knows.
  struct Known {
    std::int64_t value;
    bool is_set;
  };
  Known peak_bytes_in_use, num_allocs, largest_alloc_size, bytes_limit, bytes_reserved, peak_bytes_reserved, bytes_reservable_limit,
      largest_free_block_bytes, pool_bytes, peak_pool_bytes;
};
struct PoisonArgs {
  Head head;
  Device* device;
  std::int32_t launch_id;
  Code code;
  const char* message;
  std::size_t message_size;
  bool poisoned;
};
struct TrackingEventArgs {
  Head head;
  Device* device;
  const char* description;
  std::size_t description_size;
  AsyncTrackingEvent* event;
};
struct ExecuteOptions {
  Head head;
  void* send_callbacks;
  void* recv_callbacks;
  std::size_t num_sends;
  std::size_t num_recvs;
  int launch_id;
  const std::int64_t* not_donated;
  std::size_t num_not_donated;
  ExecuteContext* context;
  const char* call_location;
  std::size_t num_tasks;
  int* task_ids;
  std::int64_t* incarnation_ids;
};
struct ExecuteArgs {
  Head head;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* arguments;  ///< by device and argument
  std::size_t num_devices;
  std::size_t num_args;
  Buffer** const* outputs;  ///< by device and result; the caller's memory
  Event** complete;         ///< one for each device, or null
  Device* device;
};
struct DeserializeArgs {
  Head head;
  Client* client;
  const char* bytes;
  std::size_t size;
  LoadedExecutable* executable;
  const char* options;
  std::size_t options_size;
};
struct CompiledMemoryArgs {
  Head head;
  Executable* executable;
  struct Sizes {
    std::int64_t code, arguments, outputs, aliases, temporaries;
  };
  Sizes device, host;
  std::int64_t peak, total;
};
struct ToHostArgs {
  Head head;
  Buffer* buffer;
  Layout* layout;
  void* out;
  std::size_t size;
  Event* event;
};
struct RawToHostArgs {
  Head head;
  Buffer* buffer;
  void* out;
  std::int64_t offset;
  std::int64_t size;
  Event* event;
};
struct RawToHostLaterCallbackArgs {
  std::size_t struct_size;
  void* data;
  Code code;
  const char* message;
  std::size_t message_size;
  void* out;
};
struct RawToHostLaterArgs {
  Head head;
  Buffer* buffer;
  std::int64_t offset;
  std::int64_t size;
  Event* event;
  void* data;
  void (*ready)(RawToHostLaterCallbackArgs* args);
};
struct DonateLaterCallbackArgs {
  std::size_t struct_size;
  void* data;
  Code code;
  const char* message;
  std::size_t message_size;
};
struct DonateLaterArgs {
  Head head;
  Buffer* buffer;
  void* data;
  void (*ready)(DonateLaterCallbackArgs* args);
  Buffer* donated;
};
struct AddChunkArgs {
  Head head;
  CopyToDeviceStream* stream;
  void* chunk;
  Event* complete;
};
struct TopologyCreateArgs {
  Head head;
  const char* name;
  std::size_t name_size;
  const NamedValue* options;
  std::size_t num_options;
  Topology* topology;
};
struct TopologyDeserializeArgs {
  Head head;
  const char* bytes;
  std::size_t size;
  Topology* topology;
};

struct Version {
  Head head;
  int major, minor;
};

template <class To>
struct CopyArgs {
  Head head;
  Buffer* buffer;
  To* to;
  Buffer* copy;
};
template <class T>
struct DefaultLayoutArgs {
  Head head;
  T* object;
  ElementType type;
  const std::int64_t* dims;
  std::size_t num_dims;
  MemoryLayout* layout;
};
/// What `owner` holds, until it is given back by `release(owner)`.
struct DeviceAttributesArgs {
  Head head;
  Device* object;
  const NamedValue* list;
  std::size_t size;
  void* owner;
  void (*release)(void* owner);
};
struct PluginAttributesArgs {
  Head head;
  const NamedValue* list;
  std::size_t size;
};

}  // namespace weft::pjrt
