"""Every version of every native operator against its numpy kernel.

The operands are the standard's own of a newer version where that has the same form; the rest is
written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.jit.leaves import leaf, natively
from tests.jit.lowering.test_node_cases import CALLED, NOT_SCANNED, has_native_types
from tests.ops.node_suite import leaf_of
from tests.seeded import seeded
from tests.values import assert_same
from tools.node_cases import single_nodes
from treadle import ir, ops
from treadle.jit.host.sequence_marshal import LISTS
from treadle.jit.lowering import TABLE

A = seeded("A").uniform(-2, 2, (2, 3, 4)).astype(np.float32)
B = seeded("B").uniform(1, 2, (3, 4)).astype(np.float32)
ROW = seeded("ROW").uniform(1, 2, 3).astype(np.float32)
WHOLE = seeded("WHOLE").integers(-9, 9, (2, 3, 4)).astype(np.int64)
TRUE, TRUTH = A > 0, ROW > 1.5


def whole(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


BROADCAST = {"broadcast": 1, "axis": 1}
Written = tuple[Sequence[np.ndarray], dict[str, Any], Sequence[int]]
OLD: dict[tuple[str, int], Written] = {
    **{(op, v): ((A, ROW), BROADCAST, ()) for op in ("Add", "Sub", "Mul", "Div") for v in (1, 6)},
    ("Pow", 1): ((np.abs(A), ROW), BROADCAST, ()),
    ("Greater", 1): ((A, ROW), BROADCAST, ()),
    ("Less", 1): ((A, ROW), BROADCAST, ()),
    ("Equal", 1): ((WHOLE, WHOLE[0, :, 0]), BROADCAST, ()),
    **{(op, 1): ((TRUE, TRUTH), BROADCAST, ()) for op in ("And", "Or", "Xor")},
    **{(op, v): ((A,), {"axis": 1}, ()) for op in ("Softmax", "LogSoftmax", "Hardmax")
       for v in (1, 11)},
    **{("PRelu", v): ((A, ROW), {}, ()) for v in (1, 6)},
    ("Cast", 1): ((A,), {"to": "INT32"}, ()),
    ("Concat", 1): ((A, A), {}, ()),
    ("Reshape", 1): ((A,), {"shape": [0, -1]}, ()),
    ("Split", 1): ((A,), {"axis": 2, "split": [1, 3], "results": 2}, ()),
    **{("Dropout", v): ((A,), {"is_test": 1}, ()) for v in (1, 6)},
    **{("Gemm", v): ((A[0], B.T, B[:1, :3]), {"broadcast": 1, "alpha": 0.5}, ())
       for v in (1, 6)},
    ("Clip", 1): ((A,), {"min": -0.5}, ()),
    ("Clip", 6): ((A,), {"min": -0.5, "max": 0.75}, ()),
    ("DepthToSpace", 1): ((WHOLE.reshape(1, 4, 2, 3).astype(np.float32),), {"blocksize": 2}, ()),
    ("GroupNormalization", 18): (
        (A.reshape(1, 4, 6), ROW[:2], ROW[1:]), {"num_groups": 2, "epsilon": 1e-5}, ()
    ),
    ("GlobalLpPool", 1): ((A,), {"p": 2.0}, ()),
    **{("GlobalLpPool", v): ((A,), {"p": 3}, ()) for v in (2, 22)},
    ("Pad", 1): ((A,), {"paddings": [0, 1, 2, 0, -1, 1], "mode": "edge"}, ()),
    ("Pad", 2): ((A,), {"pads": [0, 1, 2, 0, -1, 1], "value": 0.5}, ()),
    ("Slice", 1): ((A,), {"starts": [0, -3], "ends": [9, -1], "axes": [0, 2]}, ()),
    ("Squeeze", 1): ((A[:1],), {"axes": [0]}, ()),
    ("Squeeze", 11): ((A[:1],), {}, ()),
    ("Unsqueeze", 1): ((A,), {"axes": [0, 2]}, ()),
    ("Unsqueeze", 11): ((A,), {"axes": [0, -1]}, ()),
    ("Split", 2): ((A,), {"axis": 2, "split": [1, 3], "results": 2}, ()),
    ("Split", 11): ((A,), {"axis": 2, "results": 2}, ()),
    ("Tile", 1): ((A, whole(3), whole(1)), {}, (1, 2)),
    ("TopK", 1): ((A,), {"k": 2, "axis": 2, "results": 2}, ()),
    ("TopK", 10): ((A, whole(3)), {"axis": 1, "results": 2}, (1,)),
    **{(op, v): ((np.abs(A),), {"axes": [0, 2], "keepdims": 0}, ()) for op, v in TABLE
       if op.startswith("Reduce") and ops.schema("", op, v).max_inputs == 1},
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A leaf, its operands, and which of them are known beforehand."""

    step: ir.Leaf
    inputs: tuple[np.ndarray, ...]
    fixed: tuple[int, ...] = ()


