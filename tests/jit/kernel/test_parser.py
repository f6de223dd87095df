"""The parser reads the text that the printer writes as the same kernel, and text can be run."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.ir import DType
from treadle.jit.kernel.fingerprint import fingerprint
from treadle.jit.kernel.literal_text import (
    read_attributes,
    read_elements,
    write_attributes,
    write_elements,
)
from treadle.jit.kernel.op_text import TEMPLATES, InvalidKernel
from treadle.jit.kernel.parser import parse_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.scalar_functions import FUNCTIONS

EVERY_OPERATION = """kernel limits_iterations parallel_threshold_ns=1500
  %0: float32[2,3] = input 0
  %1: int64[n0] = input 1
  %2: int64[] = input dim n0
  %3: float32[2] = constant nan -0.0
  %4: bool[] = constant true
  %5: int64[12] = constant splat 7
  %6: float32[0,3] = empty
  %7: int64[n0] = iota
  %8: float32[3,2] = view (i1, -1*i0+2) of %0
  %9: float32[6] = reshape %8
  %10: float32[4,3] = concat along 0 %0, %0
  %11: float32[2] = reduce max over (1) of %0
  %12: float32[2,2] = matmul %0, %8
  %13: float32[2,3] = cumulative add along 1 exclusive of %0
  %14: int64[12] = argtopk along 0 of %5
  %15: float32[n0,3] = take along 0 of %0, %1
  %16: float32[n0] = gather (at 0, 1) of %0, %1
  %17: float32[2,3] = scatter by add (at 0, 1) into %0, %16, %1
  %18: float32[2,3] = scatter (i0, i1) into %0, %17
  %19: bool[] = guard of shapes %4
  %20: bool[n0] = equal %1, %1
  %21 as e0: int64[] = reduce add over (0) of %1
  %22: int64[e0] = flat nonzero %20
  %23 = host call ai.onnx.ml.Scaler-1 <offset=[0.5, -1.0], mode=b'x'> (%0, _, %4) -> (float32[2,?], _)
  %24 as e1: int64[] = dim 1 of value 0 of %23
  %25: float32[2,e1] = result 0 of %23
  %26 = loop trip %21 length n0 extent n0 while %4 carries %27 = %0, %28 = %21 at "main/loop \\"0\\""
    %27: float32[2,3] = carried 0
    %28: int64[] = carried 1
    %29: int64[] = induction variable
    %30: int64[] = scan slice along 0 from the last of %1
    %31 as e0'1: int64[] = add %30, %29
    %32: int64[e0'1] = iota
    %33 = if %4
      %34: float32[2,3] = neg %27
      yield %34
    else
      yield %27
    %35: float32[2,3] = result 0 of %33
    while %4
    yield %35, %28
    stack %35 along 1 from the last
    stack %31 along 0 uncounted
  %36: float32[2,3] = result 0 of %26
  %37: int64[n0] = result 3 of %26
  return %36, %37, %21
  boxed 2
  hoisted %21, %31"""  # noqa: E501


def test_every_operation_is_written_as_it_was_read():
    kernel = parse_kernel(EVERY_OPERATION)
    assert show_kernel(kernel, whole=True) == EVERY_OPERATION
    again = parse_kernel(show_kernel(kernel, whole=True))
    assert fingerprint(again, ()) == fingerprint(kernel, ())


def test_no_scalar_function_is_a_word_of_another_operation():
    words = {template.split()[0].partition("{")[0].partition("|")[0] for _, template in TEMPLATES}
    assert words & {*FUNCTIONS} == set()


@pytest.mark.parametrize(
    "array",
    [
        np.array([], np.float32),
        np.array([[np.nan, -0.0], [np.inf, 1e-45]], np.float32),
        np.array([2**63 - 1, -(2**63)], np.int64),
        np.array([True, False]),
        np.arange(40, dtype=np.float16),
        np.zeros((3, 4), np.uint8),
        np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32),
        np.arange(3).astype(DType.BFLOAT16.numpy),
    ],
)
def test_elements_are_read_bit_for_bit(array):
    text = write_elements(array, whole=True)
    found = read_elements(text, DType(array.dtype.name), array.shape)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


def test_a_large_constant_is_left_out_of_reports():
    assert write_elements(np.arange(9), whole=False) == "..."
    with pytest.raises(InvalidKernel, match="left out"):
        read_elements("...", DType.INT64, (9,))


def test_attributes_of_called_operators_are_read():
    text = " <axis=-1, alpha=1.5, low=-inf, mode=b'x, y', to=[1, 2], t='float32[2] 1.0 2.0']>"
    text = text.replace("2.0']", "2.0'")
    attributes = read_attributes(text)
    assert write_attributes(attributes) == text
    assert attributes["mode"].value == b"x, y"


def test_an_attribute_without_a_text_form_is_left_out():
    assert write_attributes(read_attributes(" <type=...>")) == " <type=...>"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("%0: float32[2] = neg %1", "line 2: %1 is read before it is defined"),
        ("%0: float99[2] = input 0", "float99 is not an element type"),
        ("%0: float32[2] = constant 1.0 2.0 3.0", "is no float32"),
        ("%0: bool[] = constant true\n  %0: bool[] = constant true", "line 3: %0 is defined twice"),
        ("%0 = loop carried", "not the head of a loop"),
        ("%0: float32[2] = take under 0 of %1", "is not an operation"),
        ("    %0: float32[2] = input 0", "an indentation of 6 spaces where 2 are right"),
        ("what", "'return' is missing"),
    ],
)
def test_text_that_is_no_kernel_is_refused_with_its_line(body, why):
    with pytest.raises(InvalidKernel, match=why.replace("(", r"\(")):
        parse_kernel(f"kernel\n  {body}\n  return")


MALFORMED = {
    "kernel twice\n  return": "a kernel has no attribute twice",
    "kernel\n  return\n  return": "a line after the end of the kernel",
    "kernel\n  return\n  hoisted %9": "%9 is not defined",
    "kernel\n  %0 is a value\n  return": "does not define a value",
    "kernel\n  %0: int64[n] = input 0\n  %1 as n: int64[] = constant 1\n  return": "dim n is read",
    "kernel\n  %0 = loop\n    stack %1\n  return": "a stack is",
    "kernel\n  %0 = host call Foo\n  return": "is not a call of an operator",
    "kernel\n  %0 = host call Foo-1 () -> (what)\n  return": "is not the type of a result",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_line_is_refused(text: str) -> None:
    with pytest.raises(InvalidKernel, match=re.escape(MALFORMED[text])):
        parse_kernel(text)


def test_a_kernel_in_text_runs():
    found = run_kernel(
        """
        # the sums of the rows so far, and what each row adds
        kernel
          %start: float32[] = input 0
          %rows: float32[n0,3] = input 1
          %1 = loop length n0 extent n0 carries %sum = %start
            %sum: float32[] = carried 0
            %row: float32[3] = scan slice along 0 of %rows
            %more: float32[] = reduce add over (0) of %row
            %next: float32[] = add %sum, %more
            yield %next
            stack %more along 0
          %last: float32[] = result 0 of %1
          %all: float32[n0] = result 1 of %1
          return %last, %all
        """,
        np.float32(1),
        np.arange(12, dtype=np.float32).reshape(4, 3),
    )
    assert found[0] == 67
    np.testing.assert_array_equal(found[1], [3, 12, 21, 30])


def test_a_kernel_in_text_calls_operators():
    text = """
    kernel
      %x: int64[n0] = input 0
      %1 = host call Unique-11 <sorted=1> (%x) -> (int64[?], _, _, _)
      %count as e0: int64[] = dim 0 of value 0 of %1
      %2: int64[e0] = result 0 of %1
      return %2
    """
    (found,) = run_kernel(text, np.array([3, 1, 3]))
    np.testing.assert_array_equal(found, [1, 3])


def test_a_kernel_of_text_is_a_value_of_its_own():
    assert kernel_of("kernel\n  %0: bool[] = constant true\n  return %0").results[0].shape == ()


def test_the_kernel_of_the_engines_page_is_one():
    page = (Path(__file__).parents[3] / "docs" / "native-engine.md").read_text()
    (text,) = re.findall(r"```text\n(kernel\n.*?)```", page, re.DOTALL)
    assert len(kernel_of(text).results) == 2
