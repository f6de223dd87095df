"""RNN, LSTM and GRU cells as scans: several sizes and batches, stacked, in both directions."""

from __future__ import annotations

import numpy as np

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, random, uniform

Array = np.ndarray


def lstm_step(suffix: str | int) -> str:
    """The nodes of an LSTM's step, from xt, h and c to ho, co and y."""
    return f"""fed = MatMul (xt, W{suffix})
        kept = MatMul (h, R{suffix})
        both = Add (fed, kept)
        gates = Add (both, B{suffix})
        i, o, f, z = Split <axis = 1, num_outputs = 4> (gates)
        si = Sigmoid (i)
        so = Sigmoid (o)
        sf = Sigmoid (f)
        tz = Tanh (z)
        fc = Mul (sf, c)
        iz = Mul (si, tz)
        co = Add (fc, iz)
        tc = Tanh (co)
        ho = Mul (so, tc)
        y = Identity (ho)"""


def _cell(suffix: str, batch: int, size: int) -> str:
    """The body of an LSTM scan; gates in the order input, output, forget, cell."""
    state = f"float[{batch}, {size}]"
    return f"""body = cell{suffix} ({state} h, {state} c, {state} xt)
        => ({state} ho, {state} co, {state} y) {{
        {lstm_step(suffix)}
      }}"""


def _weights(suffix: str, size: int) -> str:
    wide = 4 * size
    return (
        f"float[{size}, {wide}] W{suffix}, float[{size}, {wide}] R{suffix}, float[{wide}] B{suffix}"
    )


def _lstm_weights(seed: int, suffix: str, size: int) -> dict[str, Array]:
    made, scale = random(seed), 1.0 / np.sqrt(size)
    return {
        f"W{suffix}": uniform(made, size, 4 * size, scale=scale),
        f"R{suffix}": uniform(made, size, 4 * size, scale=scale),
        f"B{suffix}": uniform(made, 4 * size),
    }


