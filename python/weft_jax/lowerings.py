"""Lowerings on the platform weft of what JAX has no rule for on platforms that it doesn't know, or one that takes longer.

Factorisations become the custom calls by which JAX names LAPACK's routines on the CPU (lapack_ssyevd_ffi, ...). weft reads these as operations of
its own (frontends/stablehlo/import/lapack.cpp), which its transforms and devices know, or has the host compute them (lapack_host.cpp).
"""
import functools
import logging

import numpy as np

from weft_jax import versions

#: Element types that QR is computed with; of others JAX's own rule says that it can't be.
QR_DTYPES = tuple(map(np.dtype, ("float32", "float64", "complex64", "complex128")))
#: Primitives that are lowered as on the CPU.
AS_ON_CPU = ("eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "schur", "svd", "tridiagonal")


def _qr(otherwise):
    """The rule for qr: as one custom call, where JAX writes reflections one by one and their product."""
    from jax._src import core
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir

    def rule(ctx, a, *, pivoting, full_matrices, use_magma):
        shape, dtype = ctx.avals_in[0].shape, ctx.avals_in[0].dtype
        # What is exported names only calls that JAX promises to keep.
        exports = ctx.module_context.lowering_parameters.for_export
        if pivoting or exports or not core.is_constant_shape(shape) or 0 in shape or dtype not in QR_DTYPES:
            return otherwise(ctx, a, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
        types = [versions.ir_type(ctx, aval) for aval in ctx.avals_out]
        return list(mlir.custom_call("weft.qr", result_types=types, operands=[a], backend_config={"full_matrices": ir.BoolAttr.get(full_matrices)}).results)

    return rule


def _partitioned(ctx, *values, call, **_):
    """The rule for custom_partitioning: the function, which weft's own rules partition. XLA's partitioner would ask the function's author how."""
    from jax._src import core
    from jax._src.interpreters import mlir

    return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)


def _of_modules_to_come():
    """Rules of primitives whose modules are imported when somebody uses them: they are made when JAX registers its own."""
    from jax._src.interpreters import mlir
    from jax.interpreters import mlir as public

    from weft_jax import buffers

    original = mlir.register_lowering
    # What weft's rule is made of: JAX's rule for a platform, or for all. That of spsolve calls SciPy.
    made_of = {("cpu", "spsolve"): lambda rule: rule, (None, "buffer_callback"): buffers.lowering}

    @functools.wraps(original)
    def register_lowering(prim, rule, platform=None, *args, **options):
        original(prim, rule, platform, *args, **options)
        make = made_of.get((platform, prim.name))
        if make:
            original(prim, make(rule), "weft", *args, **options)

    for kind, rules in (("cpu", mlir._platform_specific_lowerings["cpu"]), (None, mlir._lowerings)):
        for primitive, known in list(rules.items()):
            if (kind, primitive.name) in made_of:
                register_lowering(primitive, getattr(known, "rule", known), kind)
    mlir.register_lowering = public.register_lowering = register_lowering


def register():
    from jax._src import custom_partitioning
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    on_cpu = mlir._platform_specific_lowerings["cpu"]
    for name in AS_ON_CPU:
        primitive = getattr(linalg, name + "_p")
        if primitive not in on_cpu:
            logging.getLogger(__name__).warning("this JAX has no lowering of %s on the CPU", name)
            continue
        rule = on_cpu[primitive]
        mlir.register_lowering(primitive, getattr(rule, "rule", rule), platform="weft")
    of_qr = mlir._lowerings.get(linalg.qr_p)
    if of_qr is not None:
        mlir.register_lowering(linalg.qr_p, _qr(getattr(of_qr, "rule", of_qr)), platform="weft")
    mlir.register_lowering(custom_partitioning.custom_partitioning_p, _partitioned, platform="weft")
    _of_modules_to_come()
    # Donated arguments' memory is taken for results.
    if "weft" not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append("weft")
