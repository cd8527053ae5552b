"""DLPack of arrays on the platform weft, which JAX has for its own platforms only.

An array on the host is given away as NumPy gives its arrays, where it lies: while somebody holds it, its memory is given to no result. What comes
from outside is taken where it lies too, or on JAX's own CPU platform where that is there as well.
"""
import ctypes

import numpy as np


def _on_weft(x):
    return x.platform() == "weft" and len(x.sharding.device_set) == 1


def _writable(x):
    """The array's elements as an array of NumPy's that DLPack may give away: it knows none that are read-only."""
    seen = np.asarray(x)
    if seen.size == 0:
        return np.empty(seen.shape, seen.dtype)
    memory = (ctypes.c_char * seen.nbytes).from_address(seen.ctypes.data)
    memory.array = seen  # who has the elements has the array
    return np.ndarray(seen.shape, seen.dtype, buffer=memory, strides=seen.strides)


def register():
    from jax._src import array, dlpack, xla_bridge

    device_of, to_dlpack, from_dlpack = array.ArrayImpl.__dlpack_device__, dlpack._to_dlpack, dlpack._DL_DEVICE_TO_PLATFORM
    host = dlpack.DLDeviceType.kDLCPU

    def __dlpack_device__(self):
        return (host, 0) if _on_weft(self) else device_of(self)

    def _to_dlpack(x, stream, src_device=None, device=None, copy=None):
        if not _on_weft(x) or (device is not None and device.platform != "weft"):
            return to_dlpack(x, stream, src_device, device, copy)
        return (np.array(x) if copy else _writable(x)).__dlpack__()

    class Platforms(dict):
        """The platform of each kind of device: the host's is weft where JAX's own CPU platform isn't there."""

        def __getitem__(self, kind):
            name = super().__getitem__(kind)
            return "weft" if kind == host and "cpu" not in xla_bridge.backends() and "weft" in xla_bridge.backends() else name

    array.ArrayImpl.__dlpack_device__ = __dlpack_device__
    dlpack._to_dlpack = _to_dlpack
    dlpack._DL_DEVICE_TO_PLATFORM = Platforms(from_dlpack)
