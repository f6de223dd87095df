"""The index of the extreme along a long axis: one reduction where key and position fit together."""

import numpy as np
import pytest

from tests.jit.native import check, outcomes
from treadle import InferenceSession
from treadle.jit.kernel.ir import Reduce
from treadle.jit.kernel.traversal import all_nodes

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
DTYPES = {"float": np.float32, "float16": np.float16, "double": np.float64, "int8": np.int8,
          "int16": np.int16, "uint8": np.uint8, "uint16": np.uint16, "int32": np.int32,
          "uint32": np.uint32, "int64": np.int64}  # fmt: skip

FORMS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""The axis, and whether the last of equal items is meant."""


def loop(op: str, dtype: str, shape: str, *, forms: tuple[tuple[int, int], ...] = FORMS) -> str:
    made = [f"c{axis}{last}" for axis, last in forms]
    lines = "\n".join(
        f"c{axis}{last} = {op} <axis = {axis}, select_last_index = {last}> (moved)"
        for axis, last in forms
    )
    return f"""g (int64 n, {dtype}[{shape}] x) => ({_all(made, "y", "N,")}) {{
      {", ".join("y" + name for name in made)} = Loop (n, "") <body = f (int64 i, bool go)
        => (bool on, {_all(made)}) {{
        on = Identity (go)
        k = CastLike (i, x)
        moved = Add (x, k)
        {lines}
      }}>
    }}"""


def _all(names: list[str], prefix: str = "", first: str = "") -> str:
    return ", ".join(f"int64[{first}{name}a,{name}b] {prefix}{name}" for name in names)


def numbers(rng: np.random.Generator, dtype: str) -> np.ndarray:
    """Numbers with equal ones, and for floats zeros of both signs, infinities and NaN in places."""
    made = rng.integers(0, 6, (18, 40)).astype(DTYPES[dtype])
    if made.dtype.kind == "f":
        made = made - 3
        made[made == 0] *= rng.choice([-1.0, 1.0], (made == 0).sum()).astype(made.dtype)
        made[3, 5:9], made[7, 30], made[8, 2] = np.nan, -np.inf, np.inf
    if made.dtype.kind in "iu":
        ends = np.iinfo(made.dtype)
        made[2, 4:6], made[4, 8:11] = ends.max - 9, ends.min
    return made


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_along_every_axis(op: str, dtype: str, rng: np.random.Generator) -> None:
    x = numbers(rng, dtype)
    for shape in ("18,40", "a,b"):
        check(loop(op, dtype, shape), {"n": np.array(2), "x": x})


@pytest.mark.parametrize(("dtype", "count"), [("float", 1), ("int8", 1), ("double", 2)])
def test_the_reductions(dtype: str, count: int, rng: np.random.Generator) -> None:
    text = HEAD + loop("ArgMax", dtype, "18,40", forms=((1, 0),))
    session = InferenceSession(text, engines=("jit", "interp"))
    session.run(None, {"n": np.array(2), "x": numbers(rng, dtype)})
    (made,) = outcomes(session)
    found = [node for node in all_nodes(made.kernel.main) if isinstance(node.op, Reduce)]
    assert len(found) == count
