"""Carried values whose extents change are known before their loop is lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.jit.native import check
from treadle.jit.lowering import loop

GROWS = """g (int64 n, float[2] x) => (float[N] y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    axis = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    last = Slice (a, axis, one, axis)
    b = Concat <axis = 0> (a, last)
  }>
}"""
SHRINKS = """g (int64 n, float[9] x) => (float[N] y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    limit = CastLike (i, a)
    is_more = Greater (a, limit)
    b = Compress <axis = 0> (a, is_more)
  }>
}"""
LIST = """g (int64 n, float[2] x) => (float[N] y) {
  none = SequenceEmpty <dtype = 1> ()
  rows = Loop (n, "", none) <body = f (int64 i, bool go, seq(float[2]) a)
    => (bool on, seq(float[2]) c) {
    on = Identity (go)
    factor = CastLike (i, x)
    row = Mul (x, factor)
    c = SequenceInsert (a, row)
  }>
  y = ConcatFromSequence <axis = 0> (rows)
}"""
STAYS = """g (int64 n, float[4] x) => (float[N] y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    first, second = Split <axis = 0, num_outputs = 2> (a)
    b = Concat <axis = 0> (second, first)
  }>
}"""


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[tuple[int, int]]]:
    """The axes that change, for each time that a body was lowered."""
    found: list[frozenset[tuple[int, int]]] = []
    write: Callable[..., None] = loop._write

    def counted(*args: Any) -> None:
        found.append(args[4])
        write(*args)

    monkeypatch.setattr(loop, "_write", counted)
    return found


@pytest.mark.parametrize(
    ("text", "changing"),
    [(GROWS, {(0, 0)}), (SHRINKS, {(0, 0)}), (LIST, {(0, 0)}), (STAYS, set())],
    ids=["grows", "shrinks", "list", "stays"],
)
def test_a_body_is_lowered_once(text: str, changing: set, bodies: list) -> None:
    size = {"float[2]": 2, "float[9]": 9, "float[4]": 4}[text.split(" x)")[0].split("n, ")[1]]
    check(text, {"n": np.array(3), "x": np.arange(1, size + 1, dtype=np.float32)})
    assert bodies
    assert all(found == changing for found in bodies)
