"""Python functions that programs call while they run: pure_callback, io_callback, debug.callback, debug.print; and while they are compiled:
inspect_array_sharding.

A call becomes the custom call `weft.host_callback` or `weft.inspect_sharding`, which names the function by a number. The plugin calls `_call` with that number and the
addresses of elements; a function lives as long as the executables whose programs call it.
"""
import contextlib
import ctypes
import itertools
import json
import os
import traceback
import weakref

import numpy as np

from weft_jax import versions

#: Of this process: a program that was kept as bytes calls no other process's functions.
PROCESS = int.from_bytes(os.urandom(7), "little")

_numbers = itertools.count(1)
_functions = weakref.WeakValueDictionary()


class HostFunction:
    """A function of NumPy's arrays that returns arrays, with the types of both."""

    def __init__(self, function, operands, results):
        self.function, self.operands, self.results = function, operands, results
        self.number = next(_numbers)
        _functions[self.number] = self

    def call(self, operands, results):
        from jax._src import dtypes

        # Copies: the program goes on with its memory, whatever the function keeps.
        given = [array_at(operands[i], aval).copy() for i, aval in enumerate(self.operands)]
        out = self.function(*given)
        if len(out) != len(self.results):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(self.results)}, Actual: {len(out)}")
        for i, (value, aval) in enumerate(zip(out, self.results)):
            value = np.asarray(value)
            value = value.astype(dtypes.canonicalize_dtype(value.dtype), copy=False)
            if value.shape != aval.shape:
                raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {aval.shape}, Actual: {value.shape}")
            if value.dtype != aval.dtype:
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {aval.dtype}, Actual: {value.dtype}")
            array_at(results[i], aval)[...] = value


def array_at(address, aval):
    """The elements at an address as an array."""
    dtype = np.dtype(aval.dtype)
    size = int(np.prod(aval.shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.empty(aval.shape, dtype)
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype).reshape(aval.shape)


_Caller = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p),
                           ctypes.c_void_p, ctypes.c_size_t)


@_Caller
def _call(number, operands, results, problem, size):
    try:
        function = _functions.get(number)
        if function is None:
            raise RuntimeError(f"there is no function {number} any more")
        function.call(operands, results)
        return 0
    except BaseException:
        # The end names the exception: of a text that is too long, that is what stays.
        text = traceback.format_exc().encode()[-(size - 1):].decode(errors="ignore").encode() + b"\0"
        ctypes.memmove(problem, text, len(text))
        return 1


def host_call(ctx, function, operands, result_avals, has_side_effect, token=None):
    """Writes down the call of a HostFunction. With a token, calls keep their order; then the first result is the next token."""
    from jax._src.interpreters import mlir

    types = [versions.ir_type(ctx, a) for a in result_avals]
    return list(mlir.custom_call(
        "weft.host_callback",
        result_types=[mlir.token_type(), *types] if token else types,
        operands=[token, *operands] if token else operands,
        backend_config=_named(ctx, function),
        has_side_effect=has_side_effect).results)


def _named(ctx, function):
    """The attributes by which a call names a HostFunction, which lives as long as the program."""
    from jax._src.lib.mlir import ir

    ctx.module_context.add_keepalive(function)
    integer = ir.IntegerType.get_signless(64)
    return {"function": ir.IntegerAttr.get(integer, function.number), "process": ir.IntegerAttr.get(integer, PROCESS)}


def are_called_by(module):
    """Whether a program calls a HostFunction."""
    from jax._src.lib.mlir import ir

    found = False

    def visit(operation):
        nonlocal found
        if operation.name == "stablehlo.custom_call":
            found = ir.StringAttr(operation.attributes["call_target_name"]).value in ("weft.host_callback", "weft.inspect_sharding")
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    # Without functions that live there are no calls, and nothing to look through.
    if _functions:
        module.operation.walk(visit)
    return found


def _lowering(original):
    """JAX's function that writes down a call of Python, with the platform weft as one more that it knows."""
    from jax._src import core

    def emit_python_callback(ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect, returns_token=True,
                             partitioned=False, sharding=None):
        if tuple(ctx.module_context.platforms) != ("weft",):
            return original(ctx, callback, token, operands, operand_avals, result_avals, has_side_effect=has_side_effect,
                            returns_token=returns_token, partitioned=partitioned, sharding=sharding)
        if partitioned and result_avals:
            raise ValueError("Partitioned callback not supported with return values.")
        physical = [core.physical_aval(a) for a in operand_avals], [core.physical_aval(a) for a in result_avals]
        results = host_call(ctx, HostFunction(callback, *physical), operands, result_avals, has_side_effect, token)
        return (results[1:], results[0], None) if token else (results, token, None)

    return emit_python_callback


