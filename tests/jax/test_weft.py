"""Programs of JAX on the platform weft beside the platform cpu: run by scripts/test-jax with JAX_PLATFORMS=weft,cpu and four devices."""
import contextlib

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from jax.experimental.shard_alike import shard_alike
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

set_mesh = jax.set_mesh if hasattr(jax, "set_mesh") else jax.sharding.use_mesh
x = np.linspace(0.5, 2.0, 12, dtype=np.float32).reshape(3, 4)
square = x.T @ x + 4 * np.eye(4, dtype=np.float32)


def softmax_layer(w, b, v):
    return jax.nn.log_softmax(jnp.tanh(v @ w) + b).sum()


def loop(v):
    return jax.lax.fori_loop(0, 5, lambda i, c: c + i * jnp.sin(c), v)


def until(v):
    return jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 1.5, v)


FUNCTIONS = {
    "sin": (jnp.sin, x),
    "grad": (jax.grad(lambda v: (v * jnp.sin(v)).sum()), x),
    "layer": (jax.grad(softmax_layer, argnums=(0, 1)), x.T, x[0, :3], x),
    "vmap": (jax.vmap(lambda v: jnp.outer(v, v)), x),
    "scan": (lambda v: jax.lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(4), v), x),
    "grad of scan": (jax.grad(lambda v: jax.lax.scan(lambda c, r: (jnp.sin(c + r), c * r), jnp.zeros(4), v)[1].sum()), x),
    "fori_loop": (loop, x),
    "while_loop": (until, x),
    "cond": (lambda v: jax.lax.cond(v.sum() > 3, jnp.sin, jnp.cos, v), x),
    "switch": (lambda i, v: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.exp], v), np.int32(2), x),
    "normal": (lambda k: jax.random.normal(jax.random.wrap_key_data(k), (3, 5)), np.array([1, 2], np.uint32)),
    "permutation": (lambda k: jax.random.permutation(jax.random.wrap_key_data(k), 9), np.array([1, 2], np.uint32)),
    "sort": (lambda v: jnp.sort(jnp.sin(9 * v), axis=1), x),
    "argsort": (lambda v: jnp.argsort(jnp.sin(9 * v), axis=0), x),
    "top_k": (lambda v: jax.lax.top_k(jnp.sin(9 * v), 2), x),
    "fft": (lambda v: jnp.fft.fft2(v), x),
    "rfft": (lambda v: jnp.fft.irfft(jnp.fft.rfft(v)), x),
    "cholesky": (jnp.linalg.cholesky, square),
    "eigvalsh": (jnp.linalg.eigvalsh, square),
    "svd": (lambda a: jnp.linalg.svd(a, compute_uv=False), x),
    "qr": (lambda a: jnp.abs(jnp.linalg.qr(a)[1]), x),
    "qr of many": (lambda a: jnp.linalg.qr(jnp.stack([a, 2 * a, a + 1]), mode="complete"), x),
    "grad of qr": (jax.grad(lambda a: jnp.abs(jnp.linalg.qr(a)[1]).sum()), square),
    "eigvals": (lambda a: jnp.sort(jnp.linalg.eigvals(a).real), square),
    "schur": (lambda a: jnp.abs(jnp.diagonal(jax.scipy.linalg.schur(a)[0])), square),
    "hessenberg": (lambda a: jnp.abs(jax.scipy.linalg.hessenberg(a)), square),
    "tridiagonal": (lambda a: jax.lax.linalg.tridiagonal(a)[1:], square),
    # Of full rank: else rounding decides among the last columns.
    "qr with pivots": (lambda a: jax.scipy.linalg.qr(jnp.sin(7 * a * a), pivoting=True)[2], x),
    "solve": (lambda a, b: jnp.linalg.solve(a, b), square, x[0]),
    "grad of solve": (jax.grad(lambda a, b: jnp.linalg.solve(a, b).sum()), square, x[0]),
    "det": (jnp.linalg.det, square),
    "conv": (lambda a: jax.lax.conv(a.reshape(1, 1, 3, 4), jnp.ones((2, 1, 2, 2)), (1, 1), "SAME"), x),
    "gather": (lambda v: v[jnp.array([2, 0]), jnp.array([1, 3])], x),
    "scatter": (lambda v: v.at[jnp.array([2, 0, 2])].add(1.0), x),
    "cumsum": (lambda v: jnp.cumsum(v, axis=1), x),
    "erf": (jax.scipy.special.erf, x),
    "complex": (lambda v: jnp.exp(1j * v), x),
    "bfloat16": (lambda v: (v.astype(jnp.bfloat16) * 2).astype(jnp.float32), x),
    "float8": (lambda v: (v.astype(jnp.float8_e4m3fn) * 3).astype(jnp.float32), x),
    "int4": (lambda v: (v.astype(jnp.int4) * 5).astype(jnp.int32), x),
    "integers": (lambda v: (v.astype(jnp.int32) << 3) % 5, x),
}


