#!/usr/bin/env python3
"""Writes expressions.txt: functions by their inputs and options."""
import expressions

lines, used = [], set()


def add(cpp, python, sets, flags=""):
    if cpp not in used:
        used.add(cpp)
        lines.append("\t".join([cpp, python, sets] + ([flags] if flags else [])))


def same(names, call, sets, flags="", cpp="{}", py="jnp.{}"):
    for n in names.split():
        a, _, b = n.partition("=")
        add(cpp.format(a) + call, py.format(b or a) + call, sets, flags)


def section(title):
    lines.append(f"# {title}")


section("functions of one array")
real = "V E I B"
both = "V E I B C K"
same("exp exp2 expm1 log log1p log2 log10 sqrt cbrt sin cos tan sinh cosh tanh asinh", "(x)", both)
same("asin acos atan acosh atanh sinc square abs sign reciprocal negative positive", "(x)", both)
same("floor ceil trunc deg2rad rad2deg radians degrees fabs signbit", "(x)", real)
same("rint round", "(x)", "V E I C K")
same("isnan isfinite isinf isposinf isneginf", "(x)", "V E I B")
same("isnan isfinite isinf", "(x + 0)", "C K")
same("real imag conj angle isreal iscomplex nan_to_num", "(x)", both)
same("invert bitwise_not bitwise_count", "(x)", "I B")
same("exp2 rsqrt", "(x)", "V C", "", "{}", "lax.{}")
same("logical_not ones_like zeros_like", "(x)", "V E I B C")
same("arcsin arccos arctan arcsinh arccosh arctanh absolute conjugate", "(x)", "V C")
for f in "exp log1p sqrt sin cos tanh".split():
    add(f"{f}(x + 1) * x", f"jnp.{f}(x + 1) * x", "V I B C")
    add(f"{f}(x(slice(none, none, 2)))", f"jnp.{f}(x[::2])", "V C")
for f in "relu relu6 gelu silu swish elu celu selu leaky_relu softplus soft_sign sigmoid log_sigmoid hard_tanh hard_sigmoid hard_silu mish".split():
    sets = "V E I D N" if f not in ("silu", "swish", "sigmoid") else "V E D N"
    add(f"nn::{f}(x)", f"jax.nn.{f}(x)" if f != "selu" else "jax.nn.selu(x)", sets)
add("nn::elu(x, 0.5)", "jax.nn.elu(x, 0.5)", "V E")
add("nn::celu(x, 2.)", "jax.nn.celu(x, 2.)", "V E")
add("nn::leaky_relu(x, 0.2)", "jax.nn.leaky_relu(x, 0.2)", "V E")
for f in "erf erfc erf_inv lgamma digamma".split():
    p = {"bessel_i0e": "jax.scipy.special.i0e", "bessel_i1e": "jax.scipy.special.i1e"}.get(f, f"lax.{f}")
    add({"erf_inv": "erf_inv", "bessel_i0e": "i0e", "bessel_i1e": "i1e"}.get(f, f) + "(x)", p + "(x)", "f16v f32v f64v f16e f32e f64e")
for f in "logit ndtr entr expit".split():
    add(f"{f}(z)", f"jax.scipy.special.{f}(z)", "f32v f64v")
    add(f"{f}(x)", f"jax.scipy.special.{f}(x)", "f32e f64e")
add("modf(x).first", "jnp.modf(x)[0]", "V E")
add("modf(x).second", "jnp.modf(x)[1]", "V E", "nograd")
add("frexp(x).first", "jnp.frexp(x)[0]", "V E")
add("frexp(x).second", "jnp.frexp(x)[1]", "V E")
for d in (-1, 0, 1, 2):
    add(f"round(x, {d})", f"jnp.round(x, {d})", "V I")
for p in (-2, -1, 0, 1, 2, 3, 5):
    add(f"integer_pow(x, {p})", f"lax.integer_pow(x, {p})", "V C" if p < 0 else "V I C K")
for p in ("0", "1", "2", "3", "-1", "0.5", "2.5", "-0.5"):
    add(f"pow(x, {p})", f"jnp.power(x, {p})", "V E C" + ("" if "-" in p else " I"))
    add(f"pow(y, {p})", f"jnp.power(y, {p})", "V C")
for p in ("2", "2.5"):
    add(f"pow({p}, x)", f"jnp.power({p}, x)", "V E I C")
add("nan_to_num(x, {.nan = 1, .posinf = 2, .neginf = -2})", "jnp.nan_to_num(x, nan=1, posinf=2, neginf=-2)", "V E C K")
for a, b in (("-1", "1"), ("none", "0.5"), ("0", "none")):
    lo, hi = (v if v != "none" else "None" for v in (a, b))
    if "none" not in (a, b):
        add(f"clip(x, {a}, {b})", f"jnp.clip(x, {lo}, {hi})", "V E I")

section("functions of two arrays")
same("add subtract multiply", "(x, y)", "V E I B C K M L D N")
same("divide true_divide", "(x, y)", "V E I B C K D")
same("maximum minimum fmax fmin", "(x, y)", "V E I B C")
same("floor_divide remainder mod fmod", "(x, y)", "V E I")
same("power float_power", "(y, x)", "V C")
same("power", "(x, y)", "E")
same("atan2 arctan2 hypot copysign logaddexp logaddexp2 heaviside nextafter", "(x, y)", "V E I")
same("equal not_equal less less_equal greater greater_equal", "(x, y)", "V E I B")
same("equal not_equal", "(x, y)", "C K")
same("logical_and logical_or logical_xor", "(x, y)", "V E I B C")
same("bitwise_and bitwise_or bitwise_xor", "(x, y)", "I B")
add("gcd(x, y)", "jnp.gcd(x, y)", "I")
add("lcm(x, y)", "jnp.lcm(x, y)", "I")
add("left_shift(x, z)", "jnp.left_shift(x, z)", "I")
add("right_shift(x, z)", "jnp.right_shift(x, z)", "I")
add("isclose(x, y)", "jnp.isclose(x, y)", "V E I B C K")
add("isclose(x, y, {.rtol = 0.5, .equal_nan = true})", "jnp.isclose(x, y, rtol=0.5, equal_nan=True)", "V E")
add("array_equal(x, y)", "jnp.array_equal(x, y)", "V I B C")
add("allclose(x, x)", "jnp.allclose(x, x)", "V E I B C")
add("divmod(x, y).first", "jnp.divmod(x, y)[0]", "V E I")
add("divmod(x, y).second", "jnp.divmod(x, y)[1]", "V E I")
add("ldexp(x, array({-3, 0, 1, 2, 5, 10, -10}))", "jnp.ldexp(x, jnp.array([-3, 0, 1, 2, 5, 10, -10]))", "f32v f64v")
for f in "xlogy xlog1py".split():
    add(f"{f}(x, z)", f"jax.scipy.special.{f}(x, z)", "f32v f64v")
    add(f"{f}(x, y)", f"jax.scipy.special.{f}(x, y)", "f32e f64e")
add("rel_entr(y, z)", "jax.scipy.special.rel_entr(y, z)", "f32v f64v")
add("kl_div(y, z)", "jax.scipy.special.kl_div(y, z)", "f32v f64v")
for op in "+ - *".split():
    add(f"x {op} y", f"x {op} y", "V I C M L D N" + (" B" if op != "-" else ""))
    for c in ("2", "0.5", "-3"):
        add(f"x {op} {c}", f"x {op} {c}", "V I C B" if c != "-3" else "V C i8v i32v")
        add(f"{c} {op} x", f"{c} {op} x", "V I C B" if c != "-3" else "V C i8v i32v")
add("x / y", "x / y", "V I C M D N")
add("x / 2", "x / 2", "V I C B")
add("2 / y", "2 / y", "V I C")
add("x % y", "x % y", "V E I")
add("x % 3", "x % 3", "V I")
add("-x", "-x", "V I C M D N")
for op in "< <= > >= == !=".split():
    add(f"x {op} y", f"x {op} y", "V E I B")
    add(f"x {op} 1", f"x {op} 1", "V E I")
for op in "& | ^".split():
    add(f"x {op} y", f"x {op} y", "I B")
add("x << 1", "x << 1", "I")
add("x >> 1", "x >> 1", "I")
add("where(x > 0, x, y)", "jnp.where(x > 0, x, y)", "V E I M")
add("where(x > 0, 1, y)", "jnp.where(x > 0, 1, y)", "V I")
add("where(x > 0, x, 0.5)", "jnp.where(x > 0, x, 0.5)", "V I")
add("select({x > 1, x > 0}, {x, y}, 7)", "jnp.select([x > 1, x > 0], [x, y], 7)", "V I")
add("clip(x, z, y)", "jnp.clip(x, z, y)", "V")
add("complex(y, z)", "lax.complex(y, z)", "f32v f64v")
for d in "float16 bfloat16 float32 complex64 int32 int8 uint8 bool_".split():
    add(f"convert(x, {d})", f"x.astype(jnp.{d})", "V I B" + (" C" if d == "complex64" else ""))
add("reduce_precision(x, 5, 10)", "lax.reduce_precision(x, 5, 10)", "V E")
add("bitcast_convert(x, int32)", "lax.bitcast_convert_type(x, jnp.int32)", "f32v f32e u32v i32v")
add("population_count(x)", "lax.population_count(x)", "I")
add("clz(x)", "lax.clz(x)", "I")

section("reductions")
for f in "sum prod max min mean var std_=std any all".split():
    a, _, b = f.partition("=")
    b = b or a
    sets = "M L X T" if f in ("sum", "prod", "mean", "var", "std_=std") else "M L T"
    add(f"{a}(x)", f"jnp.{b}(x)", sets + " V E I B D")
    add(f"{a}(x, 0)", f"jnp.{b}(x, 0)", sets)
    add(f"{a}(x, -1)", f"jnp.{b}(x, -1)", sets)
    add(f"{a}(x, {{0, 1}})", f"jnp.{b}(x, (0, 1))", sets)
    add(f"{a}(x, {{.keepdims = true}})", f"jnp.{b}(x, keepdims=True)", sets)
    add(f"{a}(x, 0, {{.where = y > 0}})", f"jnp.{b}(x, 0, where=y > 0" + (", initial=0)" if b in ("max", "min") else ")"),
        "M T" if b not in ("max", "min") else "none")
add("max(x, 0, {.where = y > 0, .initial = 0.f})", "jnp.max(x, 0, where=y > 0, initial=0)", "f32m f32t")
add("min(x, 0, {.where = y > 0, .initial = 0.f})", "jnp.min(x, 0, where=y > 0, initial=0)", "f32m f32t")
add("sum(x)", "jnp.sum(x)", "N")
add("prod(x)", "jnp.prod(x)", "N")
add("mean(x)", "jnp.mean(x)", "N")
for f in "sum prod".split():
    add(f"{f}(x, none, {{.initial = 2.f}})", f"jnp.{f}(x, initial=2)", "M T")
    add(f"{f}(x, {{.dtype = float32}})", f"jnp.{f}(x, dtype=jnp.float32)", "M L I B")
for n in (1, 2):
    add(f"var(x, 0, {{.ddof = {n}}})", f"jnp.var(x, 0, ddof={n})", "M T L")
    add(f"std_(x, {{.ddof = {n}}})", f"jnp.std(x, ddof={n})", "M T L")
for f in "argmax argmin nanargmax nanargmin".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V I M L T" + (" E" if "nan" in f else " E B"))
    add(f"{f}(x, 0)", f"jnp.{f}(x, 0)", "M L T")
    add(f"{f}(x, -1, {{.keepdims = true}})", f"jnp.{f}(x, -1, keepdims=True)", "M T")
for f in "nansum nanprod nanmean nanmax nanmin nanvar nanstd".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V E I M")
    add(f"{f}(x, 0)", f"jnp.{f}(x, 0)", "M T L")
    add(f"{f}(x, 1, {{.keepdims = true}})", f"jnp.{f}(x, 1, keepdims=True)", "M T")
for f in "ptp count_nonzero median".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V I M L T" + (" B C" if f == "count_nonzero" else ""))
    add(f"{f}(x, 0)", f"jnp.{f}(x, 0)", "M L T")
    add(f"{f}(x, 0, {{.keepdims = true}})", f"jnp.{f}(x, 0, keepdims=True)", "M T")
add("average(x)", "jnp.average(x)", "V I M L T")
add("average(x, 0)", "jnp.average(x, 0)", "M L T")
add("average(x, none, {.weights = abs(y) + 1})", "jnp.average(x, weights=jnp.abs(y) + 1)", "M V")
for q in ("0.3", "0.", "1."):
    for m in "linear lower higher midpoint nearest".split():
        add(f'quantile(x, {q}, none, {{.method = "{m}"}})', f'jnp.quantile(x, {q}, method="{m}")', "f32v f64v f32m")
add("quantile(x, 0.3, 0)", "jnp.quantile(x, 0.3, 0)", "f32m f64m f32t")
add("quantile(x, array({0.1f, 0.9f}), 1)", "jnp.quantile(x, jnp.array([0.1, 0.9], jnp.float32), 1)", "f32m f32t")
add("percentile(x, 30, 0)", "jnp.percentile(x, 30, 0)", "f32m f64m f32t")
for f in "cumsum cumprod".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V I B C M L T N D")
    add(f"{f}(x, 0)", f"jnp.{f}(x, 0)", "M L T X")
    add(f"{f}(x, -1)", f"jnp.{f}(x, -1)", "M L T X")
    add(f"{f}(x, 0, {{.dtype = float32}})", f"jnp.{f}(x, 0, dtype=jnp.float32)", "L I B")
    add(f"{f}(x, 0, {{.reverse = true}})", f"lax.{f}(x, 0, reverse=True)", "M V")
for f in "cummax cummin cumlogsumexp".split():
    add(f"{f}(x)", f"lax.{f}(x)", "V E" + (" I" if "log" not in f else "") + " M T")
    add(f"{f}(x, 1)", f"lax.{f}(x, 1)", "M T")
    add(f"{f}(x, 1, {{.reverse = true}})", f"lax.{f}(x, 1, reverse=True)", "M T")
add("logsumexp(x)", "jax.nn.logsumexp(x)", "V E I M X D")
add("logsumexp(x, 0)", "jax.nn.logsumexp(x, 0)", "M T")
add("logsumexp(x, 1, {.keepdims = true})", "jax.nn.logsumexp(x, 1, keepdims=True)", "M T")
add("logsumexp(x, 1, {.where = y > 0})", "jax.nn.logsumexp(x, 1, where=y > 0)", "M T")
for f in "softmax log_softmax standardize".split():
    add(f"nn::{f}(x)", f"jax.nn.{f}(x)", "V E M T")
    add(f"nn::{f}(x, 0)", f"jax.nn.{f}(x, 0)", "M T")
    add(f"nn::{f}(x, {{0, 1}})", f"jax.nn.{f}(x, (0, 1))", "M T")
add("nn::glu(x)", "jax.nn.glu(x)", "f32m f64m bf16m f32t")
add("nn::one_hot(z, 5)", "jax.nn.one_hot(z, 5)", "I")
add("nn::one_hot(x, 5, float16)", "jax.nn.one_hot(x, 5, dtype=jnp.float16)", "i32v u8v i8v")

