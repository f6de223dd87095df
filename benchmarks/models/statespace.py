"""State-space scans and linear attention: wide states, elementwise or by outer products."""

from __future__ import annotations

import numpy as np
import onnx

from benchmarks.registry import HEAD, Arrays, Instance, benchmark, random, uniform

Array = np.ndarray
CHANNELS, STATES = 256, 16
NEWEST = HEAD.replace("18", "27")


def _selective_feed(n: int) -> dict[str, Array]:
    made = random(16)
    return {
        "x": uniform(made, n, CHANNELS), "dt": np.abs(uniform(made, n, CHANNELS)) * np.float32(0.1),
        "B": uniform(made, n, STATES), "C": uniform(made, n, STATES),
        "A": -np.abs(uniform(made, CHANNELS, STATES)), "h0": uniform(made, CHANNELS, STATES),
    }  # fmt: skip


TYPES = f"""float[T, {CHANNELS}] x, float[T, {CHANNELS}] dt, float[T, {STATES}] B,
      float[T, {STATES}] C, float[{CHANNELS}, {STATES}] A, float[{CHANNELS}, {STATES}] h0"""
STEP = """dc = Unsqueeze (d, last)
        da = Mul (dc, A)
        e = Exp (da)
        eh = Mul (e, h)
        dx = Mul (d, xt)
        dxc = Unsqueeze (dx, last)
        dbx = Mul (dxc, bt)
        ho = Add (eh, dbx)
        hc = Mul (ho, ct)
        y = ReduceSum <keepdims = 0> (hc, last)"""


@benchmark("selective scan, state [256, 16]", kind="selective", n=1024, small=3)
def selective(n: int) -> Instance:
    """h = exp(dt A) h + dt x B; y = sum of h C: the heart of Mamba."""
    state = f"float[{CHANNELS}, {STATES}]"
    text = f"""g ({TYPES}) => ({state} hn, float[T, {CHANNELS}] ys) {{
      last = Constant <value = int64[1] {{-1}}> ()
      hn, ys = Scan <num_scan_inputs = 4, body = b ({state} h, float[{CHANNELS}] xt,
        float[{CHANNELS}] d, float[{STATES}] bt, float[{STATES}] ct)
        => ({state} ho, float[{CHANNELS}] y) {{
        {STEP}
      }}> (h0, x, dt, B, C)
    }}"""
    return Instance(HEAD + text, _selective_feed(n), n, _selective, (n, CHANNELS, STATES))


def _selective(x: Array, dt: Array, B: Array, C: Array, A: Array, h0: Array) -> Arrays:
    h, ys = h0, np.empty_like(x)
    for t in range(len(x)):
        h = np.exp(dt[t][:, None] * A) * h + (dt[t] * x[t])[:, None] * B[t]
        ys[t] = (h * C[t]).sum(axis=1)
    return [h, ys]


def _selective_loop(n: Array, **feed: Array) -> Arrays:
    return _selective(**feed)


@benchmark("selective scan as a Loop with Gather", kind="selective", n=1024, small=3)
def selective_loop(n: int) -> Instance:
    """The same as an exporter writes a for loop: every step takes its row of the whole inputs."""
    state = f"float[{CHANNELS}, {STATES}]"
    text = f"""g (int64 n, {TYPES}) => ({state} hn, float[T, {CHANNELS}] ys) {{
      last = Constant <value = int64[1] {{-1}}> ()
      yes = Constant <value = bool {{1}}> ()
      hn, ys = Loop (n, yes, h0) <body = b (int64 i, bool go, {state} h)
        => (bool gone, {state} ho, float[{CHANNELS}] y) {{
        gone = Identity (go)
        xt = Gather <axis = 0> (x, i)
        d = Gather <axis = 0> (dt, i)
        bt = Gather <axis = 0> (B, i)
        ct = Gather <axis = 0> (C, i)
        {STEP}
      }}>
    }}"""
    feed = {"n": np.array(n, np.int64), **_selective_feed(n)}
    return Instance(HEAD + text, feed, n, _selective_loop, (CHANNELS, STATES))


@benchmark("LinearAttention expanded, gated delta", kind="attention", n=512, small=4)
def linear_attention(n: int) -> Instance:
    """The standard's expansion of LinearAttention (opset 27): two heads of 64, states [64, 64]."""
    width, heads = 128, 2
    types = f"float[1, T, {width}] query, float[1, T, {width}] key, float[1, T, {width}] value"
    more = f"float[1, T, {width}] decay, float[1, T, {heads}] beta"
    call = (
        f"output, present_state = LinearAttention <q_num_heads = {heads}, kv_num_heads = {heads},"
        ' update_rule = "gated_delta"> (query, key, value, , decay, beta)'
    )
    results = f"float[1, T, {width}] output, float[1, {heads}, 64, 64] present_state"
    text = f"g ({types}, {more}) => ({results}) {{\n{call}\n}}"
    made = random(17)
    feed = {
        **{name: uniform(made, 1, n, width, scale=0.3) for name in ("query", "key", "value")},
        "decay": -np.abs(uniform(made, 1, n, width)),
        "beta": np.abs(uniform(made, 1, n, heads)),
    }
    return Instance(_expanded(NEWEST + text), feed, n, _linear_attention, (n, heads, 64))


def _expanded(text: str) -> str:
    """The model with its one operator in the standard's own words, at an opset all know."""
    model = onnx.parser.parse_model(text)
    (node,) = model.graph.node
    kinds = {value.name: value.type.SerializeToString() for value in model.graph.input}
    schema = onnx.defs.get_schema(node.op_type, 27)
    function = onnx.FunctionProto.FromString(
        schema.get_context_dependent_function(
            node.SerializeToString(), [kinds.get(name, b"") for name in node.input]
        )
    )
    del model.graph.node[:]
    model.graph.node.extend(function.node)
    model.opset_import[0].version = 18
    return onnx.printer.to_text(model)


def _linear_attention(query: Array, key: Array, value: Array, decay: Array, beta: Array) -> Arrays:
    heads, n = beta.shape[2], query.shape[1]
    q, k, v, g = (part[0].reshape(n, heads, -1) for part in (query, key, value, decay))
    scale = np.float32(1 / np.sqrt(q.shape[2]))
    state, outputs = np.zeros((heads, q.shape[2], v.shape[2]), np.float32), np.empty_like(v)
    for t in range(n):
        state = np.exp(g[t])[:, :, None] * state
        written = beta[0, t][:, None] * (v[t] - np.einsum("hkv,hk->hv", state, k[t]))
        state = state + k[t][:, :, None] * written[:, None, :]
        outputs[t] = scale * np.einsum("hk,hkv->hv", q[t], state)
    return [outputs.reshape(1, n, -1), state[None]]
