"""Code generation follows the schedule: it has no thresholds of its own, and compares no memory.

A number that chooses a form of code, or says what is long, many or large, is a part of the
schedule; so is a choice that follows from where memory has gaps, neighbours or other readers. The
numbers and questions that stay are in `ALLOWED` and `ASKED`, with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from treadle.jit import codegen
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.schedule.layouts.memory_order import MemoryOrder

ROOT = Path(codegen.__file__).parent
PLAIN = 2
"""Numbers up to this one are no thresholds: they tell nothing, one and several apart."""
ALLOWED = {
    "the words of the kernel's interface": [
        "abi_slots.py: _ALIGNMENT",
        "context.py: OUT_OF_RANGE, OUT_OF_MEMORY, UNEQUAL_LENGTHS, INTERRUPTED, UNMATCHED, UNFIT",
        "context.py: OVER_LIMIT, OVER_BYTES",
        "loop.py: _NO_LIMIT",
        "parallel.py: _COST_SCALE",
    ],
    "the formats of LLVM": [
        "debug_locations.py: _FLAGS",
        "function_builder.py: _UNLIKELY",
        "llvm_types.py: I1, I8, I32, I64",
        "llvm_types.py: _REGISTER",
    ],
    "properties of every processor: pages, cache lines, lanes, words": [
        "carried/double_buffer.py: _PAGE, _CACHE_LINE",
        "kernel.py: _CACHE_LINE",
        "loops/pipeline.py: _LINE",
        "masked_stores.py: _AVX2_BYTES",
        "ops/heap.py: DIGIT_BITS",
        "ops/topk.py: _NARROW_BITS",
        "ops/transpose.py: _LANE_BYTES",
    ],
    "how often a clock is read, as a hash of the run": ["clock.py: _GOLDEN", "clock.py: _TIMED"],
    "what realloc is asked for, whatever it is for": ["heap_buffer.py: _MIN_BYTES"],
    "when a value is refused, as on interp": ["memory_limit.py: _SLACK_BYTES"],
    "the numbers whose precision is that of float32": [
        "loops/parallel_prefix.py: _CANCELLED",
        "loops/parallel_prefix.py: _LARGEST",
    ],
    "how long a thread waits for others as the kernel runs": [
        "loops/pipeline.py: _PATIENCE",
        "loops/pipeline.py: _PAUSE_NS, _YIELD_NS",
        "loops/pipeline.py: _STALLED_TICKS",
    ],
}
ASKED = {
    "what the address of an element is": [
        "buffer.py: panel",
        "element_access.py: has_rows",
        "element_access.py: is_flat",
        "ops/matmul.py: panel",
    ],
    "the extents of growing memory, and what is copied as it grows": [
        "carried/growable.py: is_dense",
        "carried/stacked.py: is_dense",
    ],
    "whether an operand is read where it is, which it is if it can be": [
        "host_call.py: is_stored_whole",
        "loops/parallel_prefix.py: has_neighbours",
        "ops/gather.py: is_read_in_place",
    ],
    "which memory it is, not its form: what is there already, or has two buffers": [
        "branch.py: scope",
        "carried/growable.py: scope",
        "nest_function.py: scope",
    ],
    "an assertion on what the schedule says": ["ops/matmul_packing.py: strides"],
}
QUESTIONS = {name for name in vars(MemoryOrder) if name.startswith(("is_", "has_"))}
"""The questions that the schedule answers about the form of memory."""
FORM = {"strides", "scope", "panel"}
"""What buffers know of their memory, which says where an element is."""
FOLDERS = {
    "library": "the interface of a C library, and the features of processors",
    "scalar": "approximations of functions, and the arguments for which they hold",
    "threads": "what the pool's threads do as they run, whatever the kernel",
}


def thresholds(text: str) -> Iterator[str]:
    """The constants and comparisons of a module with numbers that might be thresholds."""
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, ast.Assign) and has_numbers(node.value):
            yield ast.unparse(node.targets[0]).strip("()")
        elif isinstance(node, ast.AnnAssign) and node.value and has_numbers(node.value):
            yield ast.unparse(node.target)
    for inner in ast.walk(tree):
        is_order = isinstance(inner, ast.Compare) and any(
            isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for sign in inner.ops
        )
        is_bound = isinstance(inner, ast.Call) and ast.unparse(inner.func) in ("min", "max")
        if (is_order or is_bound) and has_numbers(inner):
            yield ast.unparse(inner)


def has_numbers(node: ast.AST) -> bool:
    """Whether there is a number in code beyond the plain ones."""
    values = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return any(isinstance(each, int | float) and abs(each) > PLAIN for each in values)


def questions(text: str) -> Iterator[str]:
    """The questions of a module about the form of memory: of the schedule, and of buffers."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Attribute(attr=name) if name in QUESTIONS:
                yield name
            case ast.Name(id="transposed_axes" | "stored_transpose" as name):
                yield name
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield from compared(test)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                yield from compared(node)


def compared(condition: ast.AST) -> Iterator[str]:
    """What a condition reads of the form of a buffer's memory."""
    read = (each.attr for each in ast.walk(condition) if isinstance(each, ast.Attribute))
    yield from (name for name in read if name in FORM)


def found_in_code(search: Callable[[str], Iterator[str]]) -> set[str]:
    """What a search finds in the files of code generation, each with its file."""
    files = (each for each in ROOT.rglob("*.py") if each.relative_to(ROOT).parts[0] not in FOLDERS)
    return {
        f"{each.relative_to(ROOT).as_posix()}: {found}"
        for each in files
        for found in search(each.read_text())
    }


def test_code_generation_has_no_thresholds_of_its_own() -> None:
    assert found_in_code(thresholds) == {each for names in ALLOWED.values() for each in names}


def test_code_generation_compares_no_memory() -> None:
    assert found_in_code(questions) == {each for names in ASKED.values() for each in names}


def test_buffers_know_where_elements_are_and_no_more() -> None:
    known = {each.name for each in fields(Buffer)}
    assert known == {"pointer", "dtype", "strides", "scope", "owner", "panel"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("if a.strides == b.strides:\n    pass", ["strides", "strides"]),
        ("x = 1 if a.scope != b.scope and c else 2", ["scope", "scope"]),
        ("assert order.is_dense(node)", ["is_dense"]),
        ("axes = transposed_axes(node)", ["transposed_axes"]),
        ("x = [a for a in b if not a.panel]", ["panel"]),
        ("buffer = Buffer(pointer, a.strides, a.scope)", []),
        ("if copy.form is CopyForm.TILES:\n    pass", []),
    ],
)
def test_questions_are_found(text: str, found: list[str]) -> None:
    assert sorted(set(questions(text))) == sorted(set(found))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("_MIN_ROWS = 16", ["_MIN_ROWS"]),
        ("_LONG: int = 2**20", ["_LONG"]),
        ("_LONG, _SHORT = 3000, 50", ["_LONG, _SHORT"]),
        ("def f(n):\n    return n >= 8", ["n >= 8"]),
        ("def f(n):\n    return min(n, 64)", ["min(n, 64)"]),
        ("def f(n):\n    return n > 1 and n == 64 and max(n, 2)", []),
        ("_NAMES = ('first', 'second')", []),
    ],
)
def test_thresholds_are_found(text: str, found: list[str]) -> None:
    assert list(thresholds(text)) == found
