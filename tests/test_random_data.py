"""Tests draw from the `rng` of their own id, independently of other tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.seeded import seeded

TESTS = Path(__file__).parent
FILES = sorted(path for path in TESTS.rglob("*.py") if path.name != "seeded.py")


def generators(source: str) -> Iterator[str]:
    """Calls of numpy.random, and generators that a module or a class keeps for all its tests."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("np.random."):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for node in shared(tree):
        made = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(made, ast.Call) and ast.unparse(made.func) in ("seeded", "random.Random"):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_given_rng(node):
            yield f"line {node.lineno}: {node.name} has `given` and the fixture rng"


def _is_given_rng(node: ast.FunctionDef) -> bool:
    """Whether hypothesis draws for a test that takes the fixture too, which it does not serve."""
    drawn = any(ast.unparse(each).startswith("given(") for each in node.decorator_list)
    return drawn and any(each.arg == "rng" for each in node.args.args)


def shared(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module and of its classes."""
    yield from tree.body
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from node.body


def test_data_comes_from_the_fixture() -> None:
    found = {str(file.relative_to(TESTS)): list(generators(file.read_text())) for file in FILES}
    assert {file: calls for file, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("RANDOM = np.random.default_rng(3)", ["line 1: np.random.default_rng(3)"]),
        ("def f(): np.random.seed(0)", ["line 1: np.random.seed(0)"]),
        ("DICE = random.Random(3)", ["line 1: DICE = random.Random(3)"]),
        ("class TestA:\n    rng = seeded('a')", ["line 2: rng = seeded('a')"]),
        ("@given(n)\ndef f(n, rng): ...", ["line 2: f has `given` and the fixture rng"]),
        ("X = seeded('X').normal(size=3)", []),
        ("def test(rng: np.random.Generator): rng.normal()", []),
    ],
)
def test_generators_are_found(source: str, found: list[str]) -> None:
    assert list(generators(source)) == found


def test_a_test_has_numbers_of_its_own(
    rng: np.random.Generator, request: pytest.FixtureRequest
) -> None:
    first = rng.integers(0, 2**32, 4).tolist()
    assert first == seeded(request.node.nodeid).integers(0, 2**32, 4).tolist()
    assert first != seeded("another").integers(0, 2**32, 4).tolist()