section("moving elements")
movers = [
    ("transpose(x)", "jnp.transpose(x)", "M L X T V"), ("ravel(x)", "jnp.ravel(x)", "M L X T D N"),
    ("flip(x)", "jnp.flip(x)", "V M T N"), ("flip(x, 0)", "jnp.flip(x, 0)", "V M T"), ("fliplr(x)", "jnp.fliplr(x)", "M T"),
    ("flipud(x)", "jnp.flipud(x)", "V M T"), ("rot90(x)", "jnp.rot90(x)", "M T"), ("rot90(x, 3)", "jnp.rot90(x, 3)", "M T"),
    ("rot90(x, -2, {1, 0})", "jnp.rot90(x, -2, (1, 0))", "M T"), ("roll(x, 2)", "jnp.roll(x, 2)", "V M T N"),
    ("roll(x, -1, 1)", "jnp.roll(x, -1, 1)", "M T"), ("roll(x, {1, 2}, {0, 1})", "jnp.roll(x, (1, 2), (0, 1))", "M T"),
    ("repeat(x, 2)", "jnp.repeat(x, 2)", "V M I"), ("repeat(x, 3, 0)", "jnp.repeat(x, 3, 0)", "V M T"),
    ("repeat(x, 2, -1)", "jnp.repeat(x, 2, -1)", "M T"), ("tile(x, 2)", "jnp.tile(x, 2)", "V M D"),
    ("tile(x, {2, 3})", "jnp.tile(x, (2, 3))", "V M D"), ("expand_dims(x, 0)", "jnp.expand_dims(x, 0)", "V M D"),
    ("expand_dims(x, {0, 2})", "jnp.expand_dims(x, (0, 2))", "V M"), ("squeeze(expand_dims(x, 1))", "jnp.squeeze(jnp.expand_dims(x, 1))", "V M"),
    ("swapaxes(x, 0, -1)", "jnp.swapaxes(x, 0, -1)", "M T"), ("moveaxis(x, 0, -1)", "jnp.moveaxis(x, 0, -1)", "M T"),
    ("rollaxis(x, 1)", "jnp.rollaxis(x, 1)", "M T"), ("matrix_transpose(x)", "jnp.matrix_transpose(x)", "M T"),
    ("atleast_1d(x)", "jnp.atleast_1d(x)", "V D M"), ("atleast_2d(x)", "jnp.atleast_2d(x)", "V D M T"), ("atleast_3d(x)", "jnp.atleast_3d(x)", "V D M T"),
    ("concatenate({x, y})", "jnp.concatenate([x, y])", "V I M T"), ("concatenate({x, y}, 1)", "jnp.concatenate([x, y], 1)", "M T"),
    ("stack({x, y})", "jnp.stack([x, y])", "V I M D"), ("stack({x, y}, -1)", "jnp.stack([x, y], -1)", "V I M D"),
    ("vstack({x, y})", "jnp.vstack([x, y])", "V M D"), ("hstack({x, y})", "jnp.hstack([x, y])", "V M D"), ("dstack({x, y})", "jnp.dstack([x, y])", "V M D"),
    ("column_stack({x, y})", "jnp.column_stack([x, y])", "V M"), ("append(x, y)", "jnp.append(x, y)", "V M"), ("append(x, y, 0)", "jnp.append(x, y, 0)", "M"),
    ("split(x, {1, 3})[1]", "jnp.split(x, [1, 3])[1]", "V M"), ("split(x, 2, 1)[0]", "jnp.split(x, 2, 1)[0]", "M"),
    ("array_split(x, 3)[0]", "jnp.array_split(x, 3)[0]", "V M"), ("array_split(x, 3)[2]", "jnp.array_split(x, 3)[2]", "V M"),
    ("hsplit(x, 2)[1]", "jnp.hsplit(x, 2)[1]", "M"), ("vsplit(x, 3)[1]", "jnp.vsplit(x, 3)[1]", "M"), ("unstack(x)[1]", "jnp.unstack(x)[1]", "V M T"),
    ("broadcast_to(x, {2, 3, 4})", "jnp.broadcast_to(x, (2, 3, 4))", "M L"), ("reshape(x, {-1, 2})", "jnp.reshape(x, (-1, 2))", "M L T"),
    ("tril(x)", "jnp.tril(x)", "M L T S"), ("triu(x, 1)", "jnp.triu(x, 1)", "M L T S"), ("tril(x, -1)", "jnp.tril(x, -1)", "M S"),
    ("diag(x)", "jnp.diag(x)", "V M"), ("diag(x, 1)", "jnp.diag(x, 1)", "V M"), ("diag(x, -1)", "jnp.diag(x, -1)", "V M"),
    ("diagonal(x)", "jnp.diagonal(x)", "M T"), ("diagonal(x, 1)", "jnp.diagonal(x, 1)", "M T"), ("diagonal(x, 0, 1, 0)", "jnp.diagonal(x, 0, 1, 0)", "M T"),
    ("trace(x)", "jnp.trace(x)", "M L T"), ("trace(x, 1)", "jnp.trace(x, 1)", "M T"),
    ("x(0)", "x[0]", "V M T"), ("x(-1)", "x[-1]", "V M T"), ("x(slice(1, none))", "x[1:]", "V M T"), ("x(slice(none, none, -1))", "x[::-1]", "V M T"),
    ("x(slice(), 1)", "x[:, 1]", "M T"), ("x(ellipsis, 0)", "x[..., 0]", "V M T"), ("x(newaxis)", "x[None]", "V M D"), ("x(array({0, 2, 2}))", "x[jnp.array([0, 2, 2])]", "V M"),
    ("x(array({-1, 0}), array({1, 2}))", "x[jnp.array([-1, 0]), jnp.array([1, 2])]", "M"), ("take(x, {2, 0})", "jnp.take(x, jnp.array([2, 0]))", "V M T"),
    ("take(x, {1, 0}, 1)", "jnp.take(x, jnp.array([1, 0]), 1)", "M T"), ('take(x, {7, 90}, {.mode = "clip"})', 'jnp.take(x, jnp.array([7, 90]), mode="clip")', "V M"),
    ('take(x, {9, -13}, {.mode = "wrap"})', 'jnp.take(x, jnp.array([9, -13]), mode="wrap")', "V M"), ("take(x, {1, 100})", "jnp.take(x, jnp.array([1, 100]))", "V"),
    ("take_along_axis(x, argsort(x, 1), 1)", "jnp.take_along_axis(x, jnp.argsort(x, 1), 1)", "M"),
    ("x.at(0).set(5)", "x.at[0].set(5)", "V M I"), ("x.at(slice(1, 3)).add(2)", "x.at[1:3].add(2)", "V M I"), ("x.at(array({0, 0, 1})).add(1)", "x.at[jnp.array([0, 0, 1])].add(1)", "V M I"),
    ("x.at(array({0, 0, 1})).multiply(2)", "x.at[jnp.array([0, 0, 1])].multiply(2)", "V M I", "nograd"), ("x.at(array({0, 2})).max(1)", "x.at[jnp.array([0, 2])].max(1)", "V M I"),
    ("x.at(array({0, 2})).min(1)", "x.at[jnp.array([0, 2])].min(1)", "V M I"), ("dynamic_slice_in_dim(x, 1, 2)", "lax.dynamic_slice_in_dim(x, 1, 2)", "V M T".replace("T", "")),
    ("pad(x, 1)", "jnp.pad(x, 1)", "V M"), ("pad(x, {1, 2})", "jnp.pad(x, (1, 2))", "V M"), ("pad(x, {{1, 0}, {0, 2}}, 3)", "jnp.pad(x, ((1, 0), (0, 2)), constant_values=3)", "M L"),
]
for c, p, s, *f in movers:
    add(c, p, s, *f)
for m in "edge reflect symmetric wrap maximum minimum mean".split():
    add(f'pad(x, {{1, 2}}, {{.mode = "{m}"}})', f'jnp.pad(x, (1, 2), mode="{m}")', "V M" + (" I" if m != "mean" else ""))

section("sorting and searching")
for c, p, s, *f in [
    ("sort(x)", "jnp.sort(x)", "V E I B M L"), ("sort(x, 0)", "jnp.sort(x, 0)", "M T"), ("sort(x, {.descending = true})", "jnp.sort(x, descending=True)", "V I M"),
    ("argsort(x)", "jnp.argsort(x)", "V E I B M"), ("argsort(x, 0)", "jnp.argsort(x, 0)", "M T"), ("argsort(x, {.descending = true})", "jnp.argsort(x, descending=True)", "V I M"),
    ("top_k(x, 2).values", "lax.top_k(x, 2)[0]", "V E I M"), ("top_k(x, 2).indices", "lax.top_k(x, 2)[1]", "V E I M"),
    ("searchsorted(sort(x), y)", "jnp.searchsorted(jnp.sort(x), y)", "V E I"), ('searchsorted(sort(x), y, {.side = "right"})', 'jnp.searchsorted(jnp.sort(x), y, side="right")', "V E I"),
    ("digitize(x, sort(y))", "jnp.digitize(x, jnp.sort(y))", "V E I"), ("digitize(x, flip(sort(y)))", "jnp.digitize(x, jnp.flip(jnp.sort(y)))", "V I"),
    ("digitize(x, flip(sort(y)), {.right = true})", "jnp.digitize(x, jnp.flip(jnp.sort(y)), right=True)", "V I"),
    ("bincount(z, {.length = 6})", "jnp.bincount(z, length=6)", "I"), ("unique(x, {.size = 4})", "jnp.unique(x, size=4)", "V I B"),
    ("isin(x, y)", "jnp.isin(x, y)", "V I B"), ("lexsort({x, y})", "jnp.lexsort((x, y))", "V I"),
    ("histogram(x, 4, {.range = {-1, 2}}).counts", "jnp.histogram(x, 4, range=(-1, 2))[0]", "f32v f64v i32v"), ("histogram(x, 3).edges", "jnp.histogram(x, 3)[1]", "f32v f64v i32v", "nograd"),
    ("histogram(x, 3, {.density = true}).counts", "jnp.histogram(x, 3, density=True)[0]", "f32v", "nograd"),
    ("nonzero(x > 0, {.size = 5})[0]", "jnp.nonzero(x > 0, size=5)[0]", "V I"), ("argwhere(x > 0, {.size = 5})", "jnp.argwhere(x > 0, size=5)", "V M"), ("flatnonzero(x > 0, {.size = 5, .fill_value = -1})", "jnp.flatnonzero(x > 0, size=5, fill_value=-1)", "V M"),
    ("segment_sum(x, array({0, 1, 0, 2, 1, 0, 4}), 4)", "jax.ops.segment_sum(x, jnp.array([0, 1, 0, 2, 1, 0, 4]), 4)", "V I"),
    ("segment_max(x, array({0, 1, 0, 2, 1, 0, 4}), 4)", "jax.ops.segment_max(x, jnp.array([0, 1, 0, 2, 1, 0, 4]), 4)", "V I"),
    ("segment_prod(x, array({0, 1, 0, 2, 1, 0, 4}), 4)", "jax.ops.segment_prod(x, jnp.array([0, 1, 0, 2, 1, 0, 4]), 4)", "V I", "nograd"),
]:
    add(c, p, s, *f)

section("products, sampled functions, polynomials")
for c, p, s in [
    ("matmul(x, z)", "jnp.matmul(x, z)", "M i32m X S H"), ("dot(x, y)", "jnp.dot(x, y)", "V I C"), ("dot(x, z)", "jnp.dot(x, z)", "M"), ("vdot(x, y)", "jnp.vdot(x, y)", "V I C M X"),
    ("inner(x, y)", "jnp.inner(x, y)", "V I C M"), ("outer(x, y)", "jnp.outer(x, y)", "V I C"), ("kron(x, y)", "jnp.kron(x, y)", "V M"), ("tensordot(x, z, 1)", "jnp.tensordot(x, z, 1)", "M"), ("tensordot(x, y, 2)", "jnp.tensordot(x, y, 2)", "M"),
    ('einsum("ij,jk->ki", x, z)', 'jnp.einsum("ij,jk->ki", x, z)', "M X"), ('einsum("ij,ij->i", x, y)', 'jnp.einsum("ij,ij->i", x, y)', "M X"), ('einsum("ij->", x)', 'jnp.einsum("ij->", x)', "M"),
    ("vecdot(x, y)", "jnp.vecdot(x, y)", "V C M X"), ("cross(x(slice(none, 3)), y(slice(none, 3)))", "jnp.cross(x[:3], y[:3])", "V I"), ("convolve(x, y(slice(none, 3)))", "jnp.convolve(x, y[:3])", "V C"),
    ('convolve(x, y(slice(none, 3)), "same")', 'jnp.convolve(x, y[:3], mode="same")', "V C"), ('correlate(x, y(slice(none, 3)), "full")', 'jnp.correlate(x, y[:3], mode="full")', "V C"),
    ("diff(x)", "jnp.diff(x)", "V I B M"), ("diff(x, 2)", "jnp.diff(x, 2)", "V I M"), ("diff(x, 1, 0)", "jnp.diff(x, 1, 0)", "M"), ("ediff1d(x)", "jnp.ediff1d(x)", "V I M"), ("gradient(x)", "jnp.gradient(x)", "V"), ("gradient(x, 0.5)", "jnp.gradient(x, 0.5)", "V"),
    ("trapezoid(x)", "jnp.trapezoid(x)", "V I M"), ("trapezoid(x, 0.5)", "jnp.trapezoid(x, dx=0.5)", "V M"), ("trapezoid(x, cumsum(y))", "jnp.trapezoid(x, jnp.cumsum(y))", "f32v f64v"), ("interp(x, cumsum(y), z)", "jnp.interp(x, jnp.cumsum(y), z)", "f32v f64v"),
    ("polyval(x, y)", "jnp.polyval(x, y)", "V I C"), ("polyfit(cumsum(y), x, 2)", "jnp.polyfit(jnp.cumsum(y), x, 2)", "f64v"), ("vander(x)", "jnp.vander(x)", "V I"), ("vander(x, 3, true)", "jnp.vander(x, 3, True)", "V I"),
    ("unwrap(4 * x)", "jnp.unwrap(4 * x)", "f32v f64v"), ("cov(x)", "jnp.cov(x)", "V M"), ("cov(x, {.rowvar = false})", "jnp.cov(x, rowvar=False)", "M"), ("corrcoef(x)", "jnp.corrcoef(x)", "f32m f64m"),
    ("nn::layer_norm(x, ones(4), zeros(4))", "(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)", "f32m f32t"),
]:
    add(c, p, s)

section("constructors")
for c, p in [
    ("arange(5)", "jnp.arange(5)"), ("arange(1, 9, 3)", "jnp.arange(1, 9, 3)"), ("arange(0.5)", "jnp.arange(0.5)"), ("arange(0, 1, 0.25)", "jnp.arange(0, 1, 0.25)"), ("arange(5, 0, -2)", "jnp.arange(5, 0, -2)"),
    ("linspace(0, 1, 5)", "jnp.linspace(0, 1, 5)"), ("linspace(2, -3, 7)", "jnp.linspace(2, -3, 7)"), ("linspace(0, 10, 4, {.endpoint = false})", "jnp.linspace(0, 10, 4, endpoint=False)"), ("logspace(0, 2, 4)", "jnp.logspace(0, 2, 4)"), ("geomspace(1, 256, 5)", "jnp.geomspace(1, 256, 5)"),
    ("eye(3)", "jnp.eye(3)"), ("eye(3, 4, 1)", "jnp.eye(3, 4, 1)"), ("eye(3, none, -1)", "jnp.eye(3, k=-1)"), ("tri(3, 4, 1)", "jnp.tri(3, 4, 1)"), ("identity(2)", "jnp.identity(2)"), ("full({2, 2}, 7)", "jnp.full((2, 2), 7)"), ("full({2}, 7.5f)", "jnp.full((2,), 7.5)"), ("indices({2, 3})", "jnp.indices((2, 3))"),
    ("hanning(6)", "jnp.hanning(6)"), ("hamming(6)", "jnp.hamming(6)"), ("blackman(6)", "jnp.blackman(6)"), ("bartlett(6)", "jnp.bartlett(6)"), ("tril_indices(3)[0]", "jnp.tril_indices(3)[0]"), ("triu_indices(3, 1)[1]", "jnp.triu_indices(3, 1)[1]"), ("diag_indices(3)[1]", "jnp.diag_indices(3)[1]"),
    ("fft::fftfreq(5)", "jnp.fft.fftfreq(5)"), ("fft::rfftfreq(6, 0.5)", "jnp.fft.rfftfreq(6, 0.5)"),
]:
    add(c, p, "D", "nograd")