class _Inspection(HostFunction):
    """A function that is told, while a program is compiled, how one of its values is divided over these devices."""

    def __init__(self, function, devices, mesh):
        super().__init__(function, [], [])
        self.devices, self.mesh = devices, mesh

    def call(self, operands, results):
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        told = json.loads(ctypes.string_at(operands[0]))
        mesh = self.mesh
        if told["axes"]:
            names, sizes = zip(*told["axes"])
            mesh = Mesh(np.array([self.devices[k] for k in told["devices"]]).reshape(sizes), names)
        self.function(NamedSharding(mesh, PartitionSpec(*(tuple(axes) if len(axes) > 1 else axes[0] if axes else None for axes in told["dims"]))))


def _inspect_sharding(original):
    """The rule for inspect_array_sharding, which on its own platforms JAX has XLA's partitioner call."""
    from jax._src import sharding_impls
    from jax._src.interpreters import mlir
    from jax.sharding import Mesh

    def rule(ctx, value, *, callback):
        context = ctx.module_context.axis_context
        if isinstance(context, sharding_impls.SPMDAxisContext):
            devices = context.mesh._flat_devices_tuple
        else:
            devices = context.device_assignment
        if len(devices) == 1:
            return original(ctx, value, callback=callback)
        mesh = Mesh(np.array(devices), ("devices",))
        mlir.custom_call("weft.inspect_sharding", result_types=[], operands=[value], has_side_effect=True,
                         backend_config=_named(ctx, _Inspection(callback, devices, mesh)))
        return []

    return rule


@contextlib.contextmanager
def _as_in_a_new_thread():
    """JAX's context as a function of the host finds it: it has no mesh and no trace of the program's caller, in whose thread it runs."""
    from jax._src import core, mesh, sharding_impls

    with sharding_impls._internal_use_concrete_mesh(versions.no_mesh()), mesh.use_abstract_mesh(mesh.empty_abstract_mesh), core.eval_context():
        yield


def _without_cpu(original, name, logger):
    """JAX's function that calls Python with arrays on its CPU platform; on weft's own device where that platform isn't there."""
    from jax._src import api, config, tree_util, xla_bridge

    def call(*args, callback, **params):
        with _as_in_a_new_thread():
            if "cpu" in xla_bridge.backends():
                return original(*args, callback=callback, **params)
            device = xla_bridge.local_devices(backend="weft")[0]
            given = api.device_put(args, device)
            with config.default_device(device):
                try:
                    return tree_util.tree_map(np.asarray, callback(*given))
                except BaseException:
                    logger.exception("%s failed", name)
                    raise

    return call


def register(library):
    """Makes JAX's callbacks known on the platform weft, and tells the plugin how they are called."""
    from jax._src import callback, checkify, debugging
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as public

    plugin = ctypes.CDLL(library)
    plugin.weft_pjrt_set_host_caller.argtypes = [_Caller, ctypes.c_int64]
    plugin.weft_pjrt_set_host_caller(_call, PROCESS)
    callback.emit_python_callback = _lowering(callback.emit_python_callback)
    public.emit_python_callback = callback.emit_python_callback
    callback.pure_callback_impl = _without_cpu(callback.pure_callback_impl, "jax.pure_callback", callback.logger)
    callback.io_callback_impl = _without_cpu(callback.io_callback_impl, "jax.io_callback", callback.logger)
    of_debug = _without_cpu(debugging.debug_callback_impl, "jax.debug.callback", debugging.logger)
    debugging.debug_callback_p.def_impl(lambda *args, **params: of_debug(*args, **params) and ())
    debugging.debug_callback_impl = of_debug
    mlir.register_lowering(debugging.debug_callback_p, debugging.debug_callback_lowering, platform="weft")
    mlir.register_lowering(checkify.check_p, checkify.check_lowering_rule, platform="weft")
    mlir.register_lowering(debugging.inspect_sharding_p, _inspect_sharding(debugging._inspect_sharding_lowering_rule), platform="weft")
    if hasattr(debugging, "debug_print_p"):  # else it is a debug_callback
        mlir.register_lowering(debugging.debug_print_p, debugging.debug_print_lowering_rule, platform="weft")
