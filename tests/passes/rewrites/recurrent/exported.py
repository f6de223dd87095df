"""Loops that compute an LSTM, GRU or RNN, as exporters write them, with feeds.

The weights are initializers; `T` and `B` are the extents of time and batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import treadle
from tests.seeded import seeded
from treadle.ir import Constant, Literal, Model

FEATURES, HIDDEN = 3, 4
_BORDER = "float[T,B,3] x, float[B,4] h0, float[B,4] c0"
_PLAIN = "float[T,B,3] x, float[B,4] h0"

# PyTorch's script exporter: a Loop over range(x.size(0)), chunk as Slices, Gemm without a bias
SCRIPT_LSTM = f"""
g ({_BORDER}, float[16,3] wi, float[16,4] wh, float[16] bi, float[16] bh)
    => (float[T,B,4] y, float[B,4] h, float[B,4] c) {{
  yes = Constant <value = bool {{1}}> ()
  zero = Constant <value = int64 {{0}}> ()
  size = Shape (x)
  n = Gather <axis = 0> (size, zero)
  h, c, y = Loop (n, yes, h0, c0) <body = b (int64 t, bool go, float[B,4] hp, float[B,4] cp)
      => (bool on, float[B,4] hn, float[B,4] cn, float[B,4] out) {{
    on = Identity (go)
    xt = Gather <axis = 0> (x, t)
    from_x = Gemm <transB = 1> (xt, wi, bi)
    from_h = Gemm <transB = 1> (hp, wh, bh)
    gates = Add (from_x, from_h)
    one = Constant <value = int64[1] {{1}}> ()
    k0 = Constant <value = int64[1] {{0}}> () k4 = Constant <value = int64[1] {{4}}> ()
    k8 = Constant <value = int64[1] {{8}}> () k12 = Constant <value = int64[1] {{12}}> ()
    k16 = Constant <value = int64[1] {{16}}> ()
    gi = Slice (gates, k0, k4, one) gf = Slice (gates, k4, k8, one)
    gg = Slice (gates, k8, k12, one) go_ = Slice (gates, k12, k16, one)
    i = Sigmoid (gi) f = Sigmoid (gf) g = Tanh (gg) o = Sigmoid (go_)
    fc = Mul (f, cp) ig = Mul (i, g) cn = Add (fc, ig)
    tc = Tanh (cn) hn = Mul (o, tc)
    out = Identity (hn)
  }}>
}}"""

# jax2onnx: a Loop of a certain number of steps, dot as Gemm, lax.split
JAX_GRU = f"""
g ({_PLAIN}, float[3,12] wi, float[4,12] wh, float[12] bi, float[4] bn)
    => (float[B,4] h, float[T,B,4] y) {{
  h, y = Scan <num_scan_inputs = 1, body = b (float[B,4] hp, float[B,3] xt)
      => (float[B,4] hn, float[B,4] out) {{
    a = MatMul (xt, wi) ab = Add (a, bi)
    ar, az, an = Split <axis = 1> (ab)
    d = MatMul (hp, wh)
    dr, dz, dn = Split <axis = 1> (d)
    r0 = Add (ar, dr) r = Sigmoid (r0)
    z0 = Add (az, dz) z = Sigmoid (z0)
    db = Add (dn, bn) rd = Mul (r, db) n0 = Add (an, rd) n = Tanh (n0)
    one = Constant <value = float {{1.0}}> ()
    keep = Sub (one, z)
    kn = Mul (keep, n) zh = Mul (z, hp) hn = Add (kn, zh)
    out = Identity (hn)
  }}> (h0, x)
}}"""

# tf2onnx: the kernel of a GRUCell on [x, h], and the candidate on [x, r * h]
TF_GRU = f"""
g ({_PLAIN}, float[7,8] wg, float[8] bg, float[7,4] wc, float[4] bc)
    => (float[B,4] h, float[T,B,4] y) {{
  h, y = Scan <num_scan_inputs = 1, body = b (float[B,4] hp, float[B,3] xt)
      => (float[B,4] hn, float[B,4] out) {{
    both = Concat <axis = -1> (xt, hp)
    g0 = MatMul (both, wg) g1 = Add (g0, bg) gates = Sigmoid (g1)
    r, z = Split <axis = 1> (gates)
    rh = Mul (r, hp)
    mixed = Concat <axis = -1> (xt, rh)
    c0 = MatMul (mixed, wc) c1 = Add (c0, bc) cand = Tanh (c1)
    zh = Mul (z, hp)
    one = Constant <value = float {{1.0}}> ()
    keep = Sub (one, z) kc = Mul (keep, cand) hn = Add (zh, kc)
    out = Identity (hn)
  }}> (h0, x)
}}"""

# tf2onnx: dynamic_rnn, batch first, with the lengths of sequences
TF_LSTM = """
g (float[B,T,3] x, float[B,4] h0, float[B,4] c0, int32[B] lens, float[7,16] k, float[16] b)
    => (float[B,4] h, float[B,4] c, float[T,B,4] y) {
  major = Transpose <perm = [1, 0, 2]> (x)
  start = Constant <value = int32 {0}> ()
  none = Constant <value = float {0.0}> ()
  time, h, c, y = Scan <num_scan_inputs = 1, body = b
      (int32 t, float[B,4] hp, float[B,4] cp, float[B,3] xt)
      => (int32 tn, float[B,4] hs, float[B,4] cs, float[B,4] out) {
    both = Concat <axis = 1> (xt, hp)
    g0 = MatMul (both, k) g1 = Add (g0, b)
    gi, gj, gf, go = Split <axis = 1> (g1)
    f = Sigmoid (gf) cf = Mul (cp, f)
    i = Sigmoid (gi) j = Tanh (gj) ij = Mul (i, j) cn = Add (cf, ij)
    o = Sigmoid (go) tc = Tanh (cn) hn = Mul (tc, o)
    ended = GreaterOrEqual (t, lens)
    axis = Constant <value = int64[1] {1}> ()
    column = Unsqueeze (ended, axis)
    hs = Where (column, hp, hn)
    cs = Where (column, cp, cn)
    out = Where (column, none, hn)
    one = Constant <value = int32 {1}> ()
    tn = Add (t, one)
  }> (start, h0, c0, major)
}"""

# onnxscript: one sequence, products of a matrix and a vector
SCRIPT_RNN = """
g (float[T,3] x, float[4] h0, float[4,3] w, float[4,4] r, float[4] b)
    => (float[4] h, float[T,4] y) {
  h, y = Scan <num_scan_inputs = 1, body = s (float[4] hp, float[3] xt)
      => (float[4] hn, float[4] o) {
    a = MatMul (w, xt) d = MatMul (r, hp)
    s0 = Add (a, d) s1 = Add (s0, b) hn = Tanh (s1)
    o = Identity (hn)
  }> (h0, x)
}"""

# Keras: the product with the inputs in front of the loop, reset after the product, the batch first
KERAS_GRU = """
g (float[B,T,3] x, float[B,4] h0, float[3,12] k, float[4,12] u, float[12] b0, float[12] b1)
    => (float[B,4] h, float[B,T,4] y) {
  p = MatMul (x, k)
  xs = Add (p, b0)
  h, y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
               body = b (float[B,4] hp, float[B,12] xt) => (float[B,4] hn, float[B,4] out) {
    xz, xr, xh = Split <axis = 1> (xt)
    m0 = MatMul (hp, u) m = Add (m0, b1)
    mz, mr, mh = Split <axis = 1> (m)
    z0 = Add (xz, mz) z = Sigmoid (z0)
    r0 = Add (xr, mr) r = Sigmoid (r0)
    rm = Mul (r, mh) c0 = Add (xh, rm) cand = Tanh (c0)
    zh = Mul (z, hp)
    one = Constant <value = float {1.0}> ()
    keep = Sub (one, z) kc = Mul (keep, cand) hn = Add (zh, kc)
    out = Identity (hn)
  }> (h0, xs)
}"""

# PyTorch's script exporter again: an LSTMCell is an LSTM over one item
CELL_LSTM = f"""
g ({_BORDER}, float[1,16,3] w, float[1,16,4] r, float[1,32] b)
    => (float[T,B,4] y, float[B,4] h, float[B,4] c) {{
  yes = Constant <value = bool {{1}}> ()
  zero = Constant <value = int64 {{0}}> ()
  size = Shape (x)
  n = Gather <axis = 0> (size, zero)
  h, c, y = Loop (n, yes, h0, c0) <body = b (int64 t, bool go, float[B,4] hp, float[B,4] cp)
      => (bool on, float[B,4] hn, float[B,4] cn, float[B,4] out) {{
    on = Identity (go)
    axis = Constant <value = int64[1] {{0}}> ()
    xt = Gather <axis = 0> (x, t)
    x1 = Unsqueeze (xt, axis) h1 = Unsqueeze (hp, axis) c1 = Unsqueeze (cp, axis)
    y1, h2, c2 = LSTM <hidden_size = 4> (x1, w, r, b, "", h1, c1)
    hn = Squeeze (h2, axis) cn = Squeeze (c2, axis)
    out = Identity (hn)
  }}>
}}"""

FORMS: Mapping[str, tuple[str, str]] = {
    "script LSTM": (SCRIPT_LSTM, "LSTM"),
    "script LSTMCell": (CELL_LSTM, "LSTM"),
    "jax GRU": (JAX_GRU, "GRU"),
    "TensorFlow GRU": (TF_GRU, "GRU"),
    "TensorFlow LSTM": (TF_LSTM, "LSTM"),
    "onnxscript RNN": (SCRIPT_RNN, "RNN"),
    "Keras GRU": (KERAS_GRU, "GRU"),
}
_FED = {"x", "h0", "c0", "lens"}


def written(text: str, opset: int = 17, dtype: str = "float") -> Model:
    """The model of a text; what is neither input nor state becomes an initializer."""
    said = text.replace("float", dtype) if dtype != "float" else text
    model = treadle.load(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{said}')
    rng = seeded("initializers")
    held = [value for value in model.main.params if value.name not in _FED]
    constants = [
        Constant(value, Literal.of(_numbers(rng, value.declared.shape, value.declared.dtype.numpy)))
        for value in held
    ]
    params = tuple(value for value in model.main.params if value.name in _FED)
    return replace(model, main=replace(model.main, params=params, constants=tuple(constants)))


def _numbers(rng: np.random.Generator, shape, dtype) -> np.ndarray:
    return (rng.standard_normal(shape) * 0.7).astype(dtype)


def feeds_of(model: Model, trips: int, batch: int = 2) -> Mapping[str, np.ndarray]:
    """Random feeds of this number of items and sequences; lengths in descending order, to 0."""
    rng, sizes = seeded(trips), {"T": trips, "B": batch}
    made = {}
    for value in model.main.params:
        shape = [sizes.get(getattr(dim, "name", ""), dim) for dim in value.declared.shape]
        made[value.name] = _numbers(rng, shape, value.declared.dtype.numpy)
        if value.name == "lens":
            longest = np.maximum(trips - np.arange(batch) * (1 + trips // 2), 0)
            made["lens"] = longest.astype(np.int32)
    return made