section("linear algebra")
for c, p, s, *f in [
    ("linalg::norm(x)", "jnp.linalg.norm(x)", "V I C M X S"), ("linalg::norm(x, 1)", "jnp.linalg.norm(x, 1)", "V I C S"), ("linalg::norm(x, 2)", "jnp.linalg.norm(x, 2)", "f32v f64v C"), ("linalg::norm(x, 3)", "jnp.linalg.norm(x, 3)", "f32v f64v C"), ("linalg::norm(x, 0)", "jnp.linalg.norm(x, 0)", "f32v I"), ("linalg::norm(x, constants::inf)", "jnp.linalg.norm(x, jnp.inf)", "f32v f64v S I"),
    ("linalg::norm(x, -constants::inf)", "jnp.linalg.norm(x, -jnp.inf)", "f32v f64v S"), ("linalg::norm(x, -1)", "jnp.linalg.norm(x, -1)", "f32v S"), ("linalg::norm(x, 2, 0)", "jnp.linalg.norm(x, 2, 0)", "M"), ("linalg::norm(x, none, 1, true)", "jnp.linalg.norm(x, None, 1, True)", "M X"), ('linalg::norm(x, "nuc")', 'jnp.linalg.norm(x, "nuc")', "S"), ('linalg::norm(x, "fro")', 'jnp.linalg.norm(x, "fro")', "M S H"), ("linalg::norm(x, 2, {0, 1})", "jnp.linalg.norm(x, 2, (0, 1))", "S"),
    ("linalg::det(x)", "jnp.linalg.det(x)", "S H"), ("linalg::inv(x)", "jnp.linalg.inv(x)", "S H"), ("linalg::solve(x, y)", "jnp.linalg.solve(x, y)", "S H"), ("linalg::slogdet(x).sign", "jnp.linalg.slogdet(x)[0]", "S H"), ("linalg::slogdet(x).logabsdet", "jnp.linalg.slogdet(x)[1]", "S H"),
    ("linalg::cholesky(z)", "jnp.linalg.cholesky(z)", "S H"), ("linalg::cholesky(z, {.upper = true})", "jnp.linalg.cholesky(z, upper=True)", "S H"), ("linalg::cho_solve(linalg::cho_factor(z), y)", "jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(z), y)", "S H"), ("linalg::cho_factor(z, true).c", "jax.scipy.linalg.cho_factor(z, True)[0]", "S"),
    ("abs(linalg::qr(x).r)", "jnp.abs(jnp.linalg.qr(x)[1])", "S M".replace("M", "f32m")), ("linalg::eigh(z).eigenvalues", "jnp.linalg.eigh(z)[0]", "S H"), ("linalg::eigvalsh(x + transpose(x))", "jnp.linalg.eigvalsh(x + x.T)", "S"), ("sort(abs(linalg::eigvals(x)))", "jnp.sort(jnp.abs(jnp.linalg.eigvals(x)))", "S H"), ("sum(linalg::eigvals(x))", "jnp.sum(jnp.linalg.eigvals(x))", "S H", "nograd"),
    ("linalg::svdvals(x)", "jnp.linalg.svdvals(x)", "S H f32m"), ("linalg::pinv(x)", "jnp.linalg.pinv(x)", "S f32m"), ("linalg::matrix_rank(x)", "jnp.linalg.matrix_rank(x)", "S f32m"), ("linalg::cond(x)", "jnp.linalg.cond(x)", "S"), ("linalg::expm(x)", "jax.scipy.linalg.expm(x)", "S H"), ("linalg::matrix_power(x, 3)", "jnp.linalg.matrix_power(x, 3)", "S H"), ("linalg::matrix_power(x, -2)", "jnp.linalg.matrix_power(x, -2)", "S"), ("linalg::matrix_power(x, 0)", "jnp.linalg.matrix_power(x, 0)", "S", "nograd"),
    ("linalg::multi_dot({x, z, y})", "jnp.linalg.multi_dot([x, z, y])", "S"), ("linalg::trace(x)", "jnp.linalg.trace(x)", "S H f32m"), ("linalg::diagonal(x)", "jnp.linalg.diagonal(x)", "S H"), ("linalg::lstsq(x, y).x", "jnp.linalg.lstsq(x, y)[0]", "f64s"), ("linalg::lu(x).u", "jax.scipy.linalg.lu(x)[2]", "S"), ("linalg::lu(x).p", "jax.scipy.linalg.lu(x)[0]", "S"),
    ("linalg::triangular_solve(tril(z), y, {.lower = true})", "lax.linalg.triangular_solve(jnp.tril(z), y, left_side=True, lower=True)", "S H"), ("linalg::triangular_solve(z, y, {.transpose_a = true})", "lax.linalg.triangular_solve(z, y, left_side=True, transpose_a=True)", "S"),
]:
    add(c, p, s, *f)

section("Fourier transforms")
for f in "fft ifft rfft irfft hfft ihfft".split():
    s = "f32v f64v M T i32v" + (" C X" if f not in ("rfft", "ihfft") else "")
    if f in ("irfft", "hfft"):
        s = "C X f32v"
    s = s.replace("M", "f32m f64m")
    add(f"fft::{f}(x)", f"jnp.fft.{f}(x)", s)
    add(f"fft::{f}(x, 4)", f"jnp.fft.{f}(x, 4)", "f32m f64m c64v" if f not in ("rfft", "ihfft") else "f32m f64m f32v")
    add(f"fft::{f}(x, 9)", f"jnp.fft.{f}(x, 9)", "f32m c64v" if f not in ("rfft", "ihfft") else "f32m f32v")
    add(f"fft::{f}(x, none, 0)", f"jnp.fft.{f}(x, axis=0)", "f32m f64m f32t")
    for n in "ortho forward".split():
        add(f'fft::{f}(x, {{.norm = "{n}"}})', f'jnp.fft.{f}(x, norm="{n}")', "f32m f32v f64m")
    add(f'fft::{f}(x, 3, 0, "ortho")', f'jnp.fft.{f}(x, 3, 0, "ortho")', "f32m f32t")
for f in "fftn ifftn rfftn irfftn fft2 ifft2 rfft2 irfft2".split():
    add(f"fft::{f}(x)", f"jnp.fft.{f}(x)", "f32m f64m f32t" + ("" if f.startswith("r") else " X"))
    add(f"fft::{f}(x, {{2, 5}})", f"jnp.fft.{f}(x, (2, 5))", "f32m f64m")
    add(f'fft::{f}(x, none, {{0, 1}}, "ortho")', f'jnp.fft.{f}(x, None, (0, 1), "ortho")', "f32m f32t")
add("fft::fftshift(x)", "jnp.fft.fftshift(x)", "V M T")
add("fft::ifftshift(x, 0)", "jnp.fft.ifftshift(x, 0)", "V M")

section("random numbers")
k = "random::key(7)", "jax.random.key(7)"
for d in "float16 bfloat16 float32".split():
    for f in "uniform normal".split():
        add(f"random::{f}({k[0]}, {{5}}, {d})", f"jax.random.{f}({k[1]}, (5,), jnp.{d})", "D", "nograd novmap")
for f, a in [("exponential", ""), ("gumbel", ""), ("laplace", ""), ("logistic", ""), ("cauchy", ""), ("rayleigh_", ""), ("gamma", "2.5, "), ("beta", "2., 3., "), ("poisson", "4., "), ("t", "3., "), ("chisquare", "3., "), ("dirichlet_", ""), ("pareto", "3., "), ("bernoulli", "0.3, "), ("geometric", "0.3, ")]:
    if f.endswith("_"):
        continue
    add(f"random::{f}({k[0]}, {a}{{6}})", f"jax.random.{f}({k[1]}, {a}(6,))", "D", "nograd novmap")
add(f"random::randint({k[0]}, {{6}}, -3, 9)", f"jax.random.randint({k[1]}, (6,), -3, 9)", "D", "nograd novmap")
add(f"random::bits({k[0]}, {{6}})", f"jax.random.bits({k[1]}, (6,))", "D", "nograd novmap")
add(f"random::permutation({k[0]}, x)", f"jax.random.permutation({k[1]}, x)", "V M", "novmap nograd")
add(f"random::choice({k[0]}, x, {{4}})", f"jax.random.choice({k[1]}, x, (4,))", "f32v i32v", "novmap nograd")
add(f"random::categorical({k[0]}, x)", f"jax.random.categorical({k[1]}, x)", "f32v f32m", "novmap nograd")
add(f"random::truncated_normal({k[0]}, -1., 2., {{6}})", f"jax.random.truncated_normal({k[1]}, -1., 2., (6,))", "D", "nograd novmap")
add(f"random::fold_in({k[0]}, 3)", f"jax.random.key_data(jax.random.fold_in({k[1]}, 3))", "none")

section("special functions")
for f in "i0 i0e i1 i1e".split():
    add(f"{f}(4 * x)", f"jax.scipy.special.{f}(4 * x)", "f32v f64v")
    add(f"{f}(30 * x)", f"jax.scipy.special.{f}(30 * x)", "f32v f64v")
    add(f"{f}(x)", f"jax.scipy.special.{f}(x)", "i32v" if f in ("i0", "i1") else "i32v f32e f64e", "nograd")
for c in ("x", "10 * x", "20 * x"):
    add(f"log_ndtr({c})", f"jax.scipy.special.log_ndtr({c})", "f32v f64v" if c != "20 * x" else "f32v")
add("log_ndtr(x)", "jax.scipy.special.log_ndtr(x)", "f32e f64e", "nograd")
for c, p in (("z", "z"), ("sigmoid(x)", "jax.nn.sigmoid(x)"), ("exp(-6 * y)", "jnp.exp(-6 * y)")):
    add(f"ndtri({c})", f"jax.scipy.special.ndtri({p})", "f32v f64v")
add("ndtri(x)", "jax.scipy.special.ndtri(x)", "f32e f64e", "nograd")
same("gamma gammasgn", "(x)", "f32v f64v i32v f32e f64e", "nograd", "{}", "jax.scipy.special.{}")
same("gamma", "(abs(x) + 1)", "f32v f64v", "", "{}", "jax.scipy.special.{}")
same("factorial", "(abs(x))", "f32v f64v i32v", "", "{}", "jax.scipy.special.{}")
for f in "betaln beta".split():
    add(f"{f}(abs(x) + z, y)", f"jax.scipy.special.{f}(abs(x) + z, y)", "f32v f64v")
    add(f"{f}(abs(x) + z, 9 * y)", f"jax.scipy.special.{f}(abs(x) + z, 9 * y)", "f32v f64v")
add("comb(9 + x, 3 * y)", "jax.scipy.special.comb(9 + x, 3 * y)", "f32v f64v")
add("comb(9, y)", "jax.scipy.special.comb(9, y)", "i32v")
add("multigammaln(x + 5, 3)", "jax.scipy.special.multigammaln(x + 5, 3)", "f32v f64v")
add("poch(abs(x) + 1, y)", "jax.scipy.special.poch(abs(x) + 1, y)", "f32v f64v")
for f in "gammainc gammaincc".split():
    add(f"{f}(abs(x) + 1, y)", f"jax.scipy.special.{f}(abs(x) + 1, y)", "f32v f64v")
    add(f"{f}(y, 3 * abs(x))", f"jax.scipy.special.{f}(y, 3 * abs(x))", "f32v f64v")
    add(f"{f}(40 * y, 40 * z)", f"jax.scipy.special.{f}(40 * y, 40 * z)", "f32v f64v")
    add(f"{f}(y, x)", f"jax.scipy.special.{f}(y, x)", "f32e f64e", "nograd")
add("betainc(y, z, sigmoid(x))", "jax.scipy.special.betainc(y, z, jax.nn.sigmoid(x))", "f32v f64v")
add("betainc(20 * y, 20 * z, z)", "jax.scipy.special.betainc(20 * y, 20 * z, z)", "f32v f64v")
for f in "boxcox boxcox1p".split():
    add(f"{f}(y, x)", f"jax.scipy.special.{f}(y, x)", "f32v f64v")
    add(f"{f}(abs(x), 0)", f"jax.scipy.special.{f}(abs(x), 0)", "f32v f64v")

section("probability distributions")
for d, functions in [("norm", "pdf logpdf cdf logcdf sf logsf"), ("uniform", "pdf logpdf cdf"), ("expon", "pdf logpdf cdf logcdf sf logsf"), ("laplace", "pdf logpdf cdf"),
                     ("logistic", "pdf logpdf cdf sf"), ("cauchy", "pdf logpdf cdf sf")]:
    for f in functions.split():
        add(f"stats::{d}::{f}(x)", f"jax.scipy.stats.{d}.{f}(x)", "f32v f64v i32v", "nograd" if (d, f) in (("expon", "logcdf"), ("uniform", "cdf")) else "")
        add(f"stats::{d}::{f}(x, -3, y)", f"jax.scipy.stats.{d}.{f}(x, -3, y)", "f32v f64v")
        add(f"stats::{d}::{f}(z, x, y)", f"jax.scipy.stats.{d}.{f}(z, x, y)", "f32v f64v", "nograd" if (d, f) == ("expon", "logcdf") else "")
for d, f in [("norm", "ppf"), ("norm", "isf"), ("uniform", "ppf"), ("expon", "ppf"), ("logistic", "ppf"), ("logistic", "isf"), ("cauchy", "ppf"), ("cauchy", "isf")]:
    add(f"stats::{d}::{f}(z, x, y)", f"jax.scipy.stats.{d}.{f}(z, x, y)", "f32v f64v")
for f in "pdf logpdf".split():
    add(f"stats::t::{f}(x, y, z)", f"jax.scipy.stats.t.{f}(x, y, z)", "f32v f64v")
    add(f"stats::pareto::{f}(abs(x) + 3, y, z)", f"jax.scipy.stats.pareto.{f}(abs(x) + 3, y, z)", "f32v f64v")
    add(f"stats::dirichlet::{f}(nn::softmax(x, 0), y(slice(), 0))", f"jax.scipy.stats.dirichlet.{f}(jax.nn.softmax(x, 0), y[:, 0])", "f64m")
    add(f"stats::multivariate_normal::{f}(x, y(slice(), 0), z)", f"jax.scipy.stats.multivariate_normal.{f}(x, y[:, 0], z)", "S")
    add(f"stats::multivariate_normal::{f}(x, y(0), 0.5)", f"jax.scipy.stats.multivariate_normal.{f}(x, y[0], 0.5)", "M")
