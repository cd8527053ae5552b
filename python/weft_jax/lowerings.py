"""Lowerings on the platform weft of what JAX has no rule for on platforms that it doesn't know, or one that takes longer.

Factorisations become the custom calls by which JAX names LAPACK's routines on the CPU (lapack_ssyevd_ffi, ...). weft reads these as operations of
its own (frontends/stablehlo/import/lapack.cpp), which its transforms and devices know, or has the host compute them (lapack_host.cpp).
"""
import logging

#: Primitives that are lowered as on the CPU.
AS_ON_CPU = ("eig", "eigh", "geqp3", "geqrf", "hessenberg", "householder_product", "lu", "schur", "svd", "tridiagonal")


def register():
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
    # Donated arguments' memory is taken for results.
    if "weft" not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append("weft")
