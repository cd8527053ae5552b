"""The inputs of the programs."""

import math

import numpy as np

nan = math.nan


def wave(shape, phase=0.3):
    n = math.prod(shape)
    return np.array([math.sin(k * 0.7 + phase) * 1.3 + 0.1 for k in range(n)]).astype(np.float32).reshape(shape)


def f32(*x):
    return np.array(x, np.float32)


def i32(x):
    return np.array(x, np.int32)
