"""Exported outputs all have types: onnxruntime's constant folding crashes on some without."""

from __future__ import annotations

import subprocess
import sys

import onnx

import treadle
from treadle.delegate import exported

NESTED = """g (float[2,3] x, int64 n) =>
  (float[a,b] y, float[c,d] z, float[e,f,h] w, float[2,3] s) {
  one = Constant <value = int64 {1}> ()
  four = Constant <value = int64 {4}> ()
  yes = Less (one, four)
  y, z = If (yes) <then_branch = t () => (p, q) {
      p = If (yes) <then_branch = tt () => (u) { u = Neg (x) },
                    else_branch = te () => (v) { v = Abs (x) }>
      q = Exp (p)
    }, else_branch = e () => (p2, q2) { p2 = Identity (x) q2 = Sin (x) }>
  last, w = Loop (n, yes, y) <body = b (int64 i, bool c, float[2,3] a) => (d, k, o) {
      d = Identity (c) k = Add (a, x) o = Mul (k, z) }>
  s, r = Scan <num_scan_inputs = 1, body = f (float[2,3] a, float[3] l) => (k, o) {
      k = Add (a, l) o = Neg (l) }> (last, x)
}"""


def untyped(graph, path=""):
    """The outputs without a type, by path."""
    for output in graph.output:
        if output.type.WhichOneof("value") is None:
            yield f"{path}/{output.name}"
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from untyped(attribute.g, f"{path}/{node.op_type}.{attribute.name}")


def test_every_output_is_typed(monkeypatch):
    kept, write = [], exported.write_model

    def keep(model):
        kept.append(write(model))
        return kept[-1]

    monkeypatch.setattr(exported, "write_model", keep)
    text = f'<ir_version: 10, opset_import: ["" : 21]>\n{NESTED}'
    session = treadle.InferenceSession(text, engines=("onnxruntime", "interp"))
    assert session.plan.main.regions
    assert kept
    assert [*untyped(kept[0].graph)] == []


FOLDED = """
import treadle
text = '''<ir_version: 10, opset_import: ["" : 21]>
g (float[8,8] x) => (v, k, o) <int64[1] one = {1}, float[2] pair = {0, 1}> {
  v, k = TopK <axis = 1, largest = 0> (x, one)
  a = Constant <value = int64 {1}> ()
  b = Constant <value = int64 {4}> ()
  yes = Less (a, b)
  o = If (yes) <then_branch = t () => (r) {
      depth = Constant <value = int64 {3}> ()
      hot = OneHot (k, depth, pair)
      shape = Constant <value = int64[4] {2, 1, 2, 3}> ()
      r0 = If (yes) <then_branch = tt () => (u) { u = Abs (hot) },
                     else_branch = te () => (w) { w = Sub (hot, v) }>
      r = Identity (v)
    }, else_branch = e () => (z) { z = Identity (v) }>
}'''
treadle.InferenceSession(text, engines=("onnxruntime", "interp"))
"""


def test_nested_branches_that_fold_load_in_a_process_of_their_own():
    done = subprocess.run([sys.executable, "-c", FOLDED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
