"""What is called otherwise in JAX's versions."""
import inspect


def ir_type(ctx, aval):
    """The MLIR type of a value, in a lowering's context."""
    from jax._src.interpreters import mlir

    takes_context = len(inspect.signature(mlir.aval_to_ir_type).parameters) > 1
    return mlir.aval_to_ir_type(ctx.module_context, aval) if takes_context else mlir.aval_to_ir_type(aval)


def no_mesh():
    """What the context's mesh is where there is none."""
    from jax._src import mesh

    return getattr(mesh, "empty_concrete_mesh", None)
