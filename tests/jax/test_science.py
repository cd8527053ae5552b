"""Packages for science on the platform weft beside the platform cpu: run by scripts/test-jax --ecosystem, as test_ecosystem.py is."""
import jax
import jax.numpy as jnp
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