for f in "pdf logpdf cdf".split():
    add(f"stats::truncnorm::{f}(x, -1, 1)", f"jax.scipy.stats.truncnorm.{f}(x, -1, 1)", "f32v f64v", "nograd")
    add(f"stats::truncnorm::{f}(z, -abs(x), y, 0, 2)", f"jax.scipy.stats.truncnorm.{f}(z, -abs(x), y, 0, 2)", "f32v f64v", "nograd" if f == "cdf" else "")
for f in "pdf logpdf cdf logcdf sf logsf".split():
    add(f"stats::gamma::{f}(abs(x), y, 0, z)", f"jax.scipy.stats.gamma.{f}(abs(x), y, 0, z)", "f32v f64v")
    add(f"stats::gamma::{f}(y, abs(x) + 0.5)", f"jax.scipy.stats.gamma.{f}(y, abs(x) + 0.5)", "f32v f64v")
    add(f"stats::chi2::{f}(abs(x), y)", f"jax.scipy.stats.chi2.{f}(abs(x), y)", "f32v f64v")
    add(f"stats::beta::{f}(sigmoid(x), y, z)", f"jax.scipy.stats.beta.{f}(jax.nn.sigmoid(x), y, z)", "f32v f64v")
for f in "pmf logpmf".split():
    add(f"stats::bernoulli::{f}(array({{0, 1, 1, 0, 2, -1, 1}}), sigmoid(x))", f"jax.scipy.stats.bernoulli.{f}(jnp.array([0, 1, 1, 0, 2, -1, 1]), jax.nn.sigmoid(x))", "f32v f64v")
    add(f"stats::binom::{f}(array({{0, 1, 2, 3, 4, 5, -1}}), 4, sigmoid(x))", f"jax.scipy.stats.binom.{f}(jnp.array([0, 1, 2, 3, 4, 5, -1]), 4, jax.nn.sigmoid(x))", "f32v f64v")
    add(f"stats::nbinom::{f}(array({{0, 1, 2, 3, 4, 5, -1}}), 4, sigmoid(x))", f"jax.scipy.stats.nbinom.{f}(jnp.array([0, 1, 2, 3, 4, 5, -1]), 4, jax.nn.sigmoid(x))", "f32v f64v")
    add(f"stats::geom::{f}(array({{1, 1, 2, 3, 4, 5, 0}}), sigmoid(x))", f"jax.scipy.stats.geom.{f}(jnp.array([1, 1, 2, 3, 4, 5, 0]), jax.nn.sigmoid(x))", "f32v f64v")
    add(f"stats::poisson::{f}(array({{0, 1, 2, 3, 4, 5, -1}}), abs(x) + 1)", f"jax.scipy.stats.poisson.{f}(jnp.array([0, 1, 2, 3, 4, 5, -1]), abs(x) + 1)", "f32v f64v")
add("stats::poisson::cdf(array({0, 1, 2, 3, 4, 5, -1}), abs(x) + 1)", "jax.scipy.stats.poisson.cdf(jnp.array([0, 1, 2, 3, 4, 5, -1]), abs(x) + 1)", "f32v f64v")
add("stats::bernoulli::cdf(x, z)", "jax.scipy.stats.bernoulli.cdf(x, z)", "f32v f64v", "nograd")

section("further functions of jax.numpy")
for f in "nancumsum nancumprod".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V E I M")
    add(f"{f}(x, 0)", f"jnp.{f}(x, 0)", "M L")
for f, q in (("nanquantile", "0.3"), ("nanpercentile", "30.")):
    add(f"{f}(x, {q})", f"jnp.{f}(x, {q})", "f32v f64v f32m i32v")
    add(f"{f}(where(x > 1, constants::nan, x), {q}, 1)", f"jnp.{f}(jnp.where(x > 1, jnp.nan, x), {q}, 1)", "f32m f64m")
    add(f"{f}(where(x > 1, constants::nan, x), {q}, {{0, 1}}, {{.keepdims = true}})", f"jnp.{f}(jnp.where(x > 1, jnp.nan, x), {q}, (0, 1), keepdims=True)", "f32t")
add("nanquantile(x, array({0.25f, 0.75f}), 0)", "jnp.nanquantile(x, jnp.array([0.25, 0.75], jnp.float32), 0)", "f32m")
add("nanmedian(x)", "jnp.nanmedian(x)", "f32v f64v f32e f64e")
add("nanmedian(where(x > 0, constants::nan, x), 0)", "jnp.nanmedian(jnp.where(x > 0, jnp.nan, x), 0)", "f32m f64m")
add("cov(x, y)", "jnp.cov(x, y)", "V M")
add("cov(x, y, {.rowvar = false})", "jnp.cov(x, y, rowvar=False)", "M")
add("corrcoef(x, y)", "jnp.corrcoef(x, y)", "f32v f64v f32m")
add("kaiser(6, 8.6)", "jnp.kaiser(6, 8.6)", "D", "nograd")
same("polyadd polysub polymul", "(x, y)", "V I C")
add("polyadd(x, y(slice(none, 3)))", "jnp.polyadd(x, y[:3])", "V")
for m in (0, 1, 2):
    add(f"polyder(x, {m})", f"jnp.polyder(x, {m})", "V I C")
    add(f"polyint(x, {m})", f"jnp.polyint(x, {m})", "V C" + (" i32v" if m else ""))
for f in "amax amin".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V E I M")
    add(f"{f}(x, 0, {{.keepdims = true}})", f"jnp.{f}(x, 0, keepdims=True)", "M T")
add("concat({x, y})", "jnp.concat([x, y])", "V I M")
for f in "cumulative_sum cumulative_prod".split():
    add(f"{f}(x)", f"jnp.{f}(x)", "V I")
    add(f"{f}(x, 1)", f"jnp.{f}(x, axis=1)", "M L")
add("around(x, 1)", "jnp.around(x, 1)", "V I")
add("array_equiv(x, y)", "jnp.array_equiv(x, y)", "V I B C")
same("bitwise_invert", "(x)", "I B")
same("bitwise_left_shift bitwise_right_shift", "(x, z)", "I")
add("diagflat(x)", "jnp.diagflat(x)", "V M")
add("diagflat(x, -1)", "jnp.diagflat(x, -1)", "V M")
for f in "tril triu".split():
    add(f"{f}_indices_from(x, 1)[1]", f"jnp.{f}_indices_from(x, 1)[1]", "f32m f32s")
add("diag_indices_from(x)[1]", "jnp.diag_indices_from(x)[1]", "f32s")
add('pad(x, {1, 2}, "edge")', 'jnp.pad(x, (1, 2), "edge")', "V M")

section("convolution of matrices")
for m in "full same valid".split():
    add(f'convolve2d(x, y(slice(none, 2), slice(none, 3)), "{m}")', f'jax.scipy.signal.convolve2d(x, y[:2, :3], "{m}")', "f32m f64m i32m")
    add(f'convolve2d(x(slice(none, 2), slice(none, 3)), y, "{m}")', f'jax.scipy.signal.convolve2d(x[:2, :3], y, "{m}")', "f32m f64m")

section("sets, insertions, bits")
for f in "values indices inverse_indices counts".split():
    add(f"unique_all(round(x), {{.size = 5}}).{f}", f"jnp.unique_all(jnp.round(x), size=5).{f}", "V I", "nograd")
    add(f"unique_all(x, {{.size = 16}}).{f}", f"jnp.unique_all(x, size=16).{f}", "f32e", "nograd")
    add(f"unique_all(z, {{.size = 20, .fill_value = 9}}).{f}", f"jnp.unique_all(z, size=20, fill_value=9).{f}", "I f32m", "nograd")
add("unique_counts(z).counts", "jnp.unique_counts(z).counts", "i32v", "nojit")
add("unique_inverse(z).inverse_indices", "jnp.unique_inverse(z).inverse_indices", "i32v i32m", "nojit")
add("unique(round(x), 0, {.size = 3})", "jnp.unique(jnp.round(x), axis=0, size=3)", "f32m i32m bm", "nograd")
add("unique(z, 1, {.size = 4, .fill_value = 7})", "jnp.unique(z, axis=1, size=4, fill_value=7)", "i32m", "nograd")
add("unique(x, 1)", "jnp.unique(x, axis=1)", "bm", "nojit")
for f in "union1d intersect1d setdiff1d setxor1d".split():
    add(f"{f}(x, y, {{.size = 14, .fill_value = 77}})", f"jnp.{f}(x, y, size=14, fill_value=77)", "I V", "nograd")
    add(f"{f}(x, z, {{.size = 3, .fill_value = 0}})", f"jnp.{f}(x, z, size=3, fill_value=0)", "I", "nograd")
    add(f"{f}(x, y)", f"jnp.{f}(x, y)", "i32v f32v f32m", "nojit nograd")
for c, p, s, *f in [
    ("insert(x, 2, 5)", "jnp.insert(x, 2, 5)", "V I M"), ("insert(x, -1, y)", "jnp.insert(x, -1, y)", "V"), ("insert(x, array({1, 3, 3}), 9)", "jnp.insert(x, jnp.array([1, 3, 3]), 9)", "V I M"),
    ("insert(x, 1, y(0), 0)", "jnp.insert(x, 1, y[0], 0)", "M"), ("insert(x, array({0, 2}), array({4, 5}), 1)", "jnp.insert(x, jnp.array([0, 2]), jnp.array([4, 5]), 1)", "M L"), ("insert(x, array({2, 0, -1}), array({1, 2, 3}))", "jnp.insert(x, jnp.array([2, 0, -1]), jnp.array([1, 2, 3]))", "V I"),
    ("delete_(x, 2)", "jnp.delete(x, 2)", "V I M"), ("delete_(x, array({0, -1, 2}))", "jnp.delete(x, jnp.array([0, -1, 2]))", "V I M"), ("delete_(x, 1, 0)", "jnp.delete(x, 1, 0)", "M T"), ("delete_(x, array({0, 3}), 1)", "jnp.delete(x, jnp.array([0, 3]), 1)", "M L"),
    ("put(x, array({1, 5}), array({7, 8}))", "jnp.put(x, jnp.array([1, 5]), jnp.array([7, 8]), inplace=False)", "V I M"), ('put(x, array({1, 99}), 3, {.mode = "clip"})', 'jnp.put(x, jnp.array([1, 99]), 3, mode="clip", inplace=False)', "V M"), ('put(x, array({1, -2, 99}), array({3, 4}), {.mode = "wrap"})', 'jnp.put(x, jnp.array([1, -2, 99]), jnp.array([3, 4]), mode="wrap", inplace=False)', "V M"),
    ("place(x, x > 0, y)", "jnp.place(x, x > 0, y, inplace=False)", "V I M"), ("place(x, x > 0, array({1, 2}))", "jnp.place(x, x > 0, jnp.array([1, 2]), inplace=False)", "V M"),
    ("resize(x, {3, 5})", "jnp.resize(x, (3, 5))", "V I M D"), ("resize(x, {2})", "jnp.resize(x, (2,))", "V M"), ("trim_zeros(where(abs(x) > 1.5, 0, x))", "jnp.trim_zeros(jnp.where(abs(x) > 1.5, 0, x))", "f32v", "nojit"), ('trim_zeros(floor(x / 2), "b")', 'jnp.trim_zeros(jnp.floor(x / 2), "b")', "f32v", "nojit nograd"),
    ("dsplit(x, 2)[1]", "jnp.dsplit(x, 2)[1]", "T"), ("partition(x, 2)", "jnp.partition(x, 2)", "V I M"), ("partition(x, 1, 0)", "jnp.partition(x, 1, 0)", "M T"), ("partition(x, -1)", "jnp.partition(x, -1)", "V"), ("argpartition(x, 2)", "jnp.argpartition(x, 2)", "V M"), ("argpartition(x, 0, 0)", "jnp.argpartition(x, 0, 0)", "M T"),
    ("sort_complex(x)", "jnp.sort_complex(x)", "V C"), ("sort_key_val(x, y).keys", "lax.sort_key_val(x, y)[0]", "V I M"), ("sort_key_val(x, y).values", "lax.sort_key_val(x, y)[1]", "V I M"), ("sort_key_val(x, y, 0).values", "lax.sort_key_val(x, y, 0)[1]", "M T"),
    ("sort_operands({z, x, y}, {.num_keys = 2})[2]", "lax.sort([z, x, y], num_keys=2)[2]", "V I"), ("packbits(x > 0)", "jnp.packbits(x > 0)", "V M T"), ('packbits(x, {.axis = 1, .bitorder = "little"})', 'jnp.packbits(x, axis=1, bitorder="little")', "L"), ("packbits(x)", "jnp.packbits(x)", "I B"),
    ("unpackbits(x)", "jnp.unpackbits(x)", "u8v"), ('unpackbits(convert(abs(x), uint8), {.axis = 0, .bitorder = "little"})', 'jnp.unpackbits(abs(x).astype(jnp.uint8), axis=0, bitorder="little")', "i32m"), ("unpackbits(x, {.count = 11})", "jnp.unpackbits(x, count=11)", "u8v"), ("unpackbits(x, {.count = 90})", "jnp.unpackbits(x, count=90)", "u8v"), ("unpackbits(x, {.count = -3})", "jnp.unpackbits(x, count=-3)", "u8v"),
    ("empty_like(x)", "jnp.zeros_like(x)", "V I M", "nograd"), ("spacing(x)", "jnp.spacing(x)", "f32v f64v", "nograd"),
    ("apply_along_axis([](Array v) { return cumsum(v) * v(0); }, 0, x)", "jnp.apply_along_axis(lambda v: jnp.cumsum(v) * v[0], 0, x)", "M T V"), ("apply_along_axis([](Array v) { return outer(v, v); }, 1, x)", "jnp.apply_along_axis(lambda v: jnp.outer(v, v), 1, x)", "M T"), ("apply_along_axis([](Array v) { return sum(v); }, -1, x)", "jnp.apply_along_axis(jnp.sum, -1, x)", "M T V"),
    ("apply_over_axes([](Array v, int a) { return sum(v, a); }, x, {0, 1})", "jnp.apply_over_axes(jnp.sum, x, [0, 1])", "M T"),
    ("piecewise(x, {x < 0, x > 1}, {[](Array v) { return exp(v); }, 3, [](Array v) { return v * v; }})", "jnp.piecewise(x, [x < 0, x > 1], [jnp.exp, 3, lambda v: v * v])", "V M"), ("piecewise(x, {x < 1, x < 0}, {[](Array v) { return v + 1; }, 5})", "jnp.piecewise(x, [x < 1, x < 0], [lambda v: v + 1, 5])", "V i32v"),
    ('vectorize([](Array a, Array b) { return dot(a, b); }, "(n),(n)->()")(x, y(0))', 'jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")(x, y[0])', "M T"), ("vectorize([](Array a, Array b) { return where(a > b, a, b * b); })(x, y(0))", "jnp.vectorize(lambda a, b: jnp.where(a > b, a, b * b))(x, y[0])", "M"), ('vectorize([](Array a) { return a / sum(a); }, "(n)->(n)")(x)', 'jnp.vectorize(lambda a: a / jnp.sum(a), signature="(n)->(n)")(x)', "M T V"),
]:
    add(c, p, s, *f)

