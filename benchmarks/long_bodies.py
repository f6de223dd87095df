"""Loops with long bodies: residual chains and a decode step; and a Scan of scalars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Model = tuple[bytes, Mapping[str, np.ndarray]]
_LAYER = 5
"""Operators of a layer of a residual chain."""


@dataclass
class Body:
    """The body of a loop under construction: its nodes, and the weights it captures."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def weight(self, value: Any, name: str = "") -> str:
        """The name of a captured tensor."""
        self.weights.append(numpy_helper.from_array(value, name or f"w{len(self.weights)}"))
        return self.weights[-1].name

    def op(self, kind: str, *operands: str, **attributes: Any) -> str:
        """The name of an operator's result."""
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [result], **attributes))
        return result


def residual_chain(operators: int, size: int = 256) -> Model:
    """x + 0.1 tanh(a x + b) again and again, with other numbers a and b in every layer."""
    rng, body = np.random.default_rng(0), Body()
    tenth, x = body.weight(np.float32(0.1)), "x"
    for _ in range(operators // _LAYER):
        a, b = (body.weight(np.float32(rng.uniform(-1, 1))) for _ in "ab")
        moved = body.op("Tanh", body.op("Add", body.op("Mul", x, a), b))
        x = body.op("Add", x, body.op("Mul", moved, tenth))
    start = rng.standard_normal(size).astype(np.float32)
    return _looped(body, x, [size]), {"n": np.array(4), "start": start}


def decode_step(layers: int = 12, hidden: int = 64, heads: int = 4, past: int = 32) -> Model:
    """A step of a decoder: attention over what came before, and two dense layers, in each layer."""
    rng, body = np.random.default_rng(0), Body()
    step = _Decoder(body, rng, hidden, heads, past)
    x = "x"
    for _ in range(layers):
        x = step.layer(x)
    start = rng.standard_normal((1, hidden)).astype(np.float32)
    return _looped(body, x, [1, hidden]), {"n": np.array(4), "start": start}


@dataclass
class _Decoder:
    body: Body
    rng: np.random.Generator
    hidden: int
    heads: int
    past: int

    def layer(self, x: str) -> str:
        """One layer, of 37 operators."""
        op, row = self.body.op, self.hidden // self.heads
        y = self._normed(x)
        query, key, value = (op("MatMul", y, self._random(self.hidden, self.hidden)) for _ in "qkv")
        keys = self._random(self.heads, row, self.past)
        values = self._random(self.heads, self.past, row)
        keys = op("Concat", keys, self._shaped(key, self.heads, row, 1), axis=2)
        values = op("Concat", values, self._shaped(value, self.heads, 1, row), axis=1)
        scores = op("MatMul", self._shaped(query, self.heads, 1, row), keys)
        shares = op("Softmax", op("Mul", scores, self._number(row**-0.5)), axis=-1)
        seen = self._shaped(op("MatMul", shares, values), 1, self.hidden)
        x = op("Add", x, op("MatMul", seen, self._random(self.hidden, self.hidden)))
        wide = self._dense(self._normed(x), self.hidden, 4 * self.hidden)
        error = op("Erf", op("Div", wide, self._number(2**0.5)))
        gelu = op("Mul", op("Mul", wide, self._number(0.5)), op("Add", error, self._number(1.0)))
        return op("Add", x, self._dense(gelu, 4 * self.hidden, self.hidden))

    def _normed(self, x: str) -> str:
        op, axes = self.body.op, self.body.weight(np.array([-1]))
        apart = op("Sub", x, op("ReduceMean", x, axes))
        spread = op("ReduceMean", op("Mul", apart, apart), axes)
        divisor = op("Sqrt", op("Add", spread, self._number(1e-5)))
        scaled = op("Mul", op("Div", apart, divisor), self._random(self.hidden))
        return op("Add", scaled, self._random(self.hidden))

    def _dense(self, x: str, rows: int, columns: int) -> str:
        product = self.body.op("MatMul", x, self._random(rows, columns))
        return self.body.op("Add", product, self._random(columns))

    def _shaped(self, x: str, *shape: int) -> str:
        return self.body.op("Reshape", x, self.body.weight(np.array(shape)))

    def _random(self, *shape: int) -> str:
        return self.body.weight((0.05 * self.rng.standard_normal(shape)).astype(np.float32))

    def _number(self, number: float) -> str:
        return self.body.weight(np.float32(number))


def scalar_scan(trips: int = 200_000) -> Model:
    """A Scan of scalars: tanh(0.5 s + x) for each x."""
    body = Body()
    half = body.weight(np.float32(0.5))
    state = body.op("Tanh", body.op("Add", body.op("Mul", "s", half), "item"))
    named = {name: _float(name, []) for name in ("s", "item", state, "copy")}
    body.nodes.append(helper.make_node("Identity", [state], ["copy"]))
    graph = helper.make_graph(
        body.nodes, "body", [named["s"], named["item"]], [named[state], named["copy"]]
    )
    node = helper.make_node("Scan", ["start", "xs"], ["last", "all"], body=graph, num_scan_inputs=1)
    given, made = (
        [_float("start", []), _float("xs", ["T"])],
        [_float("last", []), _float("all", ["T"])],
    )
    xs = np.random.default_rng(0).standard_normal(trips).astype(np.float32)
    return _model(node, given, made, body.weights), {"start": np.array(0.1, np.float32), "xs": xs}


def _looped(body: Body, result: str, shape: list[int]) -> bytes:
    """A Loop of n iterations that carries one value, as a file."""
    whole = helper.make_tensor_value_info("n", TensorProto.INT64, [])
    step = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    goes, on = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("c", "d"))
    nodes = [helper.make_node("Identity", ["c"], ["d"]), *body.nodes]
    graph = helper.make_graph(
        nodes, "body", [step, goes, _float("x", shape)], [on, _float(result, shape)]
    )
    node = helper.make_node("Loop", ["n", "", "start"], ["y"], body=graph)
    return _model(node, [whole, _float("start", shape)], [_float("y", shape)], body.weights)


def _float(name: str, shape: list[Any]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(
    node: onnx.NodeProto,
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: list[onnx.TensorProto],
) -> bytes:
    graph = helper.make_graph([node], "main", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
