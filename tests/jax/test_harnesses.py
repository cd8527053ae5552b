"""Calls of JAX's primitives with many shapes, element types and parameters, on the platform weft beside the platform cpu. The calls are those that
JAX's own package holds for tests of its exports. Run by scripts/test-jax with JAX_PLATFORMS=weft,cpu; WEFT_SAMPLE says how many of them.
"""
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.internal_test_util import test_harnesses

jax.config.update("jax_enable_x64", True)

#: What the operands don't determine wholly (signs, phases, the order of columns, a triangle): test_weft multiplies such factors.
FREE = ("eig", "eigh", "svd", "schur", "hessenberg", "tridiagonal", "qr", "geqrf", "geqp3", "householder_product", "cholesky")
#: Numbers, and the order of equal elements, that each platform chooses by its own algorithm.
OWN = ("rng_uniform", "approx_top_k")
TOLERANCE = {"bfloat16": 3e-2, "float16": 1e-2, "float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}

# JAX's tests of exports leave out those with enable_xla, too, which are variants for its converter to TensorFlow.
harnesses = {h.fullname: h for h in test_harnesses.all_harnesses
             if h.filter("cpu") and h.group_name not in FREE + OWN and "isstable_False" not in h.name and not h.params.get("enable_xla", False)}


def compare(weft, cpu):
    assert weft.dtype == cpu.dtype and weft.shape == cpu.shape
    if weft.dtype == jax.dtypes.float0 or jnp.issubdtype(weft.dtype, jax.dtypes.prng_key):
        return
    tolerance = TOLERANCE.get(weft.dtype.name)
    a, b = np.asarray(weft), np.asarray(cpu)
    if tolerance is None:
        np.testing.assert_array_equal(a, b)
    else:
        wide = np.complex128 if np.iscomplexobj(a) else np.float64
        np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", harnesses)
def test_as_on_cpu(name):
    harness = harnesses[name]
    arguments = harness.dyn_args_maker(np.random.RandomState(zlib.crc32(name.encode())))
    results = []
    for platform in "weft", "cpu":
        device = jax.devices(platform)[0]
        with jax.default_device(device):
            results.append(jax.jit(harness.dyn_fun)(*jax.device_put(arguments, device)))
    jax.tree.map(compare, *results)
