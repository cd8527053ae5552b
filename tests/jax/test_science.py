"""Packages for science on the platform weft beside the platform cpu: run by scripts/test-jax --ecosystem, as test_ecosystem.py is."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from test_ecosystem import compare


def test_optimistix_and_lineax():
    optx = pytest.importorskip("optimistix")
    lx = pytest.importorskip("lineax")

    def rosenbrock(x, args):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def program():
        a = jax.random.normal(jax.random.key(0), (12, 12)) + 5 * jnp.eye(12)
        b = jax.random.normal(jax.random.key(1), (12,))
        general = lx.MatrixLinearOperator(a)
        definite = lx.MatrixLinearOperator(a @ a.T, lx.positive_semidefinite_tag)
        tall = lx.MatrixLinearOperator(jax.random.normal(jax.random.key(2), (30, 12)))
        return {
            "minimum": optx.minimise(rosenbrock, optx.BFGS(1e-6, 1e-6), jnp.array([-1.2, 1.0, 0.5]), max_steps=2000).value,
            "simplex": optx.minimise(rosenbrock, optx.NelderMead(1e-5, 1e-5), jnp.array([-1.2, 1.0]), max_steps=2000).value,
            "fit": optx.least_squares(lambda x, args: jnp.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), optx.LevenbergMarquardt(1e-6, 1e-6),
                                      jnp.array([-1.2, 1.0])).value,
            "root's derivative": jax.grad(lambda c: optx.root_find(lambda x, c: x**2 - c, optx.Newton(1e-6, 1e-6), jnp.array(1.0), c).value)(
                jnp.array(3.0)),
            "solutions": [lx.linear_solve(general, b, s).value for s in (lx.LU(), lx.GMRES(1e-6, 1e-6))]
                         + [lx.linear_solve(definite, b, s).value for s in (lx.Cholesky(), lx.CG(1e-6, 1e-6))]
                         + [lx.linear_solve(tall, jnp.ones(30), s).value for s in (lx.QR(), lx.SVD())],
            "solution's gradient": jax.grad(lambda a: jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(a), b).value ** 2))(a),
        }

    compare(program, rtol=1e-3, atol=1e-3)


def test_e3nn_tensor_products():
    e3nn = pytest.importorskip("e3nn_jax")

    def program():
        x = jax.random.normal(jax.random.key(0), (17, 3))
        features = e3nn.IrrepsArray("4x0e+2x1o", jax.random.normal(jax.random.key(1), (17, 10)))

        def products(x):
            return e3nn.tensor_product(features, e3nn.spherical_harmonics("0e+1o+2e+3o", x, True))

        rotated = products(x).transform_by_matrix(e3nn.rand_matrix(jax.random.key(2)))
        return {"rotated": rotated.array, "gradient": jax.grad(lambda x: jnp.sum(jnp.sin(products(x).array)))(x)}

    compare(program)


def test_jraph_network():
    jraph = pytest.importorskip("jraph")
    keys = jax.random.split(jax.random.key(0), 7)

    def program():
        graph = jraph.GraphsTuple(nodes=jax.random.normal(keys[0], (7, 4)), edges=jax.random.normal(keys[1], (12, 4)), globals=jnp.ones((2, 2)),
                                  senders=jax.random.randint(keys[2], (12,), 0, 7), receivers=jax.random.randint(keys[3], (12,), 0, 7),
                                  n_node=jnp.array([4, 3]), n_edge=jnp.array([7, 5]))
        weights = [jax.random.normal(k, s) for k, s in zip(keys[4:], [(14, 4), (14, 4), (10, 2)])]

        def loss(weights):
            edges, nodes, whole = weights
            network = jraph.GraphNetwork(lambda e, s, r, g: jnp.tanh(jnp.concatenate([e, s, r, g], 1) @ edges),
                                         lambda n, s, r, g: jnp.tanh(jnp.concatenate([n, s, r, g], 1) @ nodes),
                                         lambda n, e, g: jnp.concatenate([n, e, g], 1) @ whole)
            return jnp.sum(network(network(graph)).globals ** 2)

        return {"value": jax.jit(jax.value_and_grad(loss))(weights), "weights": jraph.segment_softmax(jnp.arange(12.0), graph.receivers, 7)}

    compare(program)


def test_ott_sinkhorn():
    pytest.importorskip("ott")
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    def program():
        x = jax.random.normal(jax.random.key(0), (40, 3))
        y = jax.random.normal(jax.random.key(1), (50, 3)) + 1

        def cost(x):
            return sinkhorn.Sinkhorn()(linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=0.5))).reg_ot_cost

        return jax.jit(jax.value_and_grad(cost))(x)

    compare(program)


def test_keras_training(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    draw = np.random.RandomState(0)
    words, targets = draw.randint(0, 50, (32, 14)), draw.randn(32, 1).astype("float32")
    images, classes = draw.randn(32, 12, 12, 3).astype("float32"), draw.randint(0, 4, 32)

    def program():
        layers = keras.layers
        keras.utils.set_random_seed(3)
        given = layers.Input((14,))
        embedded = layers.Embedding(50, 16, mask_zero=True)(given)
        attended = layers.LayerNormalization()(layers.MultiHeadAttention(2, 8)(embedded, embedded) + embedded)
        state = layers.GRU(8)(layers.Bidirectional(layers.LSTM(8, return_sequences=True))(attended))
        reader = keras.Model(given, layers.Dense(1)(layers.Dropout(0.1)(state)))
        reader.compile("rmsprop", "mse")
        seer = keras.Sequential([layers.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same", activation="gelu"), layers.MaxPooling2D(),
                                 layers.SeparableConv2D(8, 3), layers.GroupNormalization(4), layers.GlobalAveragePooling2D(), layers.Dense(4)])
        seer.compile(keras.optimizers.AdamW(1e-2), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        losses = [m.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0).history["loss"] for m, x, y in
                  [(reader, words, targets), (seer, images, classes)]]
        return {"losses": losses, "read": reader.predict(words, verbose=0), "resized": keras.ops.image.resize(images[:1], (9, 4))}

    compare(program, rtol=1e-3, atol=1e-3)


def test_mctx_search():
    mctx = pytest.importorskip("mctx")

    def step(params, key, action, state):
        return mctx.RecurrentFnOutput(reward=jnp.sin(action + state[:, 0]), discount=jnp.full(action.shape, 0.9), prior_logits=jnp.cos(state),
                                      value=jnp.tanh(state.sum(1))), jnp.roll(state, 1, 1) + action[:, None] * 0.1

    def program():
        root = mctx.RootFnOutput(prior_logits=jax.random.normal(jax.random.key(0), (4, 6)), value=jnp.zeros(4),
                                 embedding=jax.random.normal(jax.random.key(1), (4, 6)))
        found = jax.jit(lambda key: mctx.gumbel_muzero_policy(None, key, root, step, num_simulations=24, max_depth=8))(jax.random.PRNGKey(3))
        return {"actions": found.action, "weights": found.action_weights}

    compare(program)


def test_pix_images():
    pix = pytest.importorskip("dm_pix")

    def program():
        a, b = jax.random.uniform(jax.random.key(0), (20, 24, 3)), jax.random.uniform(jax.random.key(1), (20, 24, 3))
        return {"blurred": pix.gaussian_blur(a, 1.5, 5), "hsv": pix.rgb_to_hsv(a), "rotated": pix.rotate(a, 0.4), "similarity": pix.ssim(a, b),
                "elastic": pix.elastic_deformation(jax.random.PRNGKey(2), a, alpha=5.0, sigma=3.0),
                "cropped": pix.random_crop(jax.random.PRNGKey(4), a, (8, 9, 3)), "hue": pix.adjust_hue(a, 0.1)}

    compare(program)
