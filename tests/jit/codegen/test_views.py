"""Views with as many elements as their source, in another order or choice."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import check

PART = "front = Slice (x, zero, side, zero)"
DIAGONAL = 'front = Einsum <equation = "ii->i"> (x)'
SPREAD = {
    "a part of a list": ("36", PART, "wide = Expand (front, shape)"),
    "a part of rows": ("6,6", PART.replace("side", "one"), "wide = Expand (front, shape)"),
    "a diagonal": ("6,6", DIAGONAL, "wide = Expand (front, shape)"),
    "a diagonal as a column": (
        "6,6", DIAGONAL,
        "column = Unsqueeze (front, one)  wide = Expand (column, shape)",
    ),
}  # fmt: skip
USES = ("e = Identity (wide)", "e = Neg (wide)", "flat = Reshape (wide, all)  e = Neg (flat)")


@pytest.mark.parametrize("kind", SPREAD)
@pytest.mark.parametrize("use", USES)
def test_a_repeating_view_is_no_identity(kind: str, use: str) -> None:
    shape, front, wide = SPREAD[kind]
    element = "float[36]" if "flat" in use else "float[6,6]"
    text = f"""g (int64 n, float[{shape}] x0)
      => (float[{shape}] last, float[N,P,Q] es, {element} e) {{
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      side = Constant <value = int64[1] {{6}}> ()
      all = Constant <value = int64[1] {{36}}> ()
      shape = Constant <value = int64[2] {{6, 6}}> ()
      last, es = Loop (n, "", x0) <body = f (int64 i, bool go, float[{shape}] x)
        => (bool on, float[{shape}] x1, {element} e) {{
        on = Identity (go)
        x1 = Neg (x)
        {front}
        {wide}
        {use}
      }}>
      {front.replace("(x", "(last")}
      {wide}
      {use}
    }}"""
    if "flat" in use:
        text = text.replace("float[N,P,Q]", "float[N,P]")
    x = np.arange(36, dtype=np.float32).reshape([int(extent) for extent in shape.split(",")])
    check(text, {"n": np.array(3), "x0": x})