def on(platform, f, arguments):
    device = jax.devices(platform)[0]
    with jax.default_device(device):
        out = jax.jit(f)(*[jax.device_put(a, device) for a in arguments])
    return jax.tree.map(np.asarray, out)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_on_cpu(name):
    f, *arguments = FUNCTIONS[name]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5), on("weft", f, arguments), on("cpu", f, arguments))


def test_devices():
    assert [str(d) for d in jax.devices("weft")] == ["weft:0", "weft:1", "weft:2", "weft:3"]
    assert jax.devices("weft")[0].memory_stats()["bytes_limit"] > 0


def test_donation():
    a = jax.device_put(x, jax.devices("weft")[0])
    b = jax.jit(lambda v: v + 1, donate_argnums=0)(a)
    np.testing.assert_array_equal(np.asarray(b), x + 1)
    assert a.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        a + 1


def test_zero_copy():
    big = np.arange(1 << 16, dtype=np.float32)
    a = jax.device_put(big, jax.devices("weft")[0])
    np.testing.assert_array_equal(np.asarray(a), big)
    np.testing.assert_array_equal(np.asarray(a + 1), big + 1)
    del a
    big[:] = 0


def test_a_view_keeps_the_memory():
    for gone in (lambda v: v.delete()), jax.jit(lambda v: v + 1, donate_argnums=0):
        a = jax.device_put(x, jax.devices("weft")[0])
        view = memoryview(a)
        gone(a)
        assert a.is_deleted() and view.tobytes() == x.tobytes()


def mesh():
    return jax.sharding.Mesh(np.array(jax.devices("weft")).reshape(2, 2), ("i", "j"), axis_types=(AxisType.Auto,) * 2)


def test_sharded_jit():
    m = mesh()
    a = jax.device_put(np.arange(64, dtype=np.float32).reshape(8, 8), NamedSharding(m, P("i", "j")))
    f = jax.jit(lambda v: (jnp.sin(v) @ v.T, v.sum()))
    product, total = f(a)
    host = np.asarray(a)
    np.testing.assert_allclose(np.asarray(product), np.sin(host) @ host.T, rtol=1e-4, atol=1e-3)
    assert float(total) == host.sum()
    assert jax.jit(jnp.sin)(a).sharding.is_equivalent_to(a.sharding, 2)


def test_shard_map():
    m = mesh()
    f = jax.shard_map(lambda b: jax.lax.psum(b, "i") + jax.lax.axis_index("j"), mesh=m, in_specs=P("i", "j"), out_specs=P(None, "j"))
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    wanted = a[:2] + a[2:] + np.array([0, 0, 1, 1], np.float32)
    np.testing.assert_array_equal(np.asarray(jax.jit(f)(a)), wanted)


