"""Every native operator with every element type of its schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.jit.leaves import attribute, is_native, natively
from tests.jit.lowering.test_operator_versions import Case, operands_of, usable
from tests.values import assert_same
from treadle import ir, ops
from treadle.errors import InvalidModel
from treadle.ir import DType
from treadle.jit.host.sequence_marshal import LISTS
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.lowering import TABLE
from treadle.jit.policy.operator_table import CALLED_TYPES

LETTERS = ["AB", "C", "DE", "FGH", "IKL", "M", "NOP", "QR", "S", "T-Z"]
WORDS = {f"tensor({ops.element_word(dtype)})": dtype for dtype in NATIVE}
WIDTHS = {1: DType.UINT8, 2: DType.UINT16, 4: DType.UINT32, 8: DType.UINT64}
NEWEST = {op: max(version for name, version in TABLE if name == op) for op, _ in TABLE}
CAST = ("Cast", "CastLike")  # of any element type to any other: test_casts


def typed(op: str, version: int) -> Iterator[tuple[str, DType, Case]]:
    """The operator's case with each type variable in each element type, as far as that is valid."""
    case, schema = usable(op, version), ops.schema("", op, version)
    assert case is not None
    assert schema is not None
    formals = list(schema.inputs)
    formals += formals[-1:] * (len(case.inputs) - len(formals))
    for formal in {formal.variable: formal for formal in formals[: len(case.inputs)]}.values():
        for dtype in sorted({WORDS[word] for word in formal.types & WORDS.keys()}, key=str):
            with np.errstate(invalid="ignore"):
                inputs = tuple(
                    array.astype(dtype.numpy) if each.variable == formal.variable else array
                    for each, array in zip(formals, case.inputs, strict=False)
                )
            made = replace(case, step=as_wide(case.step, dtype), inputs=inputs)
            if is_valid(made):
                yield formal.variable, dtype, made


def as_wide(step: ir.Leaf, dtype: DType) -> ir.Leaf:
    """A BitCast goes to whole numbers as wide as what it is given."""
    if step.op != "BitCast":
        return step
    to = attribute("to", ops.element_to_proto(WIDTHS[dtype.numpy.itemsize]))
    return replace(step, attributes={"to": to})


def is_valid(case: Case) -> bool:
    """Whether the standard's own rule takes these types together."""
    types = [ir.Tensor(ir.dtype_of(array.dtype), array.shape) for array in case.inputs]
    try:
        ops.result_types(case.step, types, [None] * len(types))
    except InvalidModel:
        return False
    return True


def chosen(letters: str) -> list[tuple[str, int]]:
    return [key for key in TABLE if key[0] not in LISTS and letters[0] <= key[0][0] <= letters[-1]]


@pytest.mark.parametrize("letters", LETTERS)
def test_native_code_is_for_all_but_those_the_page_names(letters):
    wrong = {}
    for op, version in chosen(letters):
        for variable, dtype, case in typed(op, version):
            found = is_native(case.step, case.inputs, case.fixed if op != "Range" else ())
            if found is (dtype in CALLED_TYPES.get(op, ())):
                wrong[op, version, variable, dtype.value] = "native" if found else "called"
    assert not wrong


@pytest.mark.parametrize("letters", LETTERS)
def test_native_code_agrees_with_numpy(letters):
    wrong = {}
    for op, version in chosen(letters):
        if version != NEWEST[op] or op in CAST:
            continue
        for variable, dtype, case in typed(op, version):
            if dtype is DType.FLOAT32:
                continue
            made = ops.bind_kernel(case.step)(operands_of(case))
            wanted = [e for e, v in zip(made, case.step.results, strict=True) if v is not None]
            found, _ = natively(case.step, case.inputs, case.fixed)
            try:
                assert_same(found, wanted, [op] * len(wanted))
            except AssertionError as why:
                wrong[op, variable, dtype.value] = str(why)[:300]
    assert not wrong


@pytest.mark.parametrize("dtype", CALLED_TYPES["BitCast"], ids=str)
def test_bits_as_a_type_without_native_code_are_called(dtype):
    step = usable("BitCast", 26).step
    to = attribute("to", ops.element_to_proto(dtype))
    operand = np.zeros(3, WIDTHS[dtype.numpy.itemsize].numpy)
    assert not is_native(replace(step, attributes={"to": to}), [operand])