section("grids, polynomials by roots, activations")
for c, p, s, *f in [
    ("histogram_bin_edges(x, 4)", "jnp.histogram_bin_edges(x, 4)", "f32v f64v i32v", "nograd"), ("histogram_bin_edges(x, 4, {-1, 2})", "jnp.histogram_bin_edges(x, 4, (-1, 2))", "f32v", "nograd"),
    ("histogram2d(x, y, 3).counts", "jnp.histogram2d(x, y, 3)[0]", "f32v f64v i32v"), ("histogram2d(x, y, {3, 2}).y_edges", "jnp.histogram2d(x, y, [3, 2])[2]", "f32v", "nograd"), ("histogram2d(x, y, {2, 3}, {.range = {{-1, 1}, {0, 2}}}).counts", "jnp.histogram2d(x, y, [2, 3], [jnp.array([-1., 1.]), jnp.array([0., 2.])])[0]", "f32v"), ("histogram2d(x, y, 3, {.weights = z}).counts", "jnp.histogram2d(x, y, 3, weights=z)[0]", "f32v f64v", "nograd"), ("histogram2d(x, y, 2, {.density = true}).counts", "jnp.histogram2d(x, y, 2, density=True)[0]", "f32v", "nograd"), ("histogramdd(x(slice(), slice(0, 3)), 2).counts", "jnp.histogramdd(x[:, :3], 2)[0]", "f32m"),
    ("sort(roots(x))", "jnp.sort(jnp.roots(x))", "f64v", "nojit nograd"), ("sum(square(roots(x, {.strip_zeros = false})))", "jnp.sum(jnp.square(jnp.roots(x, strip_zeros=False)))", "f32v f64v", "nograd"), ("poly(x)", "jnp.poly(x)", "V C"), ("real(poly(x))", "jnp.real(jnp.poly(x))", "S"), ("polydiv(x, y(slice(0, 3))).first", "jnp.polydiv(x, y[:3])[0]", "f32v f64v C"), ("polydiv(x, y(slice(0, 3))).second", "jnp.polydiv(x, y[:3])[1]", "f64v"), ("polydiv(x(slice(0, 2)), y).first", "jnp.polydiv(x[:2], y)[0]", "f32v"),
    ("nn::hard_swish(x)", "jax.nn.hard_swish(x)", "V E"), ("nn::squareplus(x)", "jax.nn.squareplus(x)", "V E I"), ("nn::squareplus(x, 2.)", "jax.nn.squareplus(x, 2.)", "V"), ("nn::sparse_plus(x)", "jax.nn.sparse_plus(x)", "V E"), ("nn::sparse_sigmoid(x)", "jax.nn.sparse_sigmoid(x)", "V"), ("nn::log1mexp(y)", "jax.nn.log1mexp(y)", "f32v f64v"), ("nn::log1mexp(abs(x) * 9)", "jax.nn.log1mexp(abs(x) * 9)", "f32v f64v"), ("nn::logmeanexp(x)", "jax.nn.logmeanexp(x)", "f32v f64v M"), ("nn::logmeanexp(x, 1, {.keepdims = true})", "jax.nn.logmeanexp(x, 1, keepdims=True)", "M T"), ("nn::logmeanexp(x, 1, {.where = y > 1})", "jax.nn.logmeanexp(x, 1, where=y > 1)", "M"),
]:
    add(c, p, s, *f)

section("matrices of jax.scipy.linalg")
ls = "jax.scipy.linalg."
for c, p, s, *f in [
    ("linalg::block_diag({x, y, z})", ls + "block_diag(x, y, z)", "S M V"), ("linalg::toeplitz(x)", ls + "toeplitz(x)", "V C M"), ("linalg::toeplitz(x, y(slice(0, 4)))", ls + "toeplitz(x, y[:4])", "V C i32v"), ("linalg::hankel(x)", ls + "hankel(x)", "V M"), ("linalg::hankel(x, y(slice(0, 4)))", ls + "hankel(x, y[:4])", "V C i32v"), ("linalg::circulant(x)", ls + "circulant(x)", "V M"), ("linalg::companion(x)", ls + "companion(x)", "f32v f64v C"), ("linalg::leslie(x, y(slice(0, 6)))", ls + "leslie(x, y[:6])", "V i32v"), ("linalg::fiedler(x)", ls + "fiedler(x)", "V i32v"),
    ("linalg::dft(5)", ls + "dft(5)", "D", "nograd"), ('linalg::dft(4, "sqrtn")', ls + 'dft(4, "sqrtn")', "D", "nograd"), ("linalg::hilbert(4)", ls + "hilbert(4)", "D", "nograd"), ("linalg::hadamard(8, float32)", ls + "hadamard(8, dtype=jnp.float32)", "D", "nograd"), ("linalg::pascal(5)", ls + "pascal(5)", "D", "nograd"), ('linalg::pascal(5, "lower")', ls + 'pascal(5, "lower")', "D", "nograd"), ('linalg::pascal(5, "upper")', ls + 'pascal(5, "upper")', "D", "nograd"),
    *((f'linalg::convolution_matrix(x, {n}, "{m}")', ls + f'convolution_matrix(x, {n}, "{m}")', "V") for n in (3, 9) for m in ("full", "same", "valid")),
    ("linalg::lu_factor(x).lu", ls + "lu_factor(x)[0]", "S H"), ("linalg::lu_factor(x).piv", ls + "lu_factor(x)[1]", "S H"), *((f"linalg::lu_solve(linalg::lu_factor(x), y, {{.trans = {t}}})", ls + f"lu_solve({ls}lu_factor(x), y, {t})", "S H") for t in (0, 1, 2)), ("linalg::lu_solve(linalg::lu_factor(x), y(slice(), 0))", ls + f"lu_solve({ls}lu_factor(x), y[:, 0])", "S"),
    *((f"linalg::solve_triangular(z, y, {{.trans = {t}, .lower = {b.lower()}}})", ls + f"solve_triangular(z, y, {t}, {b})", "S H") for t in (0, 1, 2) for b in ("True", "False")), ("linalg::solve_triangular(z, y(slice(), 0), {.lower = true, .unit_diagonal = true})", ls + "solve_triangular(z, y[:, 0], 0, True, True)", "S"),
    ("abs(linalg::schur(z).t)", f"jnp.abs({ls}schur(z)[0])", "S", "nograd"), ("matmul(linalg::schur(x).z, matmul(linalg::schur(x).t, linalg::schur(x).z.T()))", "x", "S", "nograd"), ('sort(abs(linalg::diagonal(linalg::schur(x, "complex").t)))', f'jnp.sort(jnp.abs(jnp.diagonal({ls}schur(x, "complex")[0])))', "S", "nograd"), ("abs(linalg::hessenberg(x).h)", f"jnp.abs({ls}hessenberg(x))", "S H", "nograd"), ("linalg::hessenberg(x).q", ls + "hessenberg(x, calc_q=True)[1]", "S H", "nograd"),
    ("linalg::sqrtm(z)", ls + "sqrtm(z)", "S H", "nograd"), ("linalg::sqrtm(matmul(z, z))", "(z + 0j).astype(jnp.complex128 if z.dtype == jnp.float64 else jnp.complex64)", "S", "nograd"), ("linalg::polar(x).u", ls + 'polar(x, method="svd")[0]', "S H"), ("linalg::polar(x).p", ls + 'polar(x, method="svd")[1]', "S"), ('linalg::polar(x, "left").p', ls + 'polar(x, "left", method="svd")[1]', "S"),
    ("linalg::solve_sylvester(z, z + 1, x)", ls + "solve_sylvester(z, z + 1, x)", "S", "nograd"), ("linalg::expm_frechet(x, z)", ls + "expm_frechet(x, z, compute_expm=False)", "S"), ("linalg::tridiagonal_solve(x, 5 * y + 2, z, expand_dims(y, 1))", "lax.linalg.tridiagonal_solve(x.at[0].set(0), 5 * y + 2, z.at[-1].set(0), y[:, None])", "f32v f64v"), ("linalg::tridiagonal_solve(x, z - 0.5, y, stack({y, z}, 1))", "jnp.linalg.solve(jnp.diag(x[1:], -1) + jnp.diag(z - 0.5) + jnp.diag(y[:-1], 1), jnp.stack([y, z], 1))", "f64v"),
    ("linalg::eigh_tridiagonal(x, y(slice(0, 6))).eigenvalues", "jnp.linalg.eigvalsh(jnp.diag(x) + jnp.diag(y[:6], 1) + jnp.diag(y[:6], -1))", "f32v f64v"),
    ("linalg::vector_norm(x)", "jnp.linalg.vector_norm(x)", "V C M T"), ("linalg::vector_norm(x, {.axis = {0, 1}, .ord = 1})", "jnp.linalg.vector_norm(x, axis=(0, 1), ord=1)", "T M"), ("linalg::vector_norm(x, {.axis = 0, .keepdims = true, .ord = 3})", "jnp.linalg.vector_norm(x, axis=0, keepdims=True, ord=3)", "f32m f32t"), ("linalg::vector_norm(x, {.ord = constants::inf})", "jnp.linalg.vector_norm(x, ord=jnp.inf)", "M"), ("linalg::matrix_norm(x)", "jnp.linalg.matrix_norm(x)", "M T S"), ("linalg::matrix_norm(x, {.keepdims = true, .ord = 1})", "jnp.linalg.matrix_norm(x, keepdims=True, ord=1)", "M S"),
    ("linalg::tensorsolve(kron(x, z).reshape({3, 3, 3, 3}), z)", "jnp.linalg.tensorsolve(jnp.kron(x, z).reshape(3, 3, 3, 3), z)", "f64s"), ("linalg::tensorinv(x, 1)", "jnp.linalg.tensorinv(x, 1)", "S"), ("linalg::tensorinv(kron(z, z).reshape({9, 3, 3}), 1)", "jnp.linalg.tensorinv(jnp.kron(z, z).reshape(9, 3, 3), 1)", "f64s", "nograd"),
]:
    add(c, p, s, *f)

section("solvers, minima")
sl, tol = "jax.scipy.sparse.linalg.", (".tol = 1e-13", "tol=1e-13")
for c, p, s, *f in [
    ("linalg::cg(z, y, {.tol = 1e-13})", sl + "cg(z, y, tol=1e-13)[0]", "f64s"), ("linalg::cg(z, y(slice(), 0), {.tol = 1e-13})", sl + "cg(z, y[:, 0], tol=1e-13)[0]", "f64s"), ("linalg::cg([&](const Array& v) { return matmul(matmul(z, v), z); }, x, {.tol = 1e-14})", sl + "cg(lambda v: z @ v @ z, x, tol=1e-14)[0]", "f64s"), ("linalg::cg(matmul(x, x.T()) + 2 * eye(3, float64), y, {.x0 = y, .tol = 1e-13, .M = z})", "jnp.linalg.solve(x @ x.T + 2 * jnp.eye(3), y)", "f64s"),
    ("linalg::bicgstab(x, y(slice(), 0), {.tol = 1e-13})", "jnp.linalg.solve(x, y[:, 0])", "f64s"), ("linalg::bicgstab([&](const Array& v) { return matmul(z + 1, v); }, y(slice(), 1), {.tol = 1e-13, .M = linalg::inv(z)})", "jnp.linalg.solve(z + 1, y[:, 1])", "f64s"), ("linalg::gmres(x, y(slice(), 0), {.tol = 1e-13})", "jnp.linalg.solve(x, y[:, 0])", "f64s"), ("linalg::gmres(x, y(slice(), 0), {.tol = 1e-13, .maxiter = 400, .restart = 2})", "jnp.linalg.solve(x, y[:, 0])", "none"), ("linalg::gmres([&](const Array& v) { return matmul(x, v); }, y(slice(), 1), {.tol = 1e-13, .M = linalg::inv(z)})", "jnp.linalg.solve(x, y[:, 1])", "f64s"),
    ("linalg::cg(z, y(slice(), 0), {.tol = 1e-6})", "jnp.linalg.solve(z, y[:, 0])", "f32s"), ("linalg::gmres(z + complex(0, 1) * eye(3, complex64), y(slice(), 0), {.tol = 1e-6})", "jnp.linalg.solve(z + 1j * jnp.eye(3), y[:, 0])", "c64s"), ("linalg::bicgstab(z, y(slice(), 0), {.tol = 1e-6})", "jnp.linalg.solve(z, y[:, 0])", "c64s"),
    ("optimize::minimize([&](const Array& v) { return sum(square(matmul(z, v) - y(slice(), 0))); }, x(0), {.gtol = 1e-10}).x", "jnp.linalg.solve(z, y[:, 0])", "f64s", "nograd"), ("round(optimize::minimize([](const Array& v) { return sum(100 * square(v(slice(1, none)) - square(v(slice(none, -1)))) + square(1 - v(slice(none, -1)))); }, x(slice(0, 4)), {.gtol = 1e-9}).x, 7)", "jnp.ones(4)", "f64v", "nograd"), ("round(optimize::minimize([](const Array& v) { return sum(log(cosh(v - 0.5))); }, x, {.gtol = 1e-9}).x, 7)", "jnp.full(7, 0.5)", "f64v", "nograd"), ("optimize::minimize([](const Array& v) { return sum(square(v - 2)); }, x).success", "jnp.array(True)", "f32v f64v f32m f64m", "nograd"), ("optimize::minimize([](const Array& v) { return sum(exp(v) - 3 * v); }, x).x", "jnp.full(x.shape, jnp.log(3.).astype(x.dtype))", "none"),
]:
    add(c, p, s, *f)

