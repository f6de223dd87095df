"""Attention gives its product of Q and K before the soft cap where mode 0 asks for it."""

import numpy as np
import pytest

import treadle

TEXT = """<ir_version: 11, opset_import: ["" : {opset}]>
g (float[1, 2, 3, 4] q, float[1, 2, 3, 4] k, float[1, 2, 3, 4] v)
    => (float[1, 2, 3, 4] y, float[1, 2, 3, 3] product) {{
  y, "", "", product = Attention <softcap = 2.0, qk_matmul_output_mode = {mode}> (q, k, v)
}}"""


@pytest.mark.parametrize("engines", [None, ("interp",), ("jit", "interp")])
@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_the_product_of_attention(engines, opset, mode, rng):
    feeds = {name: rng.standard_normal((1, 2, 3, 4)).astype(np.float32) for name in "qkv"}
    session = treadle.InferenceSession(TEXT.format(opset=opset, mode=mode), engines=engines)
    _, found = session.run(None, feeds)
    product = np.einsum("bhqd,bhkd->bhqk", feeds["q"], feeds["k"]) / 2
    wanted = product if mode == 0 else 2 * np.tanh(product / 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
