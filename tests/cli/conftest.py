"""A runner of verbs, and a few models on disk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from treadle.cli import main

NEWTON = """
<ir_version: 10, opset_import: ["" : 21]>
newton (float a) => (float root, float[N] guesses)
{
  most = Constant <value_int = 50> ()
  yes = Constant <value = bool {1}> ()
  root, guesses = Loop <body = better_guess
    (int64 i, bool go, float x) => (bool go_on, float better, float guess)
    {
      half = Constant <value_float = 0.5> ()
      near = Constant <value_float = 0.000001> ()
      quotient = Div (a, x)
      sum = Add (x, quotient)
      better = Mul (half, sum)
      square = Mul (better, better)
      difference = Sub (square, a)
      error = Abs (difference)
      go_on = Less (near, error)
      guess = Identity (better)
    }> (most, yes, a)
}
"""
ENDLESS = """
<ir_version: 10, opset_import: ["" : 21]>
endless (int64 start) => (int64 last)
{
  yes = Constant <value = bool {1}> ()
  last = Loop <body = count (int64 i, bool go, int64 n) => (bool on, int64 next)
    {
      one = Constant <value_int = 1> ()
      next = Add (n, one)
      on = Identity (go)
    }> (, yes, start)
}
"""
MANY = """
<ir_version: 10, opset_import: ["" : 21]>
many (float[T,2] x, int64 n, bool up, string word, seq(float[2]) rows, bfloat16[2] b)
  => (float[T,2] y, int64 m, bool down, string same, seq(float[2]) more, bfloat16[2] c)
{
  y = If (up) <then_branch = a () => (float[T,2] p) { p = Neg (x) },
               else_branch = z () => (float[T,2] q) { q = Abs (x) }>
  m = Neg (n)
  down = Not (up)
  same = Identity (word)
  more = Identity (rows)
  c = Identity (b)
}
"""
BROKEN = """
<ir_version: 10, opset_import: ["" : 21]>
broken (float[2] x) => (float[2] y)
{
  y = Add (x, nowhere)
}
"""


class Done(NamedTuple):
    """What a verb did."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Treadle = Callable[..., Done]


@pytest.fixture
def treadle() -> Treadle:
    """Runs a verb in this process; `given` is its standard input, other words its environment."""

    def run(*arguments: object, given: bytes = b"", **variables: str | None) -> Done:
        words = [str(argument) for argument in arguments]
        result = CliRunner().invoke(main, words, input=given, env=variables, color=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the models of this file."""
    for name in ("NEWTON", "ENDLESS", "MANY", "BROKEN"):
        (tmp_path / f"{name.lower()}.onnxtxt").write_text(globals()[name])
    return tmp_path
