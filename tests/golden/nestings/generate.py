"""What JAX gives for nestings of maps, jit and grad in all orders: arrays.npz, for tests/transforms/map_nestings.cpp.

Each program is a word. Its letters, from the outermost, wrap the function `body`:
  v  vmap with an axis name          p  pmap              s, t  shard_map over one axis of a mesh of 2 x 4
  m  smap over the axis s            j  jit               J     jit of an argument that is sharded over the mesh
  g  the gradient of a sum          S  shard_map over all axes, divided over s           w  vmap with spmd_axis_name t
A map takes the leading dimension of its argument. A word that JAX runs only with check_vma=False ends with `!`; those that it refuses
are left out.

Run with JAX 0.10.2: python generate.py
"""
import contextlib
import itertools
import os
import sys

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'
os.environ['JAX_PLATFORMS'] = 'cpu'

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

SIZES = {'v': 4, 'p': 2, 's': 2, 'm': 2, 't': 4, 'w': 4, 'S': 2}
AXES = {'v': 'v', 'p': 'p', 's': 's', 'm': 's', 't': 't', 'S': 's'}
MESH = Mesh(np.array(jax.devices()).reshape(2, 4), ('s', 't'))


def body(x, axes):
  y = jnp.sin(x) * 1.5
  for k, (axis, size) in enumerate(axes):
    y = y + jax.lax.psum(y * jnp.cos(x), axis) / (2 + k)
    y = y * (1 + jax.lax.axis_index(axis) / 8)
    if k % 2 == 0:
      y = y + jax.lax.ppermute(y * x, axis, [(i, (i + 1) % size) for i in range(size)]) / 4
    else:
      y = y + jnp.sum(jax.lax.all_gather(jnp.tanh(y), axis), 0) / 8
  return y


def wrapped(word, axes, check_vma):
  if not word:
    return lambda x: body(x, axes)
  letter = word[0]
  inside = wrapped(word[1:], axes + [(AXES[letter], SIZES[letter])] if letter in AXES else axes, check_vma)
  if letter == 'v':
    return jax.vmap(inside, axis_name='v')
  if letter == 'w':
    return jax.vmap(inside, spmd_axis_name='t')
  if letter == 'p':
    return jax.pmap(inside, axis_name='p')
  if letter in 'stS':
    axis = AXES[letter]
    return jax.shard_map(lambda x: inside(x[0])[None], mesh=None if set('stm') & set(c for c, _ in axes) else MESH, in_specs=P(axis),
                         out_specs=P(axis), axis_names={axis} if letter in 'st' else set(), check_vma=check_vma)
  if letter == 'm':
    return jax.smap(lambda x: inside(x[0])[None], in_axes=0, out_axes=0, axis_name='s')
  if letter in 'jJ':
    return jax.jit(inside)
  return jax.grad(lambda x: jnp.sum(jnp.sin(inside(x))))


def argument(word):
  shape = [SIZES[c] for c in word if c in SIZES] + [3]
  return ((np.arange(np.prod(shape)) * 37 % 101) / 50 - 1).astype(np.float32).reshape(shape)


def words():
  """All orders of up to three letters with a map, and some of four."""
  for n in range(1, 5):
    for k, letters in enumerate(itertools.permutations('vpstmjg', n)):
      w = ''.join(letters)
      if not set(w) & set('vpstm') or ('s' in w and 'm' in w) or w.endswith('j') or 'jg' in w[1:]:
        continue
      if n < 4 or k % 8 == 0:
        yield w
  for w in list(itertools.permutations('vsg', 3)) + list(itertools.permutations('vtg', 3)) + [('v', 's'), ('s', 'v'), ('s', 't'), ('t', 's')]:
    yield 'J' + ''.join(w)
  yield from ('S', 'vS', 'Sv', 'wS', 'jwS', 'gwS', 'wgS', 'wSg', 'vwS', 'wvS', 'wSv', 'wjS', 'JwS', 'JwSg', 'gjwS')


def main():
  kept, refused = {}, {}
  for w in words():
    for check_vma in (True, False) if set(w) & set('stS') else (True,):
      x = argument(w)
      try:
        with jax.set_mesh(MESH) if 'm' in w else contextlib.nullcontext():
          if w[0] == 'J':
            x = jax.device_put(x, NamedSharding(MESH, P('s')))
          kept[w if check_vma else w + '!'] = np.asarray(jax.jit(wrapped(w, [], check_vma))(x))
        break
      except Exception as e:  # what JAX doesn't run
        refused[w] = type(e).__name__ + ': ' + str(e).split('\n')[0][:150]
  np.savez(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'arrays.npz'), **kept)
  print(len(kept), 'programs;', len(refused), 'refused')
  if '--refused' in sys.argv:
    for w, why in refused.items():
      print(w, why)


main()
