"""While loops, dynamic programming, images, motion."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from benchmarks.xla.twins import twin


@twin
def descent(A, b, x0, rate, near):
    def step(state):
        x, _ = state
        gradient = A @ x - b
        return x - rate * gradient, gradient @ gradient

    return [lax.while_loop(lambda state: state[1] > near, step, (x0, near + 1))[0]]


@twin
def collatz(n):
    def steps(_, i):
        def step(state):
            m, k = state
            return jnp.where(m % 2 == 0, m // 2, 3 * m + 1), k + 1

        return None, lax.while_loop(lambda state: state[0] > 1, step, (i + 1, jnp.int64(0)))[1]

    return [lax.scan(steps, None, jnp.arange(n))[1]]


@twin
def triangle(n):
    def outer(i, found):
        def middle(j, found):
            return lax.fori_loop(0, j, lambda k, f: f + (i * j * k % 7 == 1), found)

        return lax.fori_loop(0, i, middle, found)

    return [lax.fori_loop(jnp.int64(0), jnp.int64(n), outer, jnp.int64(0))]


@twin
def levenshtein(s, t, row0, zero):
    def outer(state, a):
        row, k = state

        def inner(state, cell):
            left, diagonal = state
            above, c = cell
            change = diagonal + (a != c)
            left = jnp.minimum(jnp.minimum(above + 1, left + 1), change)
            return (left, above), left

        _, row = lax.scan(inner, (k + 1, k), (row, t))
        return (row, k + 1), None

    return [lax.scan(outer, (row0, zero), s)[0][0]]


@twin
def warping(s, t, row0, far, zero):
    def outer(state, a):
        row, diagonal = state

        def inner(state, cell):
            left, diagonal = state
            above, b = cell
            left = jnp.abs(a - b) + jnp.minimum(jnp.minimum(left, diagonal), above)
            return (left, above), left

        _, row = lax.scan(inner, (far, diagonal), (row, t))
        return (row, far), None

    return [lax.scan(outer, (row0, zero), s)[0][0]]


@twin
def viterbi(emitted, moves, start):
    def step(v, e):
        paths = v[:, None] + moves
        return paths.max(axis=0) + e, paths.argmax(axis=0)

    return lax.scan(step, start, emitted)


@twin
def knapsack(weights, values, row0):
    places = jnp.arange(row0.shape[0])

    def step(row, item):
        weight, value = item
        with_it = row[jnp.maximum(places - weight, 0)] + value
        return jnp.maximum(row, jnp.where(places >= weight, with_it, 0)), None

    return [lax.scan(step, row0, (weights, values))[0]]


@twin
def mandelbrot(n, cr, ci, zero):
    def step(_, state):
        r, i, m = state
        inside = r * r + i * i <= 4
        real, imaginary = r * r - i * i + cr, 2 * (r * i) + ci
        return jnp.where(inside, real, r), jnp.where(inside, imaginary, i), m + inside

    return [lax.fori_loop(0, n, step, (zero, zero, zero))[2]]


@twin
def heat(n, u0, rate):
    def step(_, u):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + (u[1:-1, :-2] + u[1:-1, 2:])
        return u + jnp.pad(rate * (around - 4 * u[1:-1, 1:-1]), 1)

    return [lax.fori_loop(0, n, step, u0)]


@twin
def lorenz(n, x0, y0, z0, sigma, rho, beta, dt, half, sixth):
    def slope(x, y, z):
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    def ahead(state, by, slopes):
        return tuple(v + by * d for v, d in zip(state, slopes, strict=True))

    def step(state, _):
        a = slope(*state)
        b = slope(*ahead(state, half, a))
        c = slope(*ahead(state, half, b))
        d = slope(*ahead(state, dt, c))
        total = [p + 2 * (q + r) + s for p, q, r, s in zip(a, b, c, d, strict=True)]
        state = ahead(state, sixth, total)
        return state, state

    last, path = lax.scan(step, (x0, y0, z0), length=n)
    return *last, *path