def test_shardings_as_xla_writes_them():
    """Programs of GSPMD's notation, in place of Shardy's: constraints, maps, and maps that leave an axis to the partitioner."""
    if not hasattr(jax.config, "jax_use_shardy_partitioner"):
        pytest.skip("this JAX has one notation only")
    m = mesh()
    before = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        v = np.arange(64, dtype=np.float32).reshape(8, 8) / 64
        constrained = jax.jit(lambda u: jnp.sin(jax.lax.with_sharding_constraint(u, NamedSharding(m, P("j", "i")))) @ u.T,
                              in_shardings=NamedSharding(m, P(None, ("i", "j"))), out_shardings=NamedSharding(m, P("i")))(v)
        np.testing.assert_allclose(np.asarray(constrained), np.sin(v) @ v.T, rtol=1e-4)
        assert constrained.sharding.is_equivalent_to(NamedSharding(m, P("i")), 2)
        summed = lambda u: jax.lax.psum(u, "i") * (1 + jax.lax.axis_index("j"))
        mapped = jax.jit(jax.shard_map(summed, mesh=m, in_specs=P("i", "j"), out_specs=P(None, "j")))(v)
        columns = np.repeat(np.arange(m.shape["j"]) + 1, 8 // m.shape["j"])
        np.testing.assert_allclose(np.asarray(mapped), v.reshape(m.shape["i"], -1, 8).sum(0) * columns, rtol=1e-6)
        assert mapped.sharding.is_equivalent_to(NamedSharding(m, P(None, "j")), 2)
        partly = jax.shard_map(lambda u: jax.lax.psum(jnp.sin(u), "i"), mesh=m, in_specs=P("i"), out_specs=P(), axis_names={"i"})
        np.testing.assert_allclose(np.asarray(jax.jit(partly)(v)), np.sin(v).reshape(m.shape["i"], -1, 8).sum(0), rtol=1e-5)
    finally:
        jax.config.update("jax_use_shardy_partitioner", before)


def test_collectives_beside_other_work():
    from jax._src.lax import parallel

    if not hasattr(parallel, "psum_start"):
        pytest.skip("this JAX has no asynchronous collectives")
    f = jax.shard_map(lambda b: jnp.sin(b) + parallel.psum_start(b, "i").done(), mesh=mesh(), in_specs=P("i", "j"), out_specs=P("i", "j"))
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    np.testing.assert_allclose(np.asarray(jax.jit(f)(a)), np.sin(a) + np.tile(a[:2] + a[2:], (2, 1)), rtol=1e-6)


def test_custom_partitioning_is_the_function():
    @custom_partitioning
    def product(a, b):
        return jnp.sin(a) @ b

    product.def_partition(partition=lambda *_: pytest.fail("weft's own rules partition"), sharding_rule="i k, k j -> i j")
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    s = NamedSharding(mesh(), P("i", "j"))
    np.testing.assert_allclose(np.asarray(jax.jit(product)(jax.device_put(a, s), jax.device_put(a, s))), np.sin(a) @ a, rtol=1e-5)


def test_values_that_are_divided_alike():
    a = jax.device_put(np.arange(16, dtype=np.float32).reshape(4, 4), NamedSharding(mesh(), P("i", "j")))
    like, other = jax.jit(lambda v: shard_alike(v, v * 2))(a)
    np.testing.assert_array_equal(np.asarray(other), 2 * np.asarray(like))
    assert other.sharding.is_equivalent_to(a.sharding, 2)


def test_pmap():
    f = jax.pmap(lambda v: jax.lax.psum(v, "i") + jax.lax.ppermute(v, "i", [(k, (k + 1) % 4) for k in range(4)]), axis_name="i",
                 devices=jax.devices("weft"))
    np.testing.assert_array_equal(np.asarray(f(np.arange(4.0, dtype=np.float32))), [9, 6, 7, 8])


def test_errors_name_the_line():
    with pytest.raises(Exception, match=r"test_weft.py(.|\n)*@nobody is not known"):
        jax.jit(lambda v: jax.ffi.ffi_call("nobody", v)(v))(jax.device_put(x, jax.devices("weft")[0]))


def test_callbacks():
    device = jax.devices("weft")[0]
    f = jax.jit(lambda v: jax.pure_callback(np.sin, v, v) + 1, device=device)
    np.testing.assert_allclose(np.asarray(f(x)), np.sin(x) + 1, rtol=1e-6)
    seen = []

    def note(i, v):
        seen.append((int(i), float(v)))
        return np.float32(v * 2)

    def step(i, c):
        return jax.experimental.io_callback(note, jax.ShapeDtypeStruct((), np.float32), i, c, ordered=True)

    assert float(jax.jit(lambda c: jax.lax.fori_loop(0, 3, step, c), device=device)(np.float32(1))) == 8
    assert seen == [(0, 1.0), (1, 2.0), (2, 4.0)]
    with pytest.raises(Exception, match="ValueError: no such number"):

        def fail(v):
            raise ValueError("no such number")

        jax.block_until_ready(jax.jit(lambda v: jax.pure_callback(fail, v, v), device=device)(x))


def test_callbacks_without_arguments_and_of_small_floats():
    device = jax.devices("weft")[0]
    with jax.default_device(device):
        f = jax.jit(lambda: jax.pure_callback(lambda: np.full(3, 2, np.float32), jax.ShapeDtypeStruct((3,), np.float32)))
        np.testing.assert_array_equal(np.asarray(f()), [2, 2, 2])
        for dtype in (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float4_e2m1fn, jnp.int4):
            small = np.array([0, 1, 3, -2], np.float32).astype(dtype)
            given = jax.device_put(small, device)
            got = jax.jit(lambda v: jax.pure_callback(lambda u: np.asarray(u)[::-1], jax.ShapeDtypeStruct((4,), v.dtype), v))(given)
            np.testing.assert_array_equal(np.asarray(got), small[::-1])


def test_callbacks_under_a_mesh():
    # Their functions call JAX, too: outside of the mesh and the trace that the program's caller is in.
    def both(v):
        return v + 1, jnp.sum(v) * v

    def body(v):
        like = jax.ShapeDtypeStruct(v.shape, v.dtype)
        return jax.pure_callback(both, (like, like), v)

    m = jax.sharding.Mesh(np.array(jax.devices("weft")), ("i",), axis_types=(AxisType.Explicit,))
    with set_mesh(m):
        a = jax.device_put(np.arange(8, dtype=np.float32), P("i"))
        first, second = jax.shard_map(body, in_specs=P("i"), out_specs=(P("i"), P("i")))(a)
    np.testing.assert_array_equal(np.asarray(first), np.arange(8) + 1)
    np.testing.assert_array_equal(np.asarray(second), np.arange(8) * np.repeat([1, 5, 9, 13], 2))


def test_inspected_shardings():
    told = []
    note = lambda name: lambda s: told.append((name, s.mesh.axis_names, s.mesh.devices.shape, s.spec))
    m = jax.sharding.Mesh(np.array(jax.devices("weft")).reshape(2, 2), ("i", "j"))

    @jax.jit
    def f(v, whole):
        jax.debug.inspect_array_sharding(v, callback=note("argument"))
        y = jax.lax.with_sharding_constraint(jnp.sin(v).T, NamedSharding(m, P(None, ("i", "j"))))
        jax.debug.inspect_array_sharding(y, callback=note("both axes"))
        jax.debug.inspect_array_sharding(whole + 1, callback=note("whole"))

        def body(u):
            jax.debug.inspect_array_sharding(u, callback=note("block"))
            return u * 2

        return jax.shard_map(body, mesh=m, in_specs=P("i"), out_specs=P("i"))(v), y

    v, w = jax.device_put(np.arange(32, dtype=np.float32).reshape(8, 4), NamedSharding(m, P("i"))), jax.device_put(np.float32(1), NamedSharding(m, P()))
    out = f(v, w)
    np.testing.assert_array_equal(np.asarray(out[0]), 2 * np.asarray(v))
    assert [t for t in told if t[0] != "block"] == [("argument", ("i", "j"), (2, 2), P("i", None)), ("both axes", ("i", "j"), (2, 2), P(None, ("i", "j"))),
                                                    ("whole", ("i", "j"), (2, 2), P())]
    assert [t[3] for t in told if t[0] == "block"] == [P()]

    def fails(sharding):
        raise ValueError("not like this")

    with pytest.raises(jax.errors.JaxRuntimeError, match="not like this"):
        jax.jit(lambda u: (jax.debug.inspect_array_sharding(u, callback=fails), u + 1)[1])(v)


@pytest.mark.parametrize("aliases", [None, {0: 0}])
def test_buffer_callback(aliases):
    from jax.experimental.buffer_callback import ExecutionStage, buffer_callback

    seen = []

    def double(context, out, v, *, by):
        seen.append((context.stage, v.shape, v.dtype, out.ndim, v.writeable, out.writeable))
        with pytest.raises(jax.errors.JaxRuntimeError, match="GPU context is not available"):
            context.stream
        np.asarray(out)[...] = np.from_dlpack(v) * np.asarray(by)

    call = buffer_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype), vmap_method="sequential", input_output_aliases=aliases)
    with jax.default_device(jax.devices("weft")[0]):
        scale = jnp.float32(3)
        for f in (call, jax.jit(call), lambda v, by: jax.jit(jax.vmap(lambda u: call(u, by=by)))(v[None])[0]):
            np.testing.assert_array_equal(np.asarray(f(x, by=scale)), x * 3)
        assert set(seen) == {(ExecutionStage.EXECUTE, x.shape, np.dtype(np.float32), 2, False, True)}
        wrong = buffer_callback(lambda context, out: 1, jax.ShapeDtypeStruct((), np.float32), has_side_effect=True)
        with pytest.raises(jax.errors.JaxRuntimeError, match="must not return any values"):
            jax.block_until_ready(wrong())


