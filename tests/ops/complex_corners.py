"""Writes complex_corners.txt: functions of complex numbers at zeros, ones, infinities and NaN, where JAX and NumPy agree.

Each line is a function and its results at 49 points: real parts 0 -0 1 -1 inf -inf nan, for each the same imaginary parts.
`-`: they do not agree; `0`: a zero with either sign; `+0`, `-0`: they agree about its sign, too.
"""

import math
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")

PARTS = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
POINTS = np.array([complex(a, b) for a in PARTS for b in PARTS])
FUNCTIONS = {
    "exp": (jnp.exp, np.exp), "exp2": (jnp.exp2, np.exp2), "expm1": (jnp.expm1, np.expm1), "log": (jnp.log, np.log),
    "log1p": (jnp.log1p, np.log1p), "sqrt": (jnp.sqrt, np.sqrt), "rsqrt": (jax.lax.rsqrt, lambda z: 1 / np.sqrt(z)),
    "square": (jnp.square, np.square), "abs": (jnp.abs, np.abs),
    "sin": (jnp.sin, np.sin), "cos": (jnp.cos, np.cos), "tan": (jnp.tan, np.tan), "sinh": (jnp.sinh, np.sinh),
    "cosh": (jnp.cosh, np.cosh), "tanh": (jnp.tanh, np.tanh), "asin": (jnp.arcsin, np.arcsin), "acos": (jnp.arccos, np.arccos),
    "atan": (jnp.arctan, np.arctan), "asinh": (jnp.arcsinh, np.arcsinh), "acosh": (jnp.arccosh, np.arccosh),
    "atanh": (jnp.arctanh, np.arctanh),
}


def token(a, b, any_zero):
    if math.isnan(a) and math.isnan(b):
        return "nan"
    if not (a == b or abs(a - b) <= 1e-14 * max(1, abs(b))):
        return None
    if b != 0:
        return f"{b:.17g}"
    return "0" if any_zero or math.copysign(1, a) != math.copysign(1, b) else "-0" if math.copysign(1, b) < 0 else "+0"


lines = []
for name, (of_jax, of_numpy) in FUNCTIONS.items():
    results = [name]
    for x, y in zip(np.asarray(jax.jit(of_jax)(POINTS)), of_numpy(POINTS)):
        # The sign of a zero is nobody's promise beside a NaN and in a quotient of infinities.
        any_zero = bool(np.isnan(y)) or name == "rsqrt"
        parts = [token(float(x.real), float(y.real), any_zero), token(float(x.imag), float(y.imag), any_zero)]
        results.append("-" if None in parts else ",".join(parts))
    lines.append(" ".join(results) + "\n")
pathlib.Path(__file__).with_suffix(".txt").write_text("".join(lines))
