"""The sweep finds known faults, and interp and native code agree with the standard."""

from __future__ import annotations

import time
from itertools import islice

import numpy as np
import pytest

from tools.sweep.asking import ONNXRUNTIME, sweep
from tools.sweep.edges import DTYPES, edges
from tools.sweep.parties import Child, interp, native
from tools.sweep.questions import UNASKED, questions
from tools.sweep.table import HEAD, TABLE
from treadle.checks import bugs_of
from treadle.ir import DType, Leaf, Tensor, Value


@pytest.fixture(scope="module")
def child():
    return Child()


@pytest.mark.parametrize("op", ["Sign", "ReduceMax", "CumSum"])
def test_treadles_answers_are_right(op, child):
    asked = [q for q in islice(questions(("", op)), 30) if q.dtype in ("int64", "float32")]
    parties = {ONNXRUNTIME: child, "interp": interp, "jit": native}
    with np.errstate(all="ignore"):
        found, is_whole = sweep(asked[:1], parties, time.monotonic() + 60)
    assert is_whole
    assert not [(party, q.op, q.dtype, edge) for (party, q, edge), wrong in found.items()
                if any(wrong) and party != ONNXRUNTIME]  # fmt: skip


@pytest.mark.parametrize(
    "op", ["ConstantOfShape", "HannWindow", "MelWeightMatrix", "NonMaxSuppression", "Range"]
)
def test_operands_that_determine_sizes_ask_for_few_elements(op):
    asked = {question.dtype: question for question in questions(("", op))}
    assert asked
    for question in asked.values():
        for edge, operands in question.cases():
            (made,) = interp(question, operands)
            assert made.size < 4096
            assert op != "Range" or made.size == 5, (question.dtype, edge)


def test_an_operator_that_is_not_asked_has_a_reason():
    assert all(UNASKED.values())
    assert not [op for op in UNASKED if list(questions(("", op)))]


@pytest.mark.parametrize("dtype", DTYPES)
def test_edges_are_of_their_type(dtype):
    for values in edges(dtype).values():
        assert values.dtype == dtype
        assert values.size


def test_rows_of_the_table_are_whole():
    head, *rows = TABLE.read_text().splitlines()
    assert tuple(head.split("\t")) == HEAD
    assert all(len(row.split("\t")) == len(HEAD) for row in rows)
    assert rows == sorted(rows, key=_order)


def _order(row):
    domain, op, version, dtype, edge, form, release, wrong, asked = row.split("\t")
    return domain, op, int(version), dtype, edge, form, release, int(wrong), int(asked)


def test_a_row_is_found_by_its_step():
    rows = [row.split("\t") for row in TABLE.read_text().splitlines()[1:]]
    row = next(row for row in rows if row[3] == "int64" and not row[5])
    x = Value("x", Tensor(DType("int64"), (3,)))
    step = Leaf(row[0], row[1], int(row[2]), (x,), (Value("y"),))
    assert row[4] in [bug.edge for bug in bugs_of(step)]
    narrow = Value("x", Tensor(DType("float32"), (3,)))
    assert not bugs_of(Leaf(row[0], row[1], int(row[2]), (narrow,), (Value("y"),)))