def test_sparse_solve():
    from jax.experimental.sparse.linalg import spsolve

    rows, columns = np.nonzero(np.triu(square))
    matrix = np.triu(square)
    begins = np.searchsorted(rows, np.arange(5)).astype(np.int32)
    data, b = matrix[rows, columns], np.arange(1, 5, dtype=np.float32)
    with jax.default_device(jax.devices("weft")[0]):
        solve = lambda d, v: spsolve(d, columns.astype(np.int32), begins, v)
        np.testing.assert_allclose(np.asarray(jax.jit(solve)(data, b)), np.linalg.solve(matrix, b), rtol=1e-5)
        gradient = jax.grad(lambda v: solve(data, v).sum())(b)
    np.testing.assert_allclose(np.asarray(gradient), np.linalg.solve(matrix.T, np.ones(4, np.float32)), rtol=1e-4)


def test_layouts():
    from jax.experimental.layout import Format, Layout

    v = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    one = jax.sharding.SingleDeviceSharding(jax.devices("weft")[0])
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        f = Format(Layout(order), one)
        a = jax.device_put(v, f)
        assert a.format.layout.major_to_minor == order
        np.testing.assert_array_equal(np.asarray(a), v)
        np.testing.assert_array_equal(np.asarray(a + 1), v + 1)
        b = jax.jit(lambda u: jnp.swapaxes(u, 0, 2) * 2, in_shardings=f, out_shardings=Format(Layout(order), one))(a)
        assert b.format.layout.major_to_minor == order
        np.testing.assert_array_equal(np.asarray(b), v.T * 2)
        np.testing.assert_array_equal(np.asarray(jax.device_put(b, Format(Layout((0, 1, 2)), one))), v.T * 2)
        # The results of one program are another's arguments, also donated ones.
        c = jax.jit(lambda u: u + 1, donate_argnums=0, in_shardings=f, out_shardings=f)(a)
        np.testing.assert_array_equal(np.asarray(c), v + 1)
        assert a.is_deleted()


