"""Recurrent cells, state spaces, decoders, tables."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from benchmarks.xla.twins import twin


def _lstm(x, W, R, B, h0, c0, reverse=False):
    def step(state, fed):
        h, c = state
        i, o, f, z = jnp.split(fed + h @ R, 4, axis=-1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(z)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(step, (h0, c0), x @ W + B, reverse=reverse)


@twin
def lstm(x, W, R, B, h0, c0):
    (h, c), ys = _lstm(x, W, R, B, h0, c0)
    return h, c, ys


@twin
def lstm_stack(x, W0, R0, B0, W1, R1, B1, zero):
    _, middle = _lstm(x, W0, R0, B0, zero, zero)
    return [_lstm(middle, W1, R1, B1, zero, zero)[1]]


@twin
def lstm_both(x, W0, R0, B0, W1, R1, B1, zero):
    _, ahead = _lstm(x, W0, R0, B0, zero, zero)
    _, back = _lstm(x, W1, R1, B1, zero, zero, reverse=True)
    return [jnp.concatenate([ahead, back], axis=2)]


@twin
def gru(x, W, R, U, B, h0):
    size = h0.shape[1]

    def step(h, fed):
        z, r = jnp.split(nn.sigmoid(fed[:, : 2 * size] + h @ R), 2, axis=1)
        h = (1 - z) * jnp.tanh(fed[:, 2 * size :] + (r * h) @ U) + z * h
        return h, h

    return lax.scan(step, h0, x @ W + B)


@twin
def rnn(x, W, R, B, h0):
    def step(h, fed):
        h = jnp.tanh(fed + h @ R)
        return h, h

    return lax.scan(step, h0, x @ W + B)


@twin
def selective(x, dt, B, C, A, h0):
    def step(h, row):
        xt, d, b, c = row
        h = jnp.exp(d[:, None] * A) * h + (d * xt)[:, None] * b
        return h, (h * c).sum(axis=1)

    return lax.scan(step, h0, (x, dt, B, C))


@twin
def selective_loop(n, x, dt, B, C, A, h0):
    return selective(x, dt, B, C, A, h0)


@twin
def linear_attention(query, key, value, decay, beta):
    n, heads = beta.shape[1], beta.shape[2]
    q, k, v, g = (part[0].reshape(n, heads, -1) for part in (query, key, value, decay))

    def step(state, row):
        qt, kt, vt, gt, bt = row
        state = jnp.exp(gt)[:, :, None] * state
        written = bt[:, None] * (vt - jnp.einsum("hkv,hk->hv", state, kt))
        state = state + kt[:, :, None] * written[:, None, :]
        return state, jnp.einsum("hk,hkv->hv", qt, state)

    state = jnp.zeros((heads, q.shape[2], v.shape[2]), q.dtype)
    state, outputs = lax.scan(step, state, (q, k, v, g, beta[0]))
    return outputs.reshape(1, n, -1) * q.shape[2] ** -0.5, state[None]


@twin
def greedy(n, first, E, R, V, h0):
    def step(state, _):
        token, h = state
        h = lax.cond(token < 16, lambda: h * 0.5, lambda: jnp.tanh(E[token] + h @ R))
        token = (h @ V).argmax()
        return (token, h), token

    (_, h), tokens = lax.scan(step, (first, h0), length=n)
    return tokens, h


@twin
def cache(n, x0, none, Q, K, V, scale):
    """Shapes are fixed, so the cache has its last size from the start, and a mask."""
    places = jnp.arange(n)

    def step(state, t):
        x, keys, values = state
        keys, values = (
            lax.dynamic_update_slice(m, x @ w, (t, 0)) for m, w in ((keys, K), (values, V))
        )
        scores = jnp.where(places <= t, x @ Q @ keys.T * scale, -jnp.inf)
        x = jnp.tanh(x + nn.softmax(scores) @ values)
        return (x, keys, values), x

    empty = jnp.zeros((n, 64), x0.dtype)
    (x, _, _), ys = lax.scan(step, (x0, empty, empty), places)
    return x, ys


@twin
def rows(n, x0, by):
    def step(x, _):
        x = jnp.cos(x * by)
        return x, x

    return [lax.scan(step, x0, length=n)[1][:, 0]]


@twin
def ragged(n, x0, by):
    counts = np.arange(int(n)) % 16 + 1
    owner = np.repeat(np.arange(int(n)), counts)
    within = np.concatenate([np.arange(count) for count in counts])

    def step(x, _):
        x = jnp.cos(x * by)
        return x, x[0]

    each = lax.scan(step, x0, length=n)[1]
    return [each[owner, within][None], jnp.array(counts.max())]


@twin
def table_rows(places, x, table0, by):
    def step(table, row):
        place, xt = row
        return table.at[place].set(table[place] * by + xt), None

    return [lax.scan(step, table0, (places, x))[0]]


@twin
def histogram(places, counts0):
    return [lax.scan(lambda c, place: (c.at[place].add(1), None), counts0, places)[0]]


@twin
def suppression(boxes, areas, order, most, all_kept):
    left, top, right, bottom = boxes.T

    def step(i, kept):
        def drop():
            w = jnp.maximum(jnp.minimum(right, right[i]) - jnp.maximum(left, left[i]), 0)
            h = jnp.maximum(jnp.minimum(bottom, bottom[i]) - jnp.maximum(top, top[i]), 0)
            much = w * h > (areas + areas[i] - w * h) * most
            return kept & ~(much & (order > i))

        return lax.cond(kept[i], drop, lambda: kept)

    return [lax.fori_loop(0, order.shape[0], step, all_kept)]


@twin
def machine(codes, x, a0, k0, half):
    def step(state, row):
        code, xt = row
        branches = (
            lambda a, k: (a * xt, k),
            lambda a, k: (a + xt, k + 1),
            lambda a, k: (-a, k - 1),
            lambda a, k: (a * half, k + 2),
        )
        a, k = lax.switch(code, branches, *state)
        return (a, k), a

    (a, k), seen = lax.scan(step, (a0, k0), (codes, x))
    return a, k, seen


@twin
def invariant(n, W, x0, eight):
    def step(_, x):
        return jnp.tanh(x @ jax.nn.softmax(W @ W.T / eight) + x0)

    return [lax.fori_loop(0, n, step, x0)]
