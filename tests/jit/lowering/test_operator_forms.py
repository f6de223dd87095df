"""Forms of operators that onnx's node cases leave out, against their numpy kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.jit.leaves import leaf, natively
from tests.seeded import seeded
from tests.values import assert_same
from treadle import ops
from treadle.ir import Block, DType, dtype_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import HostCall, Input, Result
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.lowering import lower_block
from treadle.jit.lowering.lowering_builder import LoweringBuilder
from treadle.plan import FallbackRequired

BYTES = seeded("BYTES").integers(0, 256, (2, 3, 4)).astype(np.uint8)
OTHERS = seeded("OTHERS").integers(0, 256, (4, 5)).astype(np.uint8)


def zeros(count: int) -> np.ndarray:
    return seeded(("zeros", count)).integers(1, 9, count).astype(np.uint8)


FLOAT = np.dtype(np.float32)
NARROW = (np.dtype(np.float16), DType.BFLOAT16.numpy)
A = seeded("A").uniform(1, 2, (2, 3, 4)).astype(np.float32)
ROW = seeded("ROW").uniform(1, 2, 3).astype(np.float32)
WHOLE = np.array([0, 1, -1, 2, -3, 7, 2, 3], np.int32)
ABOVE = np.array([0, 1, 5, 31, 3, 2, 33, 0], np.int64)
HALVES = np.array([2, 3, 1, 0.5, 2, 0, 1, 1], np.float32)
X = seeded("X").uniform(-1, 1, (5, 2, 3)).astype(np.float32)
LENGTHS = np.array([3, 5], np.int32)
LONG = seeded("LONG").uniform(-1, 1, (20, 2, 3))


def cell(gates: int, bias: int, kind: np.dtype = FLOAT) -> tuple[np.ndarray, ...]:
    """Weights of both directions of a recurrence of two numbers."""
    shapes = (2, gates * 2, 3), (2, gates * 2, 2), (2, bias * 2)
    rng = seeded(("cell", gates, bias))
    return tuple(rng.uniform(-1, 1, shape).astype(kind) for shape in shapes)


def state(name: str, batch: int, kind: np.dtype = FLOAT) -> np.ndarray:
    """Where both directions begin."""
    return seeded((name, batch)).uniform(-1, 1, (2, batch, 2)).astype(kind)


def widths(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


BOTH = {"hidden_size": 2, "direction": "bidirectional"}
FORMS = {
    **{
        f"{op}, sequences of several lengths": (
            op,
            22,
            (X, *cell(gates, bias), LENGTHS),
            {**BOTH, "results": results},
        )
        for op, gates, bias, results in (("RNN", 1, 2, 2), ("GRU", 3, 6, 2), ("LSTM", 4, 8, 3))
    },
    "LSTM that begins somewhere, with peepholes": (
        "LSTM",
        22,
        (
            X,
            *cell(4, 8),
            None,
            state("h", 2),
            state("c", 2),
            seeded("peepholes").uniform(-1, 1, (2, 6)).astype(np.float32),
        ),
        {**BOTH, "results": 3},
    ),
    "GRU, batches first, that begins somewhere": (
        "GRU",
        22,
        (X, *cell(3, 6), np.array([2, 1, 2, 0, 1], np.int32), state("h", 5).swapaxes(0, 1)),
        {**BOTH, "layout": 1, "results": 2},
    ),
    **{
        f"{op}-{version} of {kind.name}, sequences of several lengths": (
            op,
            version,
            (LONG.astype(kind), *cell(gates, bias, kind), LENGTHS * 4),
            {**BOTH, "clip": 0.9, "results": results},
        )
        for op, gates, bias, results in (("RNN", 1, 2, 2), ("GRU", 3, 6, 2), ("LSTM", 4, 8, 3))
        for version in (7, 22)
        for kind in NARROW[: 2 if version == 22 else 1]
    },
    **{
        f"LSTM of {kind.name}, with peepholes and other functions": (
            "LSTM",
            22,
            (
                LONG.astype(kind),
                *cell(4, 8, kind),
                None,
                state("h", 2, kind),
                state("c", 2, kind),
                seeded("peepholes").uniform(-1, 1, (2, 6)).astype(kind),
            ),
            {
                **BOTH,
                "activations": ["HardSigmoid", "Softsign", "Elu", "Sigmoid", "ScaledTanh", "Tanh"],
                "activation_alpha": [0.3, 0.7, 1.1],
                "activation_beta": [0.4, 0.9],
                "input_forget": 1,
                "results": 3,
            },
        )
        for kind in NARROW
    },
    **{
        f"GRU of {kind.name}, without biases, reset {after}": (
            "GRU",
            22,
            (LONG.astype(kind), *cell(3, 6, kind)[:2], None, None, state("h", 2, kind)),
            {**BOTH, "linear_before_reset": after, "results": 2},
        )
        for kind in NARROW
        for after in (0, 1)
    },
    "Range-27 of float16": ("Range", 27, tuple(HALVES.astype(np.float16)[[3, 1, 3]]), {}),
    "Range-27 of float16 in float64": (
        "Range",
        27,
        tuple(np.array([0.1, 9, 0.3], np.float16)),
        {"stash_type": 11},
    ),
    "Range-27 of bfloat16": (
        "Range",
        27,
        tuple(np.array([0.1, 9, 0.3], DType.BFLOAT16.numpy)),
        {},
    ),
    "Tile by numbers of the run": ("Tile", 13, (A, widths(2, 1, 3)), {}),
    "Tile to nothing": ("Tile", 13, (A, widths(2, 0, 3)), {}),
    "Tile of a number": ("Tile", 13, (A[0, 0, 0], widths()), {}),
    "Tile-1 by a number of the run": (
        "Tile",
        1,
        (A, np.float32(3), np.float32(1)),
        {"fixed": (2,)},
    ),
    **{
        f"Pow of {one} by {other}": ("Pow", 15, (A.astype(one), A.astype(other)), {})
        for one, other in (
            (FLOAT, NARROW[0]),
            (FLOAT, NARROW[1]),
            (NARROW[0], NARROW[1]),
            (NARROW[1], FLOAT),
        )
    },
    **{
        f"BatchNormalization of {one} by {other} and {third}": (
            "BatchNormalization",
            15,
            (A.astype(one), *(ROW.astype(k) for k in (other, other, third, third))),
            {},
        )
        for one, other, third in (
            ("float64", "float32", "float32"),
            ("float32", "float64", "float32"),
            ("float32", "float32", "float64"),
            ("float16", "float64", "float32"),
        )
    },
    **{
        f"Pad that goes on, {mode}": (
            "Pad",
            19,
            (A, widths(0, 2, 3, 1, 1, 2)),
            {"mode": mode, "fixed": (1,)},
        )
        for mode in ("reflect", "edge", "wrap")
    },
    "Pad that cuts and goes on": (
        "Pad",
        19,
        (A, widths(0, -1, 3, -1, 1, 2)),
        {"mode": "reflect", "fixed": (1,)},
    ),
    **{
        f"{op} of many of {kind.name}": (op, 13, (np.ones((2, 5000), kind),), {"keepdims": 0})
        for op in ("ReduceSum", "ReduceMean", "ReduceL2")
        for kind in NARROW
    },
    **{
        f"Einsum {equation}": ("Einsum", 12, operands, {"equation": equation})
        for equation, operands in (
            ("ii->i", (X[:3, 0],)),
            ("iij->ji", (A[:, :2],)),
            ("ii", (X[:3, 0],)),
            ("ij, jk", (A[0], A[0].T)),
            ("ji", (A[0],)),
            ("...ij,...jk->...ik", (A, A[0].T)),
            ("b...,b...->...", (A, A)),
            ("i,j->ji", (ROW, ROW)),
            ("ij,ij->", (A[0], A[0])),
            ("ijk,kl,jl->il", (A, A[0, :, :].T, A[0, :, :3])),
        )
    },
    "Pow of whole numbers": ("Pow", 15, (WHOLE, ABOVE), {}),
    "Pow of bytes": ("Pow", 15, (WHOLE.astype(np.uint8), ABOVE.astype(np.uint8)), {}),
    "Pow, a whole number by a float": ("Pow", 15, (ABOVE, HALVES), {}),
    "Pow, a float by a whole number": ("Pow", 15, (A[0, 0], WHOLE[2:6]), {}),
    "Sub-6, an axis from the end": ("Sub", 6, (A, ROW), {"broadcast": 1, "axis": -2}),
    "Div-6, the last axes": ("Div", 6, (A, A[0]), {"broadcast": 1}),
    "Sub-6, one number": ("Sub", 6, (A, ROW[0]), {"broadcast": 1, "axis": 1}),
    "MatMulInteger, zero points by row": ("MatMulInteger", 10, (BYTES[0], OTHERS, zeros(3)), {}),
    "MatMulInteger, by row of a batch": ("MatMulInteger", 10, (BYTES, OTHERS, zeros(3)), {}),
    "MatMulInteger, by row and column": (
        "MatMulInteger",
        10,
        (BYTES[0], OTHERS, zeros(3), zeros(5)),
        {},
    ),
    "MatMulInteger, none and by column": (
        "MatMulInteger",
        10,
        (BYTES[0], OTHERS, None, zeros(5)),
        {},
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_native_code_agrees_with_numpy(name):
    op, version, inputs, attributes = FORMS[name]
    attributes = dict(attributes)
    results, fixed = attributes.pop("results", 1), attributes.pop("fixed", ())
    made = leaf(op, version, len(inputs), results, **attributes)
    given = (v if each is not None else None for v, each in zip(made.operands, inputs, strict=True))
    step = replace(made, operands=tuple(given))
    wanted = ops.bind_kernel(step)(inputs)
    found, is_native = natively(step, inputs, fixed)
    assert is_native
    assert_same(found, wanted, [name] * results)


B = np.arange(12, dtype=np.float32).reshape(3, 4)
MISFITS = {
    "a Reshape to an axis x has not": ("Reshape", 14, (B, widths(3, 4, 0)), {}, (1,)),
    "a Reshape to too many": ("Reshape", 14, (B, widths(3, 5)), {}, (1,)),
    "a Reshape whose rest is no number": ("Reshape", 14, (B, widths(5, -1)), {}, (1,)),
    "a Gather of what is not there": ("Gather", 13, (B, widths(3)), {}, (1,)),
    "a Gather before the first": ("Gather", 13, (B, widths(-4)), {}, (1,)),
    "a Gather by floats": ("Gather", 13, (B, B[0]), {}, ()),
    "GatherElements of another rank": ("GatherElements", 13, (B, widths(0)), {}, ()),
    "GatherElements of more columns": ("GatherElements", 13, (B, widths(*[0] * 5)[None]), {}, ()),
    "GatherND of more numbers than axes": ("GatherND", 13, (B, widths(0, 0, 0)), {}, ()),
    "GatherND of other batches": (
        "GatherND",
        13,
        (B, widths(0, 0)[:, None]),
        {"batch_dims": 1},
        (),
    ),
    "ScatterElements of fewer updates": (
        "ScatterElements",
        18,
        (B, widths(0, 1)[None], B[:1, :1]),
        {},
        (),
    ),
    "ScatterND of rows of another length": (
        "ScatterND",
        18,
        (B, widths(0, 1)[:, None], B[:2, :3]),
        {},
        (),
    ),
    "ScatterND of fewer updates": ("ScatterND", 18, (B, widths(0, 1)[:, None], B[:1]), {}, ()),
    "ScatterND of another rank": ("ScatterND", 18, (B, widths(0, 1)[:, None], B[0]), {}, ()),
    "a Concat of other lengths": ("Concat", 13, (B, B[:2]), {"axis": 1}, ()),
    "a Concat of another rank": ("Concat", 13, (B, B[0]), {"axis": 0}, ()),
    "a Concat of another dtype": ("Concat", 13, (B, B.astype(np.int64)), {"axis": 0}, ()),
    "a Split into too few": ("Split", 13, (B, widths(1, 1)), {"axis": 0, "results": 2}, (1,)),
    "a Split into more than come out": (
        "Split",
        18,
        (np.arange(10.0).reshape(5, 2),),
        {"axis": 0, "num_outputs": 4, "results": 4},
        (),
    ),
    "a Squeeze of more than one": ("Squeeze", 13, (B, widths(0)), {}, (1,)),
    "an Expand to other lengths": ("Expand", 13, (B, widths(3, 5)), {}, (1,)),
    "an Add of other lengths": ("Add", 14, (B, B[0, :3]), {}, ()),
    "a MatMul of other lengths": ("MatMul", 13, (B, B), {}, ()),
    "a MatMul of batches that differ": (
        "MatMul",
        13,
        (np.stack([B] * 2), np.stack([B.T] * 3)),
        {},
        (),
    ),
    "a MatMul with a number": ("MatMul", 13, (B, B[0, 0]), {}, ()),
    "an Einsum of other lengths": ("Einsum", 12, (B, B), {"equation": "ij,jk->ik"}, ()),
    "an Einsum of another rank": ("Einsum", 12, (B,), {"equation": "ijk->ik"}, ()),
    "an Einsum of fewer operands": ("Einsum", 12, (B,), {"equation": "ij,jk->ik"}, ()),
    "an Einsum of unknown letters": ("Einsum", 12, (B,), {"equation": "ij->ijk"}, ()),
    "the largest of nothing": ("ReduceMax", 13, (B[:0],), {"axes": [0]}, ()),
    "more of the largest than there are": ("TopK", 11, (B, widths(5)), {"results": 2}, (1,)),
    "none of the largest": ("TopK", 11, (B, widths(0)), {"results": 2}, (1,)),
    "a Pad of too few numbers": ("Pad", 13, (B, widths(1, 1)), {}, (1,)),
    "a Pad that goes on from nothing": (
        "Pad",
        19,
        (B[:0], widths(1, 0, 0, 0)),
        {"mode": "wrap"},
        (1,),
    ),
    "a Tile of too few numbers": ("Tile", 13, (B, widths(2)), {}, (1,)),
    "a Slice of step 0": (
        "Slice",
        13,
        (B, widths(0), widths(1), widths(0), widths(0)),
        {},
        (1, 2, 3, 4),
    ),
    "an axis x has not": ("ArgMax", 13, (B,), {"axis": 2}, ()),
    "an axis before the first": ("CumSum", 14, (B, np.array(-3)), {}, (1,)),
    "a Compress by a matrix": ("Compress", 11, (B, B > 2), {"axis": 0}, ()),
    "a Conv of other channels": ("Conv", 11, (X[:, :, :, None], X[:2, :1, :2, None]), {}, ()),
    "a window larger than the whole": ("MaxPool", 12, (X,), {"kernel_shape": [7]}, ()),
}


@pytest.mark.parametrize("name", MISFITS)
def test_invalid_operands_have_no_native_code(name):
    """It is declined, or numpy is called out for, and says what is wrong or does it its way."""
    op, version, inputs, attributes, fixed = MISFITS[name]
    results = attributes.get("results", 1)
    given = {key: each for key, each in attributes.items() if key != "results"}
    step = leaf(op, version, len(inputs), results, **given)
    try:
        found, is_native = natively(step, inputs, fixed)
    except (Declined, FallbackRequired):
        return
    assert not is_native
    assert_same(found, ops.bind_kernel(step)(inputs), [name] * results)


def test_nodes_of_a_declined_lowering_are_removed():
    op, version, inputs, _, _ = MISFITS["ScatterND of fewer updates"]
    b = LoweringBuilder.start()
    step = leaf(op, version, len(inputs), 1)
    params = [b.param(Input(k), dtype_of(each.dtype), each.shape) for k, each in enumerate(inputs)]
    lower_block(b, Block(params=step.operands, steps=(step,), results=step.results), params)
    left = [type(node.op) for node in all_nodes(b.main) if not isinstance(node.op, Input)]
    assert left == [HostCall, Result]