def test_layouts_of_sharded_arrays():
    from jax.experimental.layout import Format, Layout

    m = jax.sharding.Mesh(np.array(jax.devices("weft")).reshape(2, 2), ("i", "j"))
    v = np.arange(32, dtype=np.float32).reshape(4, 8)
    for spec in (P("i", "j"), P("j"), P(None, "i"), P()):
        f = Format(Layout((1, 0)), NamedSharding(m, spec))
        a = jax.device_put(v, f)
        assert a.format.layout.major_to_minor == (1, 0)
        np.testing.assert_array_equal(np.asarray(a), v)
        for shard in a.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), v[shard.index])
        b = jax.jit(lambda u: u.T @ u, in_shardings=f, out_shardings=f)(a)
        assert b.format.layout.major_to_minor == (1, 0) and b.sharding == f.sharding
        np.testing.assert_array_equal(np.asarray(b), v.T @ v)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda u: u * 2)(a)), v * 2)


def test_names_of_programs_need_no_letters():
    # jit_scatter-add: the shardings of its results are read from a text that names it.
    m = jax.sharding.Mesh(np.array(jax.devices("weft")), ("i",), axis_types=(AxisType.Explicit,))
    with set_mesh(m):
        out = jnp.repeat(jax.device_put(np.eye(4, dtype=np.float32), P("i")), np.array([2, 0, 1, 1]), axis=0, out_sharding=P("i"))
    assert out.sharding.spec == P("i", None)
    np.testing.assert_array_equal(np.asarray(out), np.eye(4)[[0, 0, 2, 3]])