def _lstm_steps(x: Array, W: Array, R: Array, B: Array, h: Array, c: Array) -> tuple[Array, Array]:
    fed, ys = x @ W + B, np.empty_like(x)
    for t in range(len(x)):
        i, o, f, z = np.split(fed[t] + h @ R, 4, axis=-1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(z)
        h = ys[t] = _sigmoid(o) * np.tanh(c)
    return c, ys


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(n: int, size: int = 64, batch: int = 1) -> Instance:
    """One LSTM over n steps."""
    state = f"float[{batch}, {size}]"
    text = f"""g (float[T, {batch}, {size}] x, {_weights("", size)}, {state} h0, {state} c0)
      => ({state} hn, {state} cn, float[T, {batch}, {size}] ys) {{
      hn, cn, ys = Scan <num_scan_inputs = 1, {_cell("", batch, size)}> (h0, c0, x)
    }}"""
    made = random(2)
    feed = {
        "x": uniform(made, n, batch, size), **_lstm_weights(3, "", size),
        "h0": uniform(made, batch, size), "c0": uniform(made, batch, size),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _lstm, (n, batch, size))


def _lstm(x: Array, W: Array, R: Array, B: Array, h0: Array, c0: Array) -> Arrays:
    c, ys = _lstm_steps(x, W, R, B, h0, c0)
    return [ys[-1], c, ys]


for _size, _batch, _n in (
    (64, 1, 2048),
    (64, 4, 1024),
    (64, 16, 512),
    (256, 1, 512),
    (256, 16, 96),
):

    def _make(n: int, size: int = _size, batch: int = _batch) -> Instance:
        return lstm(n, size, batch)

    _make.__name__ = "lstm"
    benchmark(
        f"LSTM {_size}, batch {_batch}", kind="recurrent", n=_n, small=3,
        name=f"lstm_{_size}_b{_batch}",
    )(_make)  # fmt: skip


def _feed_of_two(n: int, size: int, seed: int) -> dict[str, Array]:
    """What two LSTMs that begin with zeros are fed."""
    return {
        "x": uniform(random(seed), n, 1, size), **_lstm_weights(seed + 1, "0", size),
        **_lstm_weights(seed + 2, "1", size), "zero": np.zeros((1, size), np.float32),
    }  # fmt: skip


@benchmark("two LSTMs of 64, stacked", kind="recurrent", n=1024, small=4)
def lstm_stack(n: int) -> Instance:
    """The second scan reads what the first has stacked."""
    size = 64
    text = f"""g (float[T, 1, {size}] x, {_weights("0", size)}, {_weights("1", size)},
      float[1, {size}] zero) => (float[T, 1, {size}] ys) {{
      h0, c0, middle = Scan <num_scan_inputs = 1, {_cell("0", 1, size)}> (zero, zero, x)
      h1, c1, ys = Scan <num_scan_inputs = 1, {_cell("1", 1, size)}> (zero, zero, middle)
    }}"""
    feed = _feed_of_two(n, size, seed=4)
    return Instance(HEAD + text, feed, 2 * n, _lstm_stack, (n, 1, size))


def _lstm_stack(x: Array, zero: Array, **weights: Array) -> Arrays:
    ys = x
    for k in "01":
        _, ys = _lstm_steps(ys, *(weights[f"{name}{k}"] for name in "WRB"), zero, zero)
    return [ys]


@benchmark("LSTM of 64 in both directions", kind="recurrent", n=1024, small=4)
def lstm_both(n: int) -> Instance:
    """One scan forward, one backward, their outputs side by side."""
    size = 64
    backward = "scan_input_directions = [1], scan_output_directions = [1]"
    text = f"""g (float[T, 1, {size}] x, {_weights("0", size)}, {_weights("1", size)},
      float[1, {size}] zero) => (float[T, 1, {2 * size}] ys) {{
      h0, c0, ahead = Scan <num_scan_inputs = 1, {_cell("0", 1, size)}> (zero, zero, x)
      h1, c1, back = Scan <num_scan_inputs = 1, {backward}, {_cell("1", 1, size)}> (zero, zero, x)
      ys = Concat <axis = 2> (ahead, back)
    }}"""
    feed = _feed_of_two(n, size, seed=7)
    return Instance(HEAD + text, feed, 2 * n, _lstm_both, (n, 1, size))


def _lstm_both(x: Array, zero: Array, **weights: Array) -> Arrays:
    ahead, back = ([weights[f"{name}{k}"] for name in "WRB"] for k in "01")
    _, forward = _lstm_steps(x, *ahead, zero, zero)
    _, backward = _lstm_steps(x[::-1], *back, zero, zero)
    return [np.concatenate([forward, backward[::-1]], axis=2)]


def gru(n: int, size: int = 128, batch: int = 1) -> Instance:
    """One GRU over n steps, the reset gate before the product; gates update, reset, hidden."""
    state = f"float[{batch}, {size}]"
    text = f"""g (float[T, {batch}, {size}] x, float[{size}, {3 * size}] W,
      float[{size}, {2 * size}] R, float[{size}, {size}] U, float[{3 * size}] B, {state} h0)
      => ({state} hn, float[T, {batch}, {size}] ys) {{
      one = Constant <value = float {{1.0}}> ()
      parts = Constant <value = int64[2] {{{2 * size}, {size}}}> ()
      hn, ys = Scan <num_scan_inputs = 1, body = cell ({state} h, {state} xt)
        => ({state} ho, {state} y) {{
        fed = MatMul (xt, W)
        biased = Add (fed, B)
        outer, inner = Split <axis = 1> (biased, parts)
        kept = MatMul (h, R)
        gates = Add (outer, kept)
        open = Sigmoid (gates)
        z, r = Split <axis = 1, num_outputs = 2> (open)
        rh = Mul (r, h)
        ru = MatMul (rh, U)
        raw = Add (inner, ru)
        new = Tanh (raw)
        rest = Sub (one, z)
        fresh = Mul (rest, new)
        old = Mul (z, h)
        ho = Add (fresh, old)
        y = Identity (ho)
      }}> (h0, x)
    }}"""
    made, scale = random(10), 1.0 / np.sqrt(size)
    feed = {
        "x": uniform(made, n, batch, size), "W": uniform(made, size, 3 * size, scale=scale),
        "R": uniform(made, size, 2 * size, scale=scale),
        "U": uniform(made, size, size, scale=scale), "B": uniform(made, 3 * size),
        "h0": uniform(made, batch, size),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _gru, (n, batch, size))


def _gru(x: Array, W: Array, R: Array, U: Array, B: Array, h0: Array) -> Arrays:
    size, h, fed, ys = h0.shape[1], h0, x @ W + B, np.empty_like(x)
    for t in range(len(x)):
        z, r = np.split(_sigmoid(fed[t][:, : 2 * size] + h @ R), 2, axis=1)
        new = np.tanh(fed[t][:, 2 * size :] + (r * h) @ U)
        h = ys[t] = (1 - z) * new + z * h
    return [h, ys]


for _batch, _n in ((1, 1024), (4, 512)):

    def _make(n: int, size: int = 128, batch: int = _batch) -> Instance:
        return gru(n, size, batch)

    _make.__name__ = "gru"
    benchmark(
        f"GRU 128, batch {_batch}", kind="recurrent", n=_n, small=3, name=f"gru_128_b{_batch}"
    )(_make)


@benchmark("RNN 32, batch 1", kind="recurrent", n=8192, small=5)
def rnn(n: int) -> Instance:
    """The simplest cell: tanh of one sum of two products."""
    size = 32
    text = f"""g (float[T, 1, {size}] x, float[{size}, {size}] W, float[{size}, {size}] R,
      float[{size}] B, float[1, {size}] h0) => (float[1, {size}] hn, float[T, 1, {size}] ys) {{
      hn, ys = Scan <num_scan_inputs = 1, body = cell (float[1, {size}] h, float[1, {size}] xt)
        => (float[1, {size}] ho, float[1, {size}] y) {{
        fed = Gemm (xt, W, B)
        kept = MatMul (h, R)
        both = Add (fed, kept)
        ho = Tanh (both)
        y = Identity (ho)
      }}> (h0, x)
    }}"""
    made, scale = random(11), 1.0 / np.sqrt(size)
    feed = {
        "x": uniform(made, n, 1, size), "W": uniform(made, size, size, scale=scale),
        "R": uniform(made, size, size, scale=scale), "B": uniform(made, size),
        "h0": uniform(made, 1, size),
    }  # fmt: skip
    return Instance(HEAD + text, feed, n, _rnn, (n, 1, size))


def _rnn(x: Array, W: Array, R: Array, B: Array, h0: Array) -> Arrays:
    h, fed, ys = h0, x @ W + B, np.empty_like(x)
    for t in range(len(x)):
        h = ys[t] = np.tanh(fed[t] + h @ R)
    return [h, ys]
