"""Programs of JAX's ecosystem on the platform weft beside the platform cpu: run by scripts/test-jax --ecosystem with JAX_PLATFORMS=weft,cpu.

Each is what a user of these packages writes; no line of it knows of weft. What is compared are numbers after several steps, so that tolerances
are those of sums in another order, grown over the steps."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest


def compare(program, rtol=2e-4, atol=2e-5):
    """The program's results on both platforms, as trees of NumPy's arrays."""
    results = {}
    for platform in ("weft", "cpu"):
        with jax.default_device(jax.devices(platform)[0]):
            out = program()
            assert {d.platform for x in jax.tree.leaves(out) if isinstance(x, jax.Array) for d in x.devices()} == {platform}
            results[platform] = jax.tree.map(np.asarray, out)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=atol), results["weft"], results["cpu"])
    return results["weft"]


def images(n=32):
    """Pictures of two kinds, with bars across or along."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 0.3, (n, 12, 12, 1)).astype(np.float32)
    y = rng.integers(0, 2, n)
    for i in range(n):
        at = rng.integers(0, 12)
        x[i, at if y[i] else slice(None), slice(None) if y[i] else at] += 2
    return x, y


def train_classifier(model, steps):
    optax = pytest.importorskip("optax")
    x, y = images()
    params = model.init(jax.random.key(0), jnp.asarray(x))
    optimizer = optax.adam(3e-3)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, x), y).mean()

        value, grads = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    losses = []
    for _ in range(steps):
        params, state, value = step(params, state, x, y)
        losses.append(value)
    return {"losses": losses, "params": params}


def test_flax_mlp_with_optax():
    nn = pytest.importorskip("flax.linen")

    class Mlp(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = x.reshape(x.shape[0], -1)
            for width in (32, 32):
                x = nn.relu(nn.Dense(width)(x))
            return nn.Dense(2)(x)

    out = compare(lambda: train_classifier(Mlp(), 10), rtol=2e-3, atol=2e-4)
    assert out["losses"][-1] < out["losses"][0]


def test_flax_cnn_with_optax():
    nn = pytest.importorskip("flax.linen")

    class Cnn(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.Conv(8, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
            x = nn.relu(nn.Conv(16, (3, 3))(x))
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
            x = nn.Dense(32)(x.reshape(x.shape[0], -1))
            return nn.Dense(2)(nn.LayerNorm()(x))

    out = compare(lambda: train_classifier(Cnn(), 6), rtol=5e-3, atol=5e-4)
    assert out["losses"][-1] < out["losses"][0]


def test_two_layer_gpt():
    nn = pytest.importorskip("flax.linen")
    optax = pytest.importorskip("optax")

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x):
            mask = nn.make_causal_mask(x[..., 0])
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(nn.LayerNorm()(x), mask=mask)
            return x + nn.Dense(64)(nn.gelu(nn.Dense(128)(nn.LayerNorm()(x))))

    class Gpt(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(17, 64)(tokens) + nn.Embed(16, 64)(jnp.arange(tokens.shape[1]))
            for _ in range(2):
                x = Block()(x)
            return nn.Dense(17)(nn.LayerNorm()(x))

    tokens = (np.arange(8)[:, None] * 3 + np.arange(17)[None]) % 17

    def program():
        model = Gpt()
        params = model.init(jax.random.key(1), jnp.asarray(tokens[:, :-1]))
        optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2))
        state = optimizer.init(params)

        @jax.jit
        def step(params, state, tokens):
            def loss(p):
                logits = model.apply(p, tokens[:, :-1])
                return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

            value, grads = jax.value_and_grad(loss)(params)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, value

        losses = []
        for _ in range(5):
            params, state, value = step(params, state, tokens)
            losses.append(value)
        return {"losses": losses, "logits": model.apply(params, tokens[:, :-1])}

    out = compare(program, rtol=1e-2, atol=1e-2)
    assert out["losses"][-1] < out["losses"][0]


def test_diffrax_neural_ode():
    diffrax = pytest.importorskip("diffrax")
    optax = pytest.importorskip("optax")
    eqx = pytest.importorskip("equinox")
    times = np.linspace(0, 1, 9, dtype=np.float32)
    wanted = np.stack([np.cos(2 * times), np.sin(2 * times)], 1)

    def program():
        field = eqx.nn.MLP(2, 2, 16, 2, activation=jnp.tanh, key=jax.random.key(2))

        def solve(field, start):
            return diffrax.diffeqsolve(diffrax.ODETerm(lambda t, y, args: field(y)), diffrax.Tsit5(), 0.0, 1.0, 0.1, start,
                                       saveat=diffrax.SaveAt(ts=jnp.asarray(times)), adjoint=diffrax.RecursiveCheckpointAdjoint(),
                                       stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5)).ys

        optimizer = optax.adam(1e-2)
        state = optimizer.init(eqx.filter(field, eqx.is_inexact_array))

        @eqx.filter_jit
        def step(field, state):
            value, grads = eqx.filter_value_and_grad(lambda f: ((solve(f, jnp.asarray(wanted[0])) - wanted) ** 2).mean())(field)
            updates, state = optimizer.update(grads, state)
            return eqx.apply_updates(field, updates), state, value

        losses = []
        for _ in range(3):
            field, state, value = step(field, state)
            losses.append(value)
        return {"losses": losses, "path": solve(field, jnp.asarray(wanted[0]))}

    out = compare(program, rtol=1e-2, atol=1e-2)
    assert out["losses"][-1] < out["losses"][0]


def test_numpyro_nuts():
    numpyro = pytest.importorskip("numpyro")
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS

    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def schools():
        mean = numpyro.sample("mean", dist.Normal(0, 5))
        spread = numpyro.sample("spread", dist.HalfCauchy(5))
        with numpyro.plate("schools", len(effects)):
            offset = numpyro.sample("offset", dist.Normal(0, 1))
            numpyro.sample("seen", dist.Normal(mean + spread * offset, errors), obs=effects)

    def program():
        mcmc = MCMC(NUTS(schools), num_warmup=30, num_samples=20, progress_bar=False)
        mcmc.run(jax.random.key(3))
        return mcmc.get_samples()

    # A path of the sampler multiplies what rounding leaves: in float64 that is seen in no sample of so few.
    with jax.enable_x64(True):
        out = compare(program, rtol=1e-5, atol=1e-5)
    assert out["offset"].shape == (20, 8) and np.ptp(out["mean"]) > 0.1