section("signals, cosine transforms, images")
sg = "jax.scipy.signal."
for c, p, s, *f in [
    *((f'fftconvolve(x, y(slice(none, 2), slice(none, 3)), "{m}")', sg + f'fftconvolve(x, y[:2, :3], "{m}")', "f32m f64m X") for m in ("full", "same", "valid")), ('fftconvolve(x, y(slice(), slice(none, 3)), "same", 1)', sg + 'fftconvolve(x, y[:, :3], "same", axes=1)', "f32m f64m"), ("fftconvolve(x, y)", sg + "fftconvolve(x, y)", "f32v f64v C f32t i32v"),
    *((f'correlate2d(x, y(slice(none, 2), slice(none, 3)), "{m}")', sg + f'correlate2d(x, y[:2, :3], "{m}")', "f32m f64m") for m in ("full", "same", "valid")), ('correlate2d(x(slice(none, 2), slice(none, 2)), y, "full")', sg + 'correlate2d(x[:2, :2], y, "full")', "f32m"), ('correlate2d(x(slice(none, 2), slice(none, 2)), y, "same")', sg + 'correlate2d(x[:2, :2], y, "same")', "f32m"),
    ("detrend(x)", sg + "detrend(x)", "f32v f64v M T i32v"), ("detrend(x, {.axis = 0})", sg + "detrend(x, 0)", "f32m f64m"), ('detrend(x, {.type = "constant"})', sg + 'detrend(x, type="constant")', "f32v M"), ("detrend(x, {.bp = {3, 5}})", sg + "detrend(x, bp=[3, 5])", "f64v"),
    ("welch(x, {.nperseg = 4}).power", sg + "welch(x, nperseg=4)[1]", "f32v f64v c64v f32m"), ("welch(x).frequencies", sg + "welch(x)[0]", "f32v f64v", "nograd"), ('welch(x, {.fs = 10, .nperseg = 5, .noverlap = 3, .nfft = 8, .scaling = "spectrum"}).power', sg + 'welch(x, 10., nperseg=5, noverlap=3, nfft=8, scaling="spectrum")[1]', "f32v f64v"), ('welch(x, {.nperseg = 3, .detrend = "linear", .average = "median"}).power', sg + 'welch(x, nperseg=3, detrend="linear", average="median")[1]', "f64v"), ("welch(x, {.window = array({1, 2, 2, 1}), .return_onesided = false}).power", sg + "welch(x, window=jnp.array([1, 2, 2, 1]), return_onesided=False)[1]", "f32v f64v"), ("welch(x, {.axis = 1}).power", sg + "welch(x, axis=1)[1]", "f32m f32t"),
    ("csd(x, y, {.nperseg = 4}).power", sg + "csd(x, y, nperseg=4)[1]", "f32v f64v f32m"),
    ("stft(x, {.nperseg = 4}).transform", sg + "stft(x, nperseg=4)[2]", "f32v f64v f32m c64v"), ("stft(x, {.nperseg = 4}).times", sg + "stft(x, nperseg=4)[1]", "f32v f64v", "nograd"), *((f'stft(x, {{.nperseg = 4, .noverlap = 1, .boundary = "{b}"}}).transform', sg + f'stft(x, nperseg=4, noverlap=1, boundary="{b}")[2]', "f32v f64v") for b in ("even", "odd", "constant")), ('stft(x, {.fs = 2, .nperseg = 4, .boundary = "none", .padded = false}).times', sg + 'stft(x, 2., nperseg=4, boundary=None, padded=False)[1]', "f32v", "nograd"),
    ("istft(stft(x, {.nperseg = 4}).transform).signal", sg + f"istft({sg}stft(x, nperseg=4)[2])[1]", "f32v f64v f32m"), ("istft(stft(x, {.nperseg = 4}).transform).times", sg + f"istft({sg}stft(x, nperseg=4)[2])[0]", "f32v", "nograd"), ("istft(complex(x, z.T()), {.nperseg = 4, .noverlap = 3, .boundary = false}).signal", sg + "istft(lax.complex(x, z.T), nperseg=4, noverlap=3, boundary=False)[1]", "f32m f64m"),
    *((f'fft::{d}(x, {{.norm = "{n}"}})', f'jax.scipy.fft.{d}(x, norm="{n}")', "f32v f64v M T i32v") for d in ("dct", "idct") for n in ("backward", "ortho")), *((f"fft::{d}(x, {{.n = {n}, .axis = 0}})", f"jax.scipy.fft.{d}(x, n={n}, axis=0)", "f32v f64m") for d in ("dct", "idct") for n in (2, 9)), ("fft::dct(x)", "jax.scipy.fft.dct(x)", "c64v"), *((f"fft::{d}(x)", f"jax.scipy.fft.{d}(x)", "f32m f64m f32t") for d in ("dctn", "idctn")), ("fft::dctn(x, {.s = {2, 5}})", "jax.scipy.fft.dctn(x, s=(2, 5))", "f32m f64m"), ('fft::idctn(x, {.axes = {0, 1}, .norm = "ortho"})', 'jax.scipy.fft.idctn(x, axes=(0, 1), norm="ortho")', "f32m f32t"),
    *((f'image::resize(x, {{{a}, {b}}}, "{m}")', f'jax.image.resize(x, ({a}, {b}), "{m}")', "f32m f64m") for m in ("nearest", "linear", "cubic", "lanczos3", "lanczos5") for a, b in ((7, 2), (3, 9))), ('image::resize(x, {2, 3}, "bilinear", {.antialias = false})', 'jax.image.resize(x, (2, 3), "bilinear", antialias=False)', "f32m f64m"), ('image::resize(x, {4, 3, 2}, "linear")', 'jax.image.resize(x, (4, 3, 2), "linear")', "T"), ('image::resize(x, {6, 2}, "nearest")', 'jax.image.resize(x, (6, 2), "nearest")', "L"),
    *((f'image::scale_and_translate(x, {{5, 6}}, {{0, 1}}, array({{1.5f, 0.7f}}), array({{0.3f, -0.6f}}), "{m}")', f'jax.image.scale_and_translate(x, (5, 6), (0, 1), jnp.array([1.5, 0.7], jnp.float32), jnp.array([0.3, -0.6], jnp.float32), "{m}")', "f32m") for m in ("linear", "cubic")), ('image::scale_and_translate(x, {3, 6}, {-1}, array({2.f}), array({1.f}), "linear", {.antialias = false})', 'jax.image.scale_and_translate(x, (3, 6), (-1,), jnp.array([2.], jnp.float32), jnp.array([1.], jnp.float32), "linear", antialias=False)', "f32m"),
    *((f'map_coordinates(x, {{y * 1.3, y + 0.1}}, {{.order = {o}, .mode = "{m}", .cval = 7}})', f'jax.scipy.ndimage.map_coordinates(x, [y * 1.3, y + 0.1], {o}, "{m}", 7)', "f32m f64m") for o in (0, 1) for m in ("constant", "nearest", "wrap", "mirror", "reflect")), ("map_coordinates(x, {3 * y}, {.order = 1})", "jax.scipy.ndimage.map_coordinates(x, [3 * y], 1)", "f32v f64v"), ('map_coordinates(x, {y, x}, {.order = 0, .mode = "wrap"})', 'jax.scipy.ndimage.map_coordinates(x, [y, x], 0, "wrap")', "i32m"),
]:
    add(c, p, s, *f)

section("integrals and series of jax.scipy.special")
sp = "jax.scipy.special."
for c, p, s, *f in [
    ("zeta(y + 1, abs(x) + z)", sp + "zeta(y + 1, abs(x) + z)", "f32v f64v", "nograd"), ("zeta(2.5, abs(x) + z)", sp + "zeta(2.5, abs(x) + z)", "f32v f64v"), ("exp1(y)", sp + "exp1(y)", "f32v f64v"), ("exp1(abs(x))", sp + "exp1(abs(x))", "f32v f64v"), ("exp1(20 * y)", sp + "exp1(20 * y)", "f32v f64v"), ("expi(x)", sp + "expi(x)", "f32v f64v"), ("expi(12 * x)", sp + "expi(12 * x)", "f32v f64v"), ("expi(40 * y)", sp + "expi(40 * y)", "f64v"), ("expi(x)", sp + "expi(x)", "f32e f64e", "nograd"),
    *((f"expn({n}, y)", sp + f"expn({n}, y)", "f32v f64v") for n in (1, 2, 3, 7)), ("expn(0, y)", sp + "expn(0, y)", "f32v f64v", "nograd"), ("expn(z, 3 * z)", sp + "expn(z, 3 * z)", "i32v", "nograd"),
    ("erfcx(x)", sp + "erfcx(x)", "f32v f64v"), ("erfcx(9 * y)", sp + "erfcx(9 * y)", "f32v f64v"), ("erfcx(x)", sp + "erfcx(x)", "f64e", "nograd"), ("dawsn(x)", sp + "dawsn(x)", "f32v f64v"), ("dawsn(6 * x)", sp + "dawsn(6 * x)", "f32v f64v"), ("dawsn(x)", sp + "dawsn(x)", "f64e", "nograd"),
    *((f"sici({a}).{r}", sp + f"sici({a})[{k}]", "f32v f64v") for a in ("x", "9 * x") for k, r in enumerate(("si", "ci"))), *((f"fresnel({a}).{r}", sp + f"fresnel({a})[{k}]", "f32v f64v") for a in ("x", "4 * x") for k, r in enumerate("sc")), ("fresnel(x).s", sp + "fresnel(x)[0]", "f64e", "nograd"), ("sici(x).si", sp + "sici(x)[0]", "f64e", "nograd"),
    ("spence(y)", sp + "spence(y)", "f32v f64v"), ("spence(z)", sp + "spence(z)", "f32v f64v"), ("spence(5 * abs(x))", sp + "spence(5 * abs(x))", "f32v f64v"), ("hyp1f1(y, z + 1, x)", sp + "hyp1f1(y, z + 1, x)", "f32v f64v"), ("hyp1f1(x, y, z)", sp + "hyp1f1(x, y, z)", "f64v", "nograd"), ("hyp1f1(1.5, 2.5, 9 * x)", sp + "hyp1f1(1.5, 2.5, 9 * x)", "f64v", "nograd"),
]:
    add(c, p, s, *f)

section("names of jax.lax, samples")
same("neg is_finite", "(x)", "V", "", "{}", "lax.{}")
same("sub mul eq ne lt le gt ge", "(x, y)", "V I", "", "{}", "lax.{}")
for c, p, s, *f in [
    ("shift_left(x, z)", "lax.shift_left(x, z)", "I"), ("shift_right_arithmetic(x, z)", "lax.shift_right_arithmetic(x, z)", "I"), ("convert_element_type(x, float16)", "lax.convert_element_type(x, jnp.float16)", "f32v I"), ("bitcast_convert_type(x, int32)", "lax.bitcast_convert_type(x, jnp.int32)", "f32v f64v u8v".replace(" u8v", "")), ("rev(x, 0)", "lax.rev(x, (0,))", "V M"), ("rev(x, {0, 1})", "lax.rev(x, (0, 1))", "M"),
    ("broadcast(x, {2, 3})", "lax.broadcast(x, (2, 3))", "V M"), ("broadcasted_iota(int32, {2, 3}, 1)", "lax.broadcasted_iota(jnp.int32, (2, 3), 1)", "D", "nograd"), ("collapse(x, 1)", "lax.collapse(x, 1)", "T M"), ("collapse(x, 0, 2)", "lax.collapse(x, 0, 2)", "T"), ("collapse(x, 0, -1)", "lax.collapse(x, 0, -1)", "T"), ("batch_matmul(x, swapaxes(y, 1, 2))", "lax.batch_matmul(x, jnp.swapaxes(y, 1, 2))", "T"),
    *((f"reduce_{o}(x, {{0, 1}})", f"lax.reduce_{o}(x, (0, 1))", "M L" if o in ("sum", "prod") else "M i32m") for o in ("sum", "prod", "max", "min")), ("reduce_and(x > 0, 0)", "lax.reduce_and(x > 0, (0,))", "M"), ("reduce_or(x > 0, 1)", "lax.reduce_or(x > 0, (1,))", "M"), ("approx_max_k(x, 2).values", "lax.approx_max_k(x, 2)[0]", "f32v f32m"), ("approx_min_k(x, 2).values", "lax.approx_min_k(x, 2)[0]", "f32v f32m"), ("approx_min_k(x, 2).indices", "lax.approx_min_k(x, 2)[1]", "f32v f32m"),
    ("conv_with_general_padding(x(newaxis, newaxis), y(newaxis, newaxis, slice(0, 2), slice(0, 2)), {1, 1}, {{1, 0}, {0, 1}}, {1, 1}, {1, 2})", "lax.conv_with_general_padding(x[None, None], y[None, None, :2, :2], (1, 1), ((1, 0), (0, 1)), (1, 1), (1, 2))", "f32m f64m"), ("conv_general_dilated_patches(x(newaxis), {2}, {1}, \"VALID\")", "lax.conv_general_dilated_patches(x[None], (2,), (1,), \"VALID\")", "f32m f64m"), ("conv_general_dilated_patches(x, {2}, {2}, \"SAME\", {.dimension_numbers = {\"NWC\", \"WIO\", \"NWC\"}})", "lax.conv_general_dilated_patches(x, (2,), (2,), \"SAME\", dimension_numbers=(\"NWC\", \"WIO\", \"NWC\"))", "f32t"),
    *((f'stats::rankdata({a}, "{m}")', f'jax.scipy.stats.rankdata({b}, "{m}")', "f32v i32v f32m") for m in ("average", "min", "max", "dense", "ordinal") for a, b in (("x", "x"), ("round(x)", "jnp.round(x)"))), ('stats::rankdata(x, "min", 0)', 'jax.scipy.stats.rankdata(x, "min", axis=0)', "f32m i32m f32t"), ("stats::mode(z).mode", "jax.scipy.stats.mode(z)[0]", "i32v i32m", "nograd"), ("stats::mode(z).count", "jax.scipy.stats.mode(z)[1]", "i32v i32m", "nograd"), ("stats::mode(round(x), {.axis = 1, .keepdims = true}).mode", "jax.scipy.stats.mode(jnp.round(x), axis=1, keepdims=True)[0]", "f32m", "nograd"), ("stats::sem(x)", "jax.scipy.stats.sem(x)", "f32v f64v M"), ("stats::sem(x, {.axis = 1, .ddof = 0, .keepdims = true})", "jax.scipy.stats.sem(x, axis=1, ddof=0, keepdims=True)", "f32m"),
    ("stats::gaussian_kde(x)(y)", "jax.scipy.stats.gaussian_kde(x)(y)", "f32v f64v"), ('stats::gaussian_kde(x, {.bw_method = "silverman", .weights = z}).logpdf(y)', 'jax.scipy.stats.gaussian_kde(x, bw_method="silverman", weights=z).logpdf(y)', "f32v f64v"), ("stats::gaussian_kde(x, {.bandwidth = 0.4}).pdf(z)", "jax.scipy.stats.gaussian_kde(x, 0.4).pdf(z)", "f64v"), ("stats::gaussian_kde(x(slice(0, 2))).logpdf(y(slice(0, 2)))", "jax.scipy.stats.gaussian_kde(x[:2]).logpdf(y[:2])", "f64m"),
]:
    add(c, p, s, *f)

section("options by name")
for f in "sum prod mean var std_ max min any all argmax argmin logsumexp nansum nanmean nanmax nanvar nanargmin ptp count_nonzero nn::logmeanexp".split():
    g = ("jax.nn." if "log" in f else "jnp.") + f.removeprefix("nn::").removesuffix("_")
    sets, more = ("M L" if f in ("any", "all", "count_nonzero") else "M"), ("nograd" if f in ("ptp", "nanmax") else "")
    add(f"{f}(x, {{.axis = 1}})", f"{g}(x, axis=1)", sets, more)
    add(f"{f}(x, {{.axis = -2, .keepdims = true}})", f"{g}(x, axis=-2, keepdims=True)", sets, more)
