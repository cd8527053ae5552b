"""buffer_callback on the platform weft: a Python function that reads a program's arrays and writes its results where they lie."""
import numpy as np

from weft_jax import callbacks


class Buffer:
    """One array of the program, as jax.experimental.buffer_callback.Buffer: NumPy and DLPack see its memory, while the function runs."""

    def __init__(self, array, writeable):
        self._array, self.writeable = array, writeable
        if not writeable:
            array.flags.writeable = False

    shape = property(lambda self: self._array.shape)
    ndim = property(lambda self: self._array.ndim)
    dtype = property(lambda self: self._array.dtype)

    def __array__(self, dtype=None, copy=None):
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"a buffer of {self.dtype} is an array of {np.dtype(dtype)} only as a copy")
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Context:
    """What the function is told of the program that runs it, as jax.experimental.buffer_callback.ExecutionContext."""

    def __init__(self, stage):
        self.stage = stage

    @property
    def stream(self):
        from jax import errors

        raise errors.JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available: the function runs on the host")


class BufferFunction(callbacks.HostFunction):
    """A function of a context, of buffers to be written, and of buffers to be read. `aliases`: operands that lie where results will."""

    def __init__(self, function, operands, results, aliases, context):
        super().__init__(function, operands, results)
        self.aliases, self.context = dict(aliases), context

    def call(self, operands, results):
        out = [callbacks.array_at(results[i], aval) for i, aval in enumerate(self.results)]
        given = []
        for i, aval in enumerate(self.operands):
            operand = callbacks.array_at(operands[i], aval)
            if i in self.aliases:
                out[self.aliases[i]][...] = operand
                operand = out[self.aliases[i]].view()
            given.append(Buffer(operand, False))
        self.function(self.context, [Buffer(a, True) for a in out], given)


def lowering(otherwise):
    """The rule for buffer_callback, with the platform weft as one more that it knows."""
    from jax._src import core, tree_util
    from jax._src.lib import ffi

    def rule(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases, **more):
        if tuple(ctx.module_context.platforms) != ("weft",):
            return otherwise(ctx, *operands, callback=callback, in_tree=in_tree, out_tree=out_tree, has_side_effect=has_side_effect,
                             input_output_aliases=input_output_aliases, **more)

        def function(context, out, given):
            args, named = tree_util.tree_unflatten(in_tree, given)
            if callback(context, tree_util.tree_unflatten(out_tree, out), *args, **named) is not None:
                raise ValueError("buffer_callback callback must not return any values.")

        avals = [core.physical_aval(a) for a in ctx.avals_in], [core.physical_aval(a) for a in ctx.avals_out]
        called = BufferFunction(function, *avals, input_output_aliases, Context(ffi.ExecutionStage.EXECUTE))
        return callbacks.host_call(ctx, called, operands, ctx.avals_out, has_side_effect)

    return rule
