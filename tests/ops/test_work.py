"""Multiplications of products, and sizes and reaches of convolutions, before anything is done."""

import numpy as np
import pytest

import treadle
from tests.jit.leaves import leaf
from treadle import ops


def counted(op, version, *operands, **attributes):
    count = ops.multiplications(leaf(op, version, len(operands), 1, **attributes))
    assert count is not None
    return count(operands)


def test_products_are_counted():
    x, w = np.broadcast_to(np.float32(0), (900, 800)), np.broadcast_to(np.float32(0), (800, 700))
    assert counted("MatMul", 13, x, w) == 900 * 800 * 700
    assert counted("Gemm", 13, x, w.T, transB=1) == 900 * 800 * 700
    assert counted("Einsum", 12, x, w, equation="ij,jk->ik") == 900 * 800 * 700
    batch = np.broadcast_to(np.float32(0), (5, 900, 800))
    assert counted("MatMul", 13, batch, w) == 5 * 900 * 800 * 700


def test_short_products_are_not():
    assert counted("MatMul", 13, np.zeros((3, 3)), np.zeros((3, 3))) == 0
    assert ops.multiplications(leaf("Add", 14, 2, 1)) is None


def of_op(op, attributes):
    shown = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    given = "x" if op.endswith("Pool") else "x, w"
    return f"""<ir_version: 8, opset_import: ["" : 18]>
      g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[a,b,c,d] y) {{
        y = {op} <{shown}> ({given})
      }}"""


FAR = [2**31 - 1] * 2


@pytest.mark.parametrize("engines", [("interp",), ("onnxruntime", "interp"), ("jit", "interp")])
@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("Conv", {"dilations": FAR, "pads": FAR * 2}),
        ("Conv", {"pads": FAR * 2}),
        ("ConvTranspose", {"dilations": FAR}),
        ("ConvTranspose", {"output_shape": FAR}),
        ("MaxPool", {"kernel_shape": [2, 2], "pads": [1] * 4, "dilations": FAR}),
    ],
)
def test_reaches_that_no_engine_ends_are_refused(op, attributes, engines):
    with pytest.raises(treadle.Unsupported, match=r"2,147,483,647 in its \w+, at most"):
        treadle.InferenceSession(of_op(op, attributes), engines=engines)


def test_padded_images_are_weighed_before_they_are_made():
    far = 2**20
    text = of_op("Conv", {"pads": [far] * 4, "strides": [far, far]})
    session = treadle.InferenceSession(text, engines=("interp",))
    x, w = np.ones((1, 1, 5, 5), np.float32), np.ones((1, 1, 3, 3), np.float32)
    with pytest.raises(treadle.RunError, match=r"its result would have 1\.76e\+13 bytes"):
        session.run(None, {"x": x, "w": w})