def test_subnormal_numbers_are_zeros():
    small = np.full(100000, 2e-38, np.float32)
    results = [np.asarray(jax.jit(lambda v: v * 0.5)(jax.device_put(small, jax.devices(platform)[0]))) for platform in ("weft", "cpu")]
    np.testing.assert_array_equal(*results)


def test_debug_print(capfd):
    jax.jit(lambda v: jax.debug.print("sum {} of {}", v.sum(), v), device=jax.devices("weft")[0])(np.ones(3, np.float32))
    jax.effects_barrier()
    assert capfd.readouterr().out == "sum 3.0 of [1. 1. 1.]\n"


def test_dlpack():
    a = jax.device_put(np.arange(5, dtype=np.float32), jax.devices("weft")[0])
    given = np.from_dlpack(a)
    np.testing.assert_array_equal(given, np.arange(5))
    assert given.ctypes.data == a.unsafe_buffer_pointer()
    del a
    np.testing.assert_array_equal(given, np.arange(5))


@contextlib.contextmanager
def compilation_cache_in(folder):
    from jax.experimental.compilation_cache import compilation_cache

    settings = {"jax_compilation_cache_dir": str(folder), "jax_persistent_cache_min_compile_time_secs": 0.0}
    before = {name: getattr(jax.config, name) for name in settings}
    compilation_cache.reset_cache()
    try:
        for name, value in settings.items():
            jax.config.update(name, value)
        yield lambda: [f.name for f in folder.iterdir() if f.name.endswith("-cache")]
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def test_compilation_cache(tmp_path):
    with compilation_cache_in(tmp_path) as kept:
        a = jax.device_put(x, jax.devices("weft")[0])
        outputs = []
        for _ in range(2):
            jax.clear_caches()
            outputs.append(np.asarray(jax.jit(lambda v: jnp.tanh(v) @ v.T)(a)))
        assert kept()
        np.testing.assert_array_equal(*outputs)


def test_compilation_cache_leaves_out_functions_of_this_process(tmp_path):
    def in_a_loop(v):
        return jax.lax.fori_loop(0, 3, lambda _, u: jax.pure_callback(lambda w: w + 1, jax.ShapeDtypeStruct(v.shape, v.dtype), u), v)

    def told(v):
        jax.debug.callback(lambda w: None, v)
        return v * 2

    with compilation_cache_in(tmp_path) as kept:
        a = jax.device_put(x, jax.devices("weft")[0])
        for f in (in_a_loop, told):
            jax.jit(f)(a).block_until_ready()
            assert not [name for name in kept() if f.__name__ in name]
        # Also while functions live, programs that call none of them are kept.
        jax.jit(lambda v: jnp.tanh(v) * 3)(a).block_until_ready()
        assert kept()


def test_executables_are_kept():
    from jax.experimental import serialize_executable

    a = jax.device_put(x, jax.devices("weft")[0])
    compiled = jax.jit(lambda v: v * 2).lower(a).compile()
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled), backend="weft",
                                                      execution_devices=[jax.devices("weft")[0]])
    np.testing.assert_array_equal(np.asarray(again(a)), 2 * x)
    assert compiled.cost_analysis()["flops"] >= 12
    assert compiled.memory_analysis().output_size_in_bytes == x.nbytes