for c, p, s, *f in [
    ("sum(x, {.axis = {0, 2}})", "jnp.sum(x, axis=(0, 2))", "T"), ("nanquantile(x, 0.3, none, {.axis = 0})", "jnp.nanquantile(x, 0.3, axis=0)", "f32m f64m"),
    *((f"{o}(x, {{.axis = 1}})", f"jnp.{o}(x, axis=1)", "M") for o in ("cumsum", "cumprod")), ("cumlogsumexp(x, {.axis = 1, .reverse = true})", "lax.cumlogsumexp(x, axis=1, reverse=True)", "M"), *((f"{o}(x, {{.axis = 0, .descending = true}})", f"jnp.{o}(x, axis=0, descending=True)", "M i32m") for o in ("sort", "argsort")), ("argsort(x, {.stable = true})", "jnp.argsort(x, stable=True)", "M I"),
    ("logsumexp(x, {.b = y})", "jax.nn.logsumexp(x, b=y)", "f32m f64m"), ("logsumexp(x, {.axis = 1, .b = x})", "jax.nn.logsumexp(x, axis=1, b=x)", "f64m", "nograd"), ("logsumexp(x, 0, {.b = y(0), .keepdims = true, .where = x < 1})", "jax.nn.logsumexp(x, 0, b=y[0], keepdims=True, where=x < 1)", "f32m f64m"), ("logsumexp(x, {.b = where(isfinite(x), 1, 0)})", "jax.nn.logsumexp(x, b=jnp.where(jnp.isfinite(x), 1, 0))", "f32e f64e", "nograd"),
    *((f"nn::{n}(x, {{.axis = 0}})", f"jax.nn.{n}(x, axis=0)", "M") for n in ("softmax", "log_softmax")), *((f"nn::{n}(x, {a}, {{.where = y > 1}})", f"jax.nn.{n}(x, {a}, where=y > 1)", "f32m f64m T", *g) for n, g in (("softmax", ()), ("log_softmax", ("nograd",))) for a in (0, -1)), ("where(y > 1, nn::log_softmax(x, {.where = y > 1}), 0)", "jnp.where(y > 1, jax.nn.log_softmax(x, where=y > 1), 0)", "f64m"), ("nn::softmax(x, {.where = y > 9})", "jax.nn.softmax(x, where=y > 9)", "f32m f64m", "nograd"),
    ("nn::gelu(x, {.approximate = false})", "jax.nn.gelu(x, approximate=False)", "f32v f64v f32e f64e I"), ("nn::one_hot(z, 5, {.axis = 0})", "jax.nn.one_hot(z, 5, axis=0)", "I i32m"), ("nn::one_hot(x, 3, {.dtype = float16, .axis = -2})", "jax.nn.one_hot(x, 3, dtype=jnp.float16, axis=-2)", "i32m"),
    ("diff(x, {.prepend = 0, .append = 2})", "jnp.diff(x, prepend=0, append=2)", "V I M"), ("diff(x, {.n = 2, .axis = 0, .prepend = y})", "jnp.diff(x, n=2, axis=0, prepend=y)", "V M"), ("diff(x, {.axis = 1, .append = y(slice(), slice(0, 2))})", "jnp.diff(x, axis=1, append=y[:, :2])", "M i32m"),
    ("interp(2 * x, cumsum(y), z, {.left = -1, .right = 5})", "jnp.interp(2 * x, jnp.cumsum(y), z, left=-1, right=5)", "f32v f64v"), ("interp(9 * x, y, z, {.period = 2})", "jnp.interp(9 * x, y, z, period=2)", "f64v"), ("interp(9 * x, 3 * z, y, {.left = 7, .period = -1.5})", "jnp.interp(9 * x, 3 * z, y, left=7, period=-1.5)", "f64v"),
    ("cov(x, {.bias = true})", "jnp.cov(x, bias=True)", "f32v M"), ("cov(x, {.aweights = y(0)})", "jnp.cov(x, aweights=y[0])", "f32m f64m"), ("cov(x, {.ddof = 0, .aweights = y(0)})", "jnp.cov(x, ddof=0, aweights=y[0])", "f64m"), ("cov(x, {.fweights = array({1, 3, 0, 2})})", "jnp.cov(x, fweights=jnp.array([1, 3, 0, 2]))", "f32m f64m"), ("cov(x, {.rowvar = false, .bias = true, .fweights = array({2, 1, 4}), .aweights = y(slice(), 0)})", "jnp.cov(x, rowvar=False, bias=True, fweights=jnp.array([2, 1, 4]), aweights=y[:, 0])", "f64m"),
    *((f'linalg::solve(z, y, {{.lower = {b.lower()}, .assume_a = "pos"}})', f'jax.scipy.linalg.solve(z, y, lower={b}, assume_a="pos")', "S H") for b in ("True", "False")), ('linalg::solve(x, y, {.assume_a = "gen"})', 'jax.scipy.linalg.solve(x, y, assume_a="gen")', "S"),
    ("clip(x, {.min = -1, .max = 1})", "jnp.clip(x, min=-1, max=1)", "V I".replace("I", "i32v")), ("clip(x, {.max = y})", "jnp.clip(x, max=y)", "V"), ("clip(x, {.min = 0.5})", "jnp.clip(x, min=0.5)", "V M"),
    ("zeros_like(x, {.shape = {2, 3}})", "jnp.zeros_like(x, shape=(2, 3))", "V i32v"), ("ones_like(x, {.dtype = int8})", "jnp.ones_like(x, dtype=jnp.int8)", "V M"), ("full_like(x, 3, {.dtype = float32, .shape = 4})", "jnp.full_like(x, 3, dtype=jnp.float32, shape=4)", "I M"), ("eye(2, 3, {.k = 1, .dtype = float16})", "jnp.eye(2, 3, k=1, dtype=jnp.float16)", "D", "nograd"), ("asarray({1, 2}, {.dtype = float32})", "jnp.asarray([1, 2], dtype=jnp.float32)", "D", "nograd"),
]:
    add(c, p, s, *f)

section("axes and modes by name, matrices by groups of rows")
for c, p, s, *f in [
    ("linspace(x, y, 5, {.axis = -1})", "jnp.linspace(x, y, 5, axis=-1)", "f32v f64v M"), ("linspace(x, y, 4, {.endpoint = false, .axis = 1})", "jnp.linspace(x, y, 4, endpoint=False, axis=1)", "f64v f64m"),
    *((f"top_k(x, 2, {{.axis = {a}}}).{n}", f"lax.top_k(x, 2, axis={a})[{k}]", "M i32m T") for a in (0, -2) for k, n in enumerate(("values", "indices"))),
    ("take(x, array({0, 2}), {.axis = 1})", "jnp.take(x, jnp.array([0, 2]), axis=1)", "M i32m"), ("take(x, array({1, 9}), {.axis = 0, .mode = \"clip\"})", "jnp.take(x, jnp.array([1, 9]), axis=0, mode='clip')", "M i32m"), ("take_along_axis(x, argsort(x, 0), {.axis = 0})", "jnp.take_along_axis(x, jnp.argsort(x, 0), axis=0)", "M"),
    ("x.sum({.axis = 0})", "x.sum(axis=0)", "M i32m bm"), ("x.std({.axis = 1, .ddof = 1})", "x.std(axis=1, ddof=1)", "M"), ("x.cumsum({.axis = 1})", "x.cumsum(axis=1)", "M i32m bm"), ("x.cumprod()", "x.cumprod()", "M i32m"), ("x.transpose(1, 0)", "x.transpose(1, 0)", "M i32m"), ("x.transpose(2, 0, -2)", "x.transpose(2, 0, -2)", "T"),
    ("linalg::svd(x, {.compute_uv = false}).s", "jnp.linalg.svd(x, compute_uv=False)", "M S H"), ("abs(linalg::qr(x, {.mode = \"r\"}).r)", "jnp.abs(jnp.linalg.qr(x, mode='r'))", "S"),
    ("ragged_dot(x, stack({z, 2 * z, cos(z)}), array({1, 0, 1}))", "lax.ragged_dot(x, jnp.stack([z, 2 * z, jnp.cos(z)]), jnp.array([1, 0, 1]))", "M"), ("linalg::helmert(4) + x(0, 0)", "jnp.array([[2 ** -0.5, -(2 ** -0.5), 0, 0], [6 ** -0.5, 6 ** -0.5, -2 * 6 ** -0.5, 0], [12 ** -0.5, 12 ** -0.5, 12 ** -0.5, -3 * 12 ** -0.5]], jnp.float32) + x[0, 0]", "f32m"),
    ("fromfunction([](Array i, Array j) { return sin(i) - j; }, {2, 3}) * y(0, 0)", "jnp.fromfunction(lambda i, j: jnp.sin(i) - j, (2, 3), dtype=jnp.float32) * y[0, 0]", "f32m"), ("x(mask_indices(3, [](Array m, Int k) { return triu(m, k); }, 1)[0], 1)", "x[jnp.mask_indices(3, jnp.triu, 1)[0], 1]", "M"),
    ("corrcoef(x(0), 3 - x(0))", "jnp.corrcoef(x[0], 3 - x[0])", "M", "nograd"),
]:
    add(c, p, s, *f)

section("positions and windows of jax.lax, matrices of numpy, draws of random")
for c, p, s, *f in [
    ("rem(x, y)", "lax.rem(x, y)", "V E i32v"), ("div(x, y)", "lax.div(x, y)", "V E"), ("clamp(0.5f, x, 1.f)", "lax.clamp(0.5, x, 1.)", "f32v f32e"), ("round_away(x)", "lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)", "f32v f64v f32e"),
    ("erfinv(z)", "jax.scipy.special.erfinv(z)", "f32v f64v"), ("gammaln(x)", "jax.scipy.special.gammaln(x)", "f32v f64v f32e"), ("igamma(y, z)", "lax.igamma(y, z)", "f32v f64v"), ("igammac(y, z)", "lax.igammac(y, z)", "f32v f64v"), ("polygamma(2, y)", "jax.scipy.special.polygamma(2, y)", "f32v f64v"), ("bessel_i0e(x)", "lax.bessel_i0e(x)", "f32v f64v f32e"), ("bessel_i1e(x)", "lax.bessel_i1e(x)", "f32v f64v"),
    ("slice_in_dim(x, 0, -1, 2, 1)", "lax.slice_in_dim(x, 0, -1, 2, 1)", "M i32m"), ("index_in_dim(x, -1, 1, false)", "lax.index_in_dim(x, -1, 1, False)", "M"), ("dynamic_slice(x, {5, -2}, {2, 2})", "lax.dynamic_slice(x, (5, -2), (2, 2))", "M i32m"), ("dynamic_slice_in_dim(x, 9, 2, 1)", "lax.dynamic_slice_in_dim(x, 9, 2, 1)", "M"), ("dynamic_index_in_dim(x, -1, 0, false)", "lax.dynamic_index_in_dim(x, -1, 0, False)", "M"),
    ("dynamic_update_slice(x, y(slice(0, 2), slice(0, 2)), {2, -3})", "lax.dynamic_update_slice(x, y[:2, :2], (2, -3))", "M i32m"), ("dynamic_update_slice_in_dim(x, y(slice(), slice(0, 2)), 7, 1)", "lax.dynamic_update_slice_in_dim(x, y[:, :2], 7, 1)", "M"), ("dynamic_update_index_in_dim(x, y(0), -1, 0)", "lax.dynamic_update_index_in_dim(x, y[0], -1, 0)", "M i32m"),
    ("select_n(x > 0, x, y)", "lax.select_n(x > 0, x, y)", "M i32m"), ("broadcast_in_dim(x, {2, 7}, 1)", "lax.broadcast_in_dim(x, (2, 7), (1,))", "V"), ("choose(array({0, 1, 1, 0}), {x, y})", "jnp.choose(jnp.array([0, 1, 1, 0]), [x, y], mode='clip')", "M"), ("compress(array({true, false, true}), x, 0)", "jnp.compress(jnp.array([True, False, True]), x, 0)", "M", "nojit nograd"), ("extract(x > 0, x)", "jnp.extract(x > 0, x)", "M", "nojit nograd"),
    ("fill_diagonal(x, 7)", "jnp.fill_diagonal(x, 7, inplace=False)", "M S i32m"), ("put_along_axis(x, argmax(x, 1, keepdims), 9, 1)", "jnp.put_along_axis(x, jnp.argmax(x, 1, keepdims=True), 9, 1, inplace=False)", "M"), ("unravel_index(array({7, 11, 0}), {3, 4})[1]", "jnp.unravel_index(jnp.array([7, 11, 0]), (3, 4))[1]", "D"), ("ravel_multi_index({array({2, 0}), array({3, 1})}, {3, 4})", "jnp.ravel_multi_index((jnp.array([2, 0]), jnp.array([3, 1])), (3, 4), mode='clip')", "D"),
    ("repeat(x, array({2, 0, 1}), 0, {.total_repeat_length = 4})", "jnp.repeat(x, jnp.array([2, 0, 1]), 0, total_repeat_length=4)", "M"), ("roll(x, argmax(x(0)), 1)", "jnp.roll(x, jnp.argmax(x[0]), 1)", "M"), ("permute_dims(x, {2, 0, 1})", "jnp.permute_dims(x, (2, 0, 1))", "T"), ("block({{x, y}, {y, x}})", "jnp.block([[x, y], [y, x]])", "M i32m"), ("matvec(x, z(slice(), 0))", "jnp.matvec(x, z[:, 0])", "M X"), ("vecmat(z(slice(), 0), z)", "jnp.vecmat(z[:, 0], z)", "M X"), ("meshgrid(x, z).second", "jnp.meshgrid(x, z)[1]", "V"), ("meshgrid(x, z, {.indexing = \"ij\"}).first", "jnp.meshgrid(x, z, indexing='ij')[0]", "V"),
    ("segment_min(x, array({0, 2, 0}), 4)", "jax.ops.segment_min(x, jnp.array([0, 2, 0]), 4)", "M i32m"), ("unique_values(round(x), {.size = 5})", "jnp.unique(jnp.round(x), size=5)", "M", "nograd"),
    *((f"reduce_window(x, {i}, {o}, {{2, 2}}, {{1, 2}}, \"{p}\")", f"lax.reduce_window(x, x.dtype.type({j}), lax.{q}, (2, 2), (1, 2), '{p}')", "f32m f64m") for o, q, i, j in (("add", "add", 0, 0), ("maximum", "max", "-constants::inf", "-jnp.inf"), ("multiply", "mul", 1, 1)) for p in ("SAME", "VALID")),
    *((f"nn::{n}(expand_dims(x, {{0, 3}}), {{2, 3}}, {{1, 2}}, \"{p}\")", f"lax.reduce_window(x[None, :, :, None], x.dtype.type({i}), lax.{o}, (1, 2, 3, 1), (1, 1, 2, 1), '{p}')", "f32m f64m") for n, o, i in (("max_pool", "max", "-jnp.inf"), ("min_pool", "min", "jnp.inf")) for p in ("SAME", "VALID")),
    *((f"conv(expand_dims(x, {{0, 1}}), expand_dims(y(slice(0, 2), slice(0, 3)), {{0, 1}}), {{1, 2}}, \"{p}\")", f"lax.conv(x[None, None], y[None, None, :2, :3], (1, 2), '{p}')", "f32m f64m") for p in ("SAME", "VALID")),
    *((f"conv_transpose(expand_dims(x, {{0, 3}}), expand_dims(y(slice(0, 2), slice(0, 3)), {{2, 3}}), {{2, 1}}, \"{p}\")", f"lax.conv_transpose(x[None, :, :, None], y[:2, :3, None, None], (2, 1), '{p}')", "f32m f64m") for p in ("SAME", "VALID")),
    *((f"random::{n}(random::key(3), {c}) * y(0)", f"jax.random.{n}(jax.random.key(3), {p}) * y[0]", "f32v") for n, c, p in (("maxwell", "{6}", "(6,)"), ("rayleigh", "2, 6", "2., (6,)"), ("triangular", "0, 1, 3, 6", "0., 1., 3., (6,)"), ("wald", "2, 6", "2., (6,)"), ("weibull_min", "2, 1.5, {6}", "2., 1.5, (6,)"), ("lognormal", "0.5, 6", "0.5, (6,)"), ("f", "3, 5, 6", "3., 5., (6,)"), ("loggamma", "0.7, 6", "0.7, (6,)"), ("double_sided_maxwell", "1, 2, {6}", "1., 2., (6,)"), ("generalized_normal", "1.5, {6}", "1.5, (6,)"), ("ball", "3, 2, {2}", "3, 2., (2,)"), ("rademacher", "{6}", "(6,)"), ("orthogonal", "3", "3"), ("dirichlet", "array({0.5f, 1.f, 2.f}), 2", "jnp.array([0.5, 1., 2.]), (2,)"), ("binomial", "9, 0.3, 6", "9., 0.3, (6,)"), ("multivariate_normal", "zeros(2), array({{2.f, 1.f}, {1.f, 2.f}}), 3", "jnp.zeros(2), jnp.array([[2., 1.], [1., 2.]]), (3,)"))),
]:
    add(c, p, s, *f)