def operands_of(case: Case) -> list[np.ndarray | None]:
    """The case's inputs, and None for each operand that it leaves out."""
    given = iter(case.inputs)
    return [None if operand is None else next(given) for operand in case.step.operands]


@cache
def recorded() -> dict[str, list[Case]]:
    """The standard's cases, by operator."""
    found: dict[str, list[Case]] = {}
    for node in single_nodes():
        domain, op, _ = node.key
        if domain or not has_native_types(node):
            continue
        opsets = {ops.canonical(o.domain): o.version for o in node.model.opset_import}
        step = leaf_of(node.model.graph.node[0], opsets)
        if len([v for v in step.operands if v is not None]) == len(node.inputs):
            found.setdefault(op, []).append(Case(step, node.inputs))
    return found


def usable(op: str, version: int) -> Case | None:
    """A case of the form this version has."""
    if (op, version) in OLD:
        inputs, attributes, fixed = OLD[op, version]
        given = {name: each for name, each in attributes.items() if name != "results"}
        step = leaf(op, version, len(inputs), attributes.get("results", 1), **given)
        return Case(step, tuple(inputs), tuple(fixed))
    schema = ops.schema("", op, version)
    assert schema is not None
    for case in recorded().get(op, []):
        words = [{ops.element_word(ir.dtype_of(a.dtype))} for a in case.inputs]
        types = [{t[7:-1] for t in formal.types} for formal in schema.inputs]
        types += types[-1:] * (len(words) - len(types))
        fits = (
            set(case.step.attributes) <= set(schema.attributes)
            and len(case.inputs) <= schema.max_inputs
            and all(word <= known for word, known in zip(words, types, strict=False))
        )
        if fits:
            first = 0 if op in NOT_SCANNED else 1
            fixed = tuple(k for k, a in enumerate(case.inputs) if k >= first and a.ndim <= 1)
            return Case(replace(case.step, version=version), case.inputs, fixed)
    return None


@pytest.mark.parametrize("letter", ["AB", "C", "DE", "FGH", "IKL", "M", "NOP", "QR", "S", "T-Z"])
def test_every_version_agrees_with_numpy(letter):
    wrong = {}
    for op, version in TABLE:
        if op in LISTS or not letter[0] <= op[0] <= letter[-1]:
            continue
        case = usable(op, version)
        if case is None:
            wrong[op, version] = "no case"
            continue
        made = ops.bind_kernel(case.step)(operands_of(case))
        wanted = [each for each, v in zip(made, case.step.results, strict=True) if v is not None]
        found, is_native = natively(case.step, case.inputs, case.fixed)
        try:
            assert_same(found, wanted, [f"{op}-{version}"] * len(wanted))
        except AssertionError as why:
            wrong[op, version] = str(why)[:300]
        if not is_native and op not in CALLED:
            wrong[op, version] = "a call"
    assert not wrong, wrong
