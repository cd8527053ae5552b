#!/usr/bin/env python3
"""The programs of this folder in Python. `twins.py --write` puts their inputs, and the results that JAX 0.10 gives, into values.npz, which the
tests read; `twins.py --check` compares the results with those that are there."""

import os, pathlib, sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, jax.numpy as jnp, numpy as np
import jax_algebra, jax_arrays, jax_maps, jax_numpy, jax_science, jax_transforms

modules = (jax_transforms, jax_arrays, jax_algebra, jax_maps, jax_numpy, jax_science)


def values():
    """What values.npz holds: `program.in0`, ..., `program.out0`, ...; bfloat16 as its bits."""
    all = {}
    for module, name, given in ((m, n, g) for m in modules for n, g in m.inputs.items()):
        results = [np.asarray(r) for r in jax.tree.leaves(getattr(module, name)(*[jnp.asarray(x) for x in given]))]
        for kind, arrays in (("in", [np.asarray(x) for x in given]), ("out", results)):
            for k, x in enumerate(arrays):
                narrow = x.dtype == jnp.bfloat16
                all[f"{name}.{kind}{k}" + (".bf16" if narrow else "")] = x.view(np.uint16) if narrow else x
    return all


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("values.npz")
    if sys.argv[1:] == ["--write"]:
        np.savez(path, **values())
    elif sys.argv[1:] == ["--check"]:
        stored = np.load(path)
        wrong = [k for k, x in values().items() if k not in stored or not np.array_equal(stored[k], x, equal_nan=x.dtype.kind in "fc")]
        print("\n".join(wrong) or "the stored results are those of this JAX")
        sys.exit(bool(wrong))
    else:
        sys.exit(__doc__)
