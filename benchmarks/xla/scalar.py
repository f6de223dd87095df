"""Recurrences of scalars and filters of samples."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from benchmarks.xla.twins import twin


@twin
def logistic(n, r, x0):
    def step(x, _):
        x = r * x * (1 - x)
        return x, x

    return lax.scan(step, x0, length=n)


@twin
def xorshift(n, seed):
    def step(x, _):
        x = x ^ (x << 13)
        x = x ^ (x >> 17)
        x = x ^ (x << 5)
        return x, x

    return lax.scan(step, seed, length=n)


@twin
def savings(n, start, rate, fee, floor, most):
    def step(_, x):
        either = jnp.where(x > floor, x * rate, x - fee)
        return jnp.maximum(jnp.minimum(either, most), fee)

    return [lax.fori_loop(0, n, step, start)]


@twin
def advantages(reward, value, after, goes_on, discount, decay, none):
    def step(g, item):
        r, v, w, on = item
        g = r + discount * w * on - v + decay * on * g
        return g, (g, g + v)

    return lax.scan(step, none, (reward, value, after, goes_on), reverse=True)[1]


@twin
def biquad(x, b0, b1, b2, a1, a2, z):
    def step(states, v):
        moved = []
        for p, q in states:
            y = b0 * v + p
            moved.append((b1 * v - a1 * y + q, b2 * v - a2 * y))
            v = y
        return moved, v

    return [lax.scan(step, [(z, z)] * 4, x)[1]]


@twin
def average(x, a, m0, s0):
    def step(state, v):
        m, s = state
        d = v - m
        m, s = m + a * d, s + a * (d * d - s)
        return (m, s), (m, s)

    return lax.scan(step, (m0, s0), x)[1]


@twin
def fir(x, taps, none):
    def step(line, v):
        line = jnp.concatenate([line[1:], v[None]])
        return line, (line * taps).sum()

    return [lax.scan(step, none, x)[1]]


@twin
def kalman(z, F, Q, H, R, x0, P0, eye):
    def step(state, measured):
        x, P = state
        x, P = F @ x, F @ P @ F.T + Q
        gain = P @ H.T / (H @ P @ H.T + R)
        x, P = x + gain * (measured - H @ x), (eye - gain @ H) @ P
        return (x, P), x

    (x, P), xs = lax.scan(step, (x0, P0), z)
    return x, P, xs
