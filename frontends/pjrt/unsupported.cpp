// Calls of the interface that weft has nothing for: each says so, by the status that frameworks expect then.
#include "weft/frontends/pjrt/entries.h"
#include "weft/frontends/pjrt/status.h"

namespace weft::pjrt::calls {

// Send and recv within programs, by which host callbacks reach some devices.
void CopyToDeviceStream_Destroy(ObjectArgs<CopyToDeviceStream>&) { not_supported("a stream to a device"); }
void CopyToDeviceStream_AddChunk(AddChunkArgs&) { not_supported("a stream to a device"); }
void CopyToDeviceStream_TotalBytes(ValueArgs<CopyToDeviceStream, std::int64_t>&) { not_supported("a stream to a device"); }
void CopyToDeviceStream_GranuleSize(ValueArgs<CopyToDeviceStream, std::int64_t>&) { not_supported("a stream to a device"); }
void CopyToDeviceStream_CurrentBytes(ValueArgs<CopyToDeviceStream, std::int64_t>&) { not_supported("a stream to a device"); }

// Memory of the host that devices read by themselves.
void Client_DmaMap(DmaMapArgs&) { not_supported("mapping the host's memory for devices"); }
void Client_DmaUnmap(ValueArgs<Client, void*>&) { not_supported("mapping the host's memory for devices"); }

// Buffers that are aliases of others that come later.
void Client_CreateAliasBuffer(AliasBufferArgs&) { not_supported("a buffer in place of one that comes later"); }
void Client_FulfillAliasBuffer(FulfillAliasArgs&) { not_supported("a buffer in place of one that comes later"); }

void Device_PoisonExecution(PoisonArgs&) { not_supported("stopping what a device runs"); }
void Device_CreateAsyncTrackingEvent(TrackingEventArgs&) { not_supported("an event that tracks a device's work"); }
void AsyncTrackingEvent_Destroy(ObjectArgs<AsyncTrackingEvent>&) { not_supported("an event that tracks a device's work"); }

}  // namespace weft::pjrt::calls
