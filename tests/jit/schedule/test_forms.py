"""The form of reductions, and of searches for the best items: chosen, printed, and right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.plan import FallbackRequired

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)


@pytest.mark.parametrize(
    ("rows", "last", "axis", "words"),
    [
        (40, 64, 2, "vectors along the reduced axis"),
        (64, 40, 1, "vectors along the result, 8 rows at once"),
        (64, 3, 1, "vectors along the reduced axis, for the elements of the last one at once"),
        (31, 3, 1, "vectors along the result, 8 rows at once"),
        (64, 5, 1, "vectors along the result, 8 rows at once"),
        (4097, 3, 1, "vectors along the result, 8 rows at once"),
    ],
)
def test_reductions(rows: int, last: int, axis: int, words: str, rng: np.random.Generator) -> None:
    kept = last if axis == 1 else rows
    text = f"""
    kernel
      %x: int32[20,{rows},{last}] = input 0
      %r: int32[20,{kept}] = reduce add over ({axis}) of %x
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert f"reduction: add: int32[20,{kept}], {words}\n" in shown
    x = rng.integers(-9, 9, (20, rows, last)).astype(np.int32)
    np.testing.assert_array_equal(run_kernel(text, x)[0], x.sum(axis))


@pytest.mark.parametrize(
    ("count", "extent", "words"),
    [
        (5, 1000, "a heap of the best, 16 keys at once"),
        (127, 1000, "a heap of the best, 16 keys at once"),
        (128, 2049, "a heap of the best, then sorted, 16 keys at once"),
        (128, 2048, "all items are sorted"),
        (900, 1000, "all items are sorted"),
    ],
)
def test_searches(count: int, extent: int, words: str, rng: np.random.Generator) -> None:
    text = f"""
    kernel
      %x: int32[2,{extent}] = input 0
      %r: int64[2,{count}] = argtopk along 1 of %x
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert f"search: argtopk: int64[2,{count}], {words}\n" in shown
    x = rng.integers(-50, 50, (2, extent)).astype(np.int32)
    wanted = np.argsort(x, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(run_kernel(text, x)[0], wanted)


@pytest.mark.parametrize(
    ("extent", "operand", "function", "words"),
    [
        (4, "tanh", "add", "written out"),
        (8, "tanh", "add", "written out, the terms in one vector"),
        (8, "tanh", "max", "written out"),
        (17, "tanh", "add", "vectors along the reduced axis"),
        (4096, "tanh", "add", "vectors along the reduced axis, 4 of them side by side"),
        (4097, "tanh", "add", "vectors along the reduced axis, in blocks, 4 of them side by side"),
        (4097, "tanh", "max", "vectors along the reduced axis, 4 of them side by side"),
        (2**25 - 1, "tanh", "max", "vectors along the reduced axis, 4 of them side by side"),
        (
            2**25,
            "tanh",
            "max",
            "vectors along the reduced axis, 4 of them side by side, with safepoints",
        ),
    ],
)
def test_reductions_to_one_number(extent: int, operand: str, function: str, words: str) -> None:
    text = f"""
    kernel
      %x: float32[{extent}] = input 0
      %y: float32[{extent}] = {operand} %x
      %r: float32[] = reduce {function} over (0) of %y
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert f"reduction: {function}: float32[], {words}\n" in shown


def test_a_long_row_is_searched_with_safepoints() -> None:
    text = """
    kernel
      %x: int32[EXTENT] = input 0
      %r: int64[5] = argtopk along 0 of %x
      return %r
    """
    for extent, words in ((2**18 - 1, ""), (2**18, ", with safepoints")):
        kernel = kernel_of(text.replace("EXTENT", str(extent)))
        words = f"a heap of the best, 16 keys at once{words}"
        assert f"{words}\n" in show_schedule(schedule_kernel(kernel, TARGET))


@pytest.mark.parametrize(
    ("shape", "axis", "keys", "in_vectors"),
    [
        ("9,40", 0, "%x", False),
        ("40,1", 0, "%x", True),
        ("9,40", 1, "%x", True),
        ("40,9", 1, "%turned", False),
    ],
)
def test_keys_apart_in_memory_are_not_compared_in_vectors(
    shape: str, axis: int, keys: str, *, in_vectors: bool, rng: np.random.Generator
) -> None:
    extents = [int(extent) for extent in shape.split(",")]
    turned = ",".join(map(str, extents[::-1])) if keys == "%turned" else shape
    view = f"%turned: int32[{shape}] = view (i1, i0) of %x" if keys == "%turned" else ""
    wanted = [5 if k == axis else extent for k, extent in enumerate(extents)]
    text = f"""
    kernel
      %x: int32[{turned}] = input 0
      {view or "%unread: int64[] = constant 1"}
      %r: int64[{",".join(map(str, wanted))}] = argtopk along {axis} of {keys}
      return %r
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert ("16 keys at once" in shown) is in_vectors
    x = rng.integers(-50, 50, [int(extent) for extent in turned.split(",")]).astype(np.int32)
    order = np.argsort(x.T if view else x, axis=axis, kind="stable")
    np.testing.assert_array_equal(run_kernel(text, x)[0], order.take(range(5), axis))


@pytest.mark.parametrize("indices", ["63", "n0"])
@pytest.mark.parametrize("rows", ["", ",3"])
def test_every_index_of_a_gather_is_checked(
    indices: str, rows: str, rng: np.random.Generator
) -> None:
    text = f"""
    kernel
      %x: float32[70{rows}] = input 0
      %k: int64[{indices}] = input 1
      %r: float32[{indices}{rows}] = take along 0 of %x, %k
      return %r
    """
    x = rng.standard_normal((70, 3) if rows else 70).astype(np.float32)
    at = rng.integers(-70, 70, 63)
    np.testing.assert_array_equal(run_kernel(text, x, at)[0], x[at])
    for wrong in (70, -71):
        with pytest.raises(FallbackRequired, match="an index is out of range"):
            run_kernel(text, x, np.where(at == at[-1], wrong, at))


def test_sums_in_iterations_side_by_side_are_written_out_in_parts() -> None:
    text = """
    kernel
      %x: float32[100,16] = input 0
      %1 = loop length 100 extent 100
        %i: float32[16] = scan slice along 0 of %x
        %j: float32[16] = tanh %i
        %r: float32[] = reduce add over (0) of %j
        stack %r along 0
      %y: float32[100] = result 0 of %1
      return %y
    """
    shown = show_schedule(schedule_kernel(kernel_of(text), TARGET))
    assert "strips" in shown
    assert "reduction: add: float32[], written out, in eight sums\n" in shown