section("operands of different dtypes")
for a, b in (("int8", "uint8"), ("int8", "float16"), ("uint8", "bfloat16"), ("bool_", "int8"), ("int32", "float16"), ("float16", "bfloat16"), ("bool_", "float32"), ("bfloat16", "float32")):
    for f in "add multiply divide power maximum floor_divide remainder arctan2 hypot logaddexp copysign less".split():
        if not ("bool_" in (a, b) and f in ("remainder", "floor_divide")):
            add(f"{f}(convert(4 * y, {a}), convert(3 * z + 1, {b}))", f"jnp.{f}((4 * y).astype(jnp.{a}), (3 * z + 1).astype(jnp.{b}))", "f32v", "nograd")
    add(f"dot(convert(4 * y, {a}), convert(3 * z + 1, {b}))", f"jnp.dot((4 * y).astype(jnp.{a}), (3 * z + 1).astype(jnp.{b}))", "f32v", "nograd")
    add(f"where(x > 0, convert(4 * y, {a}), convert(3 * z + 1, {b}))", f"jnp.where(x > 0, (4 * y).astype(jnp.{a}), (3 * z + 1).astype(jnp.{b}))", "f32v", "nograd")
    add(f"concatenate({{convert(4 * y, {a}), convert(3 * z + 1, {b})}})", f"jnp.concatenate([(4 * y).astype(jnp.{a}), (3 * z + 1).astype(jnp.{b})])", "f32v", "nograd")
    add(f"convert(4 * y, {a}) * 1.5 + convert(3 * z + 1, {b}) * 2", f"(4 * y).astype(jnp.{a}) * 1.5 + (3 * z + 1).astype(jnp.{b}) * 2", "f32v", "nograd")
for a in ("int8", "uint8", "int32", "bool_", "float16", "bfloat16", "float32"):
    for f in "sum prod mean var std max argmax cumsum median ptp any sort cumprod".split():
        add(f"{'std_' if f == 'std' else f}(convert(4 * y, {a}))", f"jnp.{f}((4 * y).astype(jnp.{a}))", "f32v", "nograd")
    for f in "exp sqrt sin abs sign floor square reciprocal log1p isnan".split():
        if not (a == "bool_" and f in ("sign",)):
            add(f"{f}(convert(4 * y, {a}))", f"jnp.{f}((4 * y).astype(jnp.{a}))", "f32v", "nograd")
    add(f"linspace(convert(y(0), {a}), 2, 4)", f"jnp.linspace(y[0].astype(jnp.{a}), 2, 4)", "f32v", "nograd")
    add(f"clip(convert(4 * y, {a}), 1, 3)", f"jnp.clip((4 * y).astype(jnp.{a}), 1, 3)", "f32v", "nograd")
    add(f"average(convert(4 * y, {a}), none, {{.weights = z}})", f"jnp.average((4 * y).astype(jnp.{a}), weights=z)", "f32v", "nograd")
    add(f"interp(convert(4 * y, {a}), arange(5), arange(5) * 2)", f"jnp.interp((4 * y).astype(jnp.{a}), jnp.arange(5), jnp.arange(5) * 2)", "f32v", "nograd")
    add(f"linalg::norm(convert(4 * y, {a}))", f"jnp.linalg.norm((4 * y).astype(jnp.{a}))", "f32v", "nograd")
    if a != "uint8":
        add(f"nn::softmax(convert(y, {a}))", f"jax.nn.softmax(y.astype(jnp.{a}))", "f32v", "nograd")
    add(f"power(convert(4 * y, {a}), 2)", f"jnp.power((4 * y).astype(jnp.{a}), 2)", "f32v", "nograd")
    add(f"convert(4 * y, {a}).at(1).add(convert(z(0) * 9, {a}))", f"(4 * y).astype(jnp.{a}).at[1].add((z[0] * 9).astype(jnp.{a}))", "f32v", "nograd")
    add(f"segment_sum(convert(4 * y, {a}), array({{0, 0, 1, 1, 2, 2, 2}}), 3)", f"jax.ops.segment_sum((4 * y).astype(jnp.{a}), jnp.array([0, 0, 1, 1, 2, 2, 2]), 3)", "f32v", "nograd")

section("indices, read and updated")
entries = [("1", "1", 1), ("-1", "-1", 1), ("slice()", ":", 1), ("slice(1, none)", "1:", 1), ("slice(none, none, -1)", "::-1", 1), ("slice(-1, none, -2)", "-1::-2", 1), ("slice(0, 9, 2)", "0:9:2", 1), ("slice(none, -1)", ":-1", 1),
           ("newaxis", "None", 0), ("ellipsis", "...", 0), ("array({1, 0, 1})", "jnp.array([1, 0, 1])", 1), ("array({{0}, {-1}})", "jnp.array([[0], [-1]])", 1), ("argmax(x(0, 0)) % 2", "jnp.argmax(x[0, 0]) % 2", 1)]
state, chosen = 7, {}
while len(chosen) < 110:  # a generator of its own: the same expressions with every version of Python
    picked = []
    for _ in range(2 + len(chosen) % 3):
        state = (state * 1103515245 + 12345) % 2 ** 31
        picked.append(entries[(state >> 12) % len(entries)])
    texts = ", ".join(e[0] for e in picked), ", ".join(e[1] for e in picked)
    if sum(e[2] for e in picked) <= 3 and texts[1].count("...") <= 1:
        chosen.setdefault(texts, len(chosen))
updates = [("add", "2"), ("set", "2.5"), ("multiply", "x(0, 0, 0)"), ("max", "0.5"), ("min", "0"), ("subtract", "y(0, 0, 0)"), ("divide", "2"), ("power", "2")]
for (c, p), k in chosen.items():
    add(f"x({c})", f"x[{p}]", "T")
    if k % 2 == 0:
        f, v = updates[k // 2 % len(updates)]
        add(f"x.at({c}).{f}({v})", f"x.at[{p}].{f}({v.replace('(', '[').replace(')', ']')})", "T", *(["nograd"] if f in ("max", "min", "power") else []))
for mode in ("fill", "drop", "clip", "promise_in_bounds"):
    at = "array({0, 2, 1})" if mode == "promise_in_bounds" else "array({0, 7, -9})"
    py = at.replace("array({", "jnp.array([").replace("})", "])")
    for f in ("add", "set", "multiply", "min", "max"):
        add(f'x.at({at}).{f}(3, {{.mode = "{mode}"}})', f"x.at[{py}].{f}(3, mode='{mode}')", "M i32m", "nograd")
    add(f'x.at({at}).get({{.mode = "{mode}"}})', f"x.at[{py}].get(mode='{mode}')", "M i32m", "nograd")
for c, p, s, *f in [
    ("x(x > 0.5)", "x[x > 0.5]", "M T i32m", "nojit nograd"), ("x(y(slice(), 0) > 1)", "x[y[:, 0] > 1]", "M", "nojit nograd"), ("x(slice(), x(0) > 0)", "x[:, x[0] > 0]", "M", "nojit nograd"), ("x.at(x > 0.5).set(0)", "x.at[x > 0.5].set(0)", "M T i32m"), ("x.at(x > 0.5).add(y(0, 0))", "x.at[x > 0.5].add(y[0, 0])", "M"), ("x.at(x < 0).multiply(-1)", "x.at[x < 0].multiply(-1)", "M i32m"),
    ("x.at(1, slice(0, 2)).set(y(0, slice(0, 2)))", "x.at[1, :2].set(y[0, :2])", "M i32m"), ("x.at(slice(), array({0, 0, 3})).add(y(slice(), slice(0, 3)))", "x.at[:, jnp.array([0, 0, 3])].add(y[:, :3])", "M i32m"), ("x.at(array({0, 1}), array({{1}, {2}})).add(1)", "x.at[jnp.array([0, 1]), jnp.array([[1], [2]])].add(1)", "M i32m"), ("x[ix_(array({2, 0}), array({3, 1, 1}))]", "x[jnp.ix_(jnp.array([2, 0]), jnp.array([3, 1, 1]))]", "M i32m"),
]:
    add(c, p, s, *f)

section("further probability distributions")
for d in "gumbel_r gumbel_l".split():
    for f in "pdf logpdf cdf logcdf sf logsf".split():
        add(f"stats::{d}::{f}(x)", f"jax.scipy.stats.{d}.{f}(x)", "f32v f64v i32v")
        add(f"stats::{d}::{f}(z, x, y)", f"jax.scipy.stats.{d}.{f}(z, x, y)", "f32v f64v")
        add(f"stats::{d}::{f}(x, {{.scale = y}})", f"jax.scipy.stats.{d}.{f}(x, scale=y)", "f32v f64v")
    add(f"stats::{d}::ppf(z, x, y)", f"jax.scipy.stats.{d}.ppf(z, x, y)", "f32v f64v")
for f in "pdf logpdf".split():
    add(f"stats::vonmises::{f}(x, y)", f"jax.scipy.stats.vonmises.{f}(x, y)", "f32v f64v")
    add(f"stats::wrapcauchy::{f}(abs(x), z)", f"jax.scipy.stats.wrapcauchy.{f}(abs(x), z)", "f32v f64v")
for f in "pdf logpdf cdf".split():
    add(f"stats::gennorm::{f}(x, y)", f"jax.scipy.stats.gennorm.{f}(x, y)", "f32v f64v")
for f in "pmf logpmf".split():
    add(f"stats::betabinom::{f}(array({{0, 1, 2, 3, 4, 5, -1}}), 4, y, abs(x) + z)", f"jax.scipy.stats.betabinom.{f}(jnp.array([0, 1, 2, 3, 4, 5, -1]), 4, y, abs(x) + z)", "f32v f64v")
    add(f"stats::multinomial::{f}(array({{1, 0, 2, 0, 1, 0, 0}}), 4, nn::softmax(x))", f"jax.scipy.stats.multinomial.{f}(jnp.array([1, 0, 2, 0, 1, 0, 0]), 4, jax.nn.softmax(x))", "f32v f64v")
for f in "logcdf logsf".split():
    add(f"stats::cauchy::{f}(x)", f"jax.scipy.stats.cauchy.{f}(x)", "f32v f64v")
    add(f"stats::cauchy::{f}(z, x, y)", f"jax.scipy.stats.cauchy.{f}(z, x, y)", "f32v f64v")
for f in "logcdf sf logsf".split():
    add(f"stats::truncnorm::{f}(x, -1, 1)", f"jax.scipy.stats.truncnorm.{f}(x, -1, 1)", "f32v f64v", "nograd")
    add(f"stats::truncnorm::{f}(z, -abs(x), y, 0, 2)", f"jax.scipy.stats.truncnorm.{f}(z, -abs(x), y, 0, 2)", "f32v f64v", "nograd")
for f in "cdf logcdf sf logsf".split():
    add(f"stats::pareto::{f}(abs(x) + 3, y, z)", f"jax.scipy.stats.pareto.{f}(abs(x) + 3, y, z)", "f32v f64v")
    add(f"stats::pareto::{f}(x, y, {{.loc = -1, .scale = z}})", f"jax.scipy.stats.pareto.{f}(x, y, -1, z)", "f32v f64v", "nograd")
add("stats::pareto::ppf(z, y, x, 2)", "jax.scipy.stats.pareto.ppf(z, y, x, 2)", "f32v f64v")
add("stats::bernoulli::ppf(z, sigmoid(x))", "jax.scipy.stats.bernoulli.ppf(z, jax.nn.sigmoid(x))", "f32v f64v", "nograd")
add("stats::poisson::entropy(60 * abs(x))", "jax.scipy.stats.poisson.entropy(60 * abs(x))", "f32v", "nograd")

section("Bessel functions, spherical harmonics, Owen's T function")
# In float32 JAX's recurrence overflows. Of Owen's function it keeps float32 constants for float64, if it computed float32 before.
add("bessel_jn(20 * z, {.v = 2})", "jax.scipy.special.bessel_jn(20 * z, v=2)", "f64v")
add("bessel_jn(x, {.v = 4, .n_iter = 30})", "jax.scipy.special.bessel_jn(x, v=4, n_iter=30)", "f64v", "nograd")
for f in "real imag".split():
    add(f"{f}(sph_harm_y(array({{0, 1, 2, 3, 3, 4, 5}}), array({{0, -1, 1, 3, -2, 0, 5}}), y, x, {{.n_max = 5}}))",
        f"jnp.{f}(jax.scipy.special.sph_harm_y(jnp.array([0, 1, 2, 3, 3, 4, 5]), jnp.array([0, -1, 1, 3, -2, 0, 5]), y, x, n_max=5))", "f32v f64v")
add("owens_t(x, y)", "jax.scipy.special.owens_t(x, y)", "f32v")
add("owens_t(y, -z)", "jax.scipy.special.owens_t(y, -z)", "f32v")

section("cross products of vectors of two elements")
add("cross(x(slice(none, 2)), y(slice(none, 2)))", "jnp.cross(x[:2], y[:2])", "V I")
add("cross(x(slice(none, 2)), y(slice(none, 3)))", "jnp.cross(x[:2], y[:3])", "V")
add("cross(x(slice(none, 3)), y(slice(none, 2)))", "jnp.cross(x[:3], y[:2])", "V")
add("cross(x(slice(), slice(none, 2)), y(0, slice(none, 2)))", "jnp.cross(x[:, :2], y[0, :2])", "M")

section("hypergeometric and Faddeeva functions, rarer matrices")
add("hyp2f1(y, z, y + 1.5, x / 2.5)", "jax.scipy.special.hyp2f1(y, z, y + 1.5, x / 2.5)", "f32v f64v")
add("hyp2f1(z, 1.5, 2.25, z)", "jax.scipy.special.hyp2f1(z, 1.5, 2.25, z)", "f32v f64v")
add("hyp2f1(-2, y, 1.5, x)", "jax.scipy.special.hyp2f1(-2, y, 1.5, x)", "f64v", "nograd")
add("wofz(x)", "jax.scipy.special.wofz(x)", "f32v f64v c64v", "nograd")
for f in "real imag".split():
    add(f"{f}(wofz(x))", f"jnp.{f}(jax.scipy.special.wofz(x))", "f32v f64v")
add("linalg::invhilbert(4)", "jax.scipy.linalg.invhilbert(4)", "f32d")
for k in "symmetric lower upper".split():
    add(f'linalg::invpascal(4, "{k}")', f"jax.scipy.linalg.invpascal(4, '{k}')", "f32d")
add("linalg::fiedler_companion(y)", "jax.scipy.linalg.fiedler_companion(y)", "f32v f64v")
add("linalg::fiedler_companion(x)", "jax.scipy.linalg.fiedler_companion(x)", "f64v")
add("linalg::funm(z, sin)", "jax.scipy.linalg.funm(z, jnp.sin)", "f32s f64s", "nograd")
add("linalg::funm(x, exp)", "jax.scipy.linalg.funm(x, jnp.exp)", "f64s", "nograd")
add('linalg::qr_multiply(x, y, "left").product', "jax.scipy.linalg.qr_multiply(x, y, 'left')[0]", "f32s f64s", "nograd")
add("linalg::qr_multiply(z, x).product", "jax.scipy.linalg.qr_multiply(z, x)[0]", "f64m", "nograd")

keep = [l for l in lines if not l.split("\t")[-1] == "none" and "\tnone" not in l]
expressions.folder.joinpath("expressions.txt").write_text(
    "# C++, the same in Python, the sets of arrays (expressions.py) and what is left out: written by write_expressions.py.\n" + "\n".join(keep) + "\n")
t = expressions.table()
print(len(t), "expressions", sum(len(s) for _, _, _, s, _ in t), "cases")
