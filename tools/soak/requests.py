"""The models of the service, and requests with the answers that numpy gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import treadle
from tests.values import differences
from treadle.errors import LimitExceeded, RunError

_HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
Feeds = Mapping[str, Any]
ENDLESS = (
    _HEAD
    + """g (float x) => (float y) {
  y = Loop (, , x) <body = b (int64 i, bool go, float s) => (bool on, float t) {
    far = Constant <value = int64 {9000000000000000000}> ()
    on = Less (i, far)
    t = Cos (s)
  }>
}"""
)


@dataclass(frozen=True)
class Request:
    """Feeds and bounds, and the answer or the kinds of error that are right."""

    kind: str
    feeds: Feeds
    outputs: Sequence[np.ndarray] | None = None
    errors: tuple[type[Exception], ...] = ()
    options: treadle.RunOptions | None = None

    def unlike(self, found: Sequence[Any]) -> list[str]:
        """Where the outputs are not the wanted ones."""
        assert self.outputs is not None
        pairs = zip(found, self.outputs, strict=True)
        return [line for k, (f, w) in enumerate(pairs) for line in differences(f, w, f"output {k}")]


@dataclass(frozen=True)
class ServedModel:
    """A model as text, and a function that draws requests."""

    name: str
    text: str
    request: Callable[[random.Random], Request]


def model(number: int) -> ServedModel:
    """The number-th model; each has constants of its own, so that no two share code."""
    kind, make = _KINDS[number % len(_KINDS)]
    return make(f"{kind} {number}", number)


def _picks(name: str, number: int) -> ServedModel:
    width = 3 + number
    text = f"""{_HEAD}g (int64 n, float[{width}] p, int64[M] picks)
        => (float[{width}] last, float[N] sums) {{
      last, sums = Loop (n, , p) <body = f (int64 i, bool go, float[{width}] x) => (bool on,
          float[{width}] x1, float s) {{
        on = Identity (go)
        which = Gather (picks, i)
        e = Gather (x, which)
        half = Constant <value = float {{0.5}}> ()
        h = Mul (x, half)
        x1 = Add (h, e)
        s = Identity (e)
      }}>
    }}"""

    def request(chance: random.Random) -> Request:
        trips = chance.randrange(0, 400)
        picks = np.arange(trips + 1) % width
        x = np.full(width, chance.randrange(1, 5), np.float32)
        feeds = {"n": np.array(trips), "p": x, "picks": picks}
        if trips and chance.random() < 0.1:
            picks[chance.randrange(trips)] = width
            return Request("fault", feeds, errors=(RunError,))
        if trips and chance.random() < 0.05:
            limits = treadle.RunOptions(max_iterations=trips - 1)
            return Request("too long", feeds, errors=(LimitExceeded,), options=limits)
        sums = []
        for pick in picks[:trips]:
            sums.append(x[pick])
            with np.errstate(over="ignore"):
                x = x * np.float32(0.5) + x[pick]
        return Request("picks", feeds, [x, np.array(sums, np.float32)])

    return ServedModel(name, text, request)


def _recurrent(name: str, number: int) -> ServedModel:
    width, scale = 2 + number % 40, 0.25 + number / 1000
    text = f"""{_HEAD}g (float[{width}] h, float[T,{width}] xs)
        => (float[{width}] last, float[T,{width}] all) {{
      last, all = Scan <num_scan_inputs = 1, body = b (float[{width}] s, float[{width}] x)
          => (float[{width}] t, float[{width}] u) {{
        scale = Constant <value = float {{{scale}}}> ()
        a = Mul (s, scale)
        c = Add (a, x)
        t = Tanh (c)
        u = Identity (t)
      }}> (h, xs)
    }}"""

    def request(chance: random.Random) -> Request:
        length = chance.choice((1, 2, 5, chance.randrange(1, 3000)))
        numbers = np.random.default_rng(chance.randrange(2**32))
        xs = numbers.uniform(-1, 1, (length, width)).astype(np.float32)
        h = numbers.uniform(-1, 1, width).astype(np.float32)
        feeds, made, state = {"h": h, "xs": xs}, [], h
        for x in xs:
            state = np.tanh(state * np.float32(scale) + x)
            made.append(state)
        return Request("ragged", feeds, [state, np.array(made)])

    return ServedModel(name, text, request)


def _counting(name: str, number: int) -> ServedModel:
    text = f"""{_HEAD}g (int64 start) => (int64 last, int64[N] seen) {{
      yes = Constant <value = bool {{1}}> ()
      last, seen = Loop (, yes, start) <body = b (int64 i, bool go, int64 n) => (bool on, int64 m,
          int64 shown) {{
        one = Constant <value = int64 {{1}}> ()
        two = Constant <value = int64 {{2}}> ()
        three = Constant <value = int64 {{3}}> ()
        more = Constant <value = int64 {{{number}}}> ()
        rest = Mod (n, two)
        odd = Cast <to = 9> (rest)
        half = Div (n, two)
        thrice = Mul (n, three)
        up = Add (thrice, one)
        m = Where (odd, up, half)
        on = Greater (m, one)
        shown = Add (m, more)
      }}>
    }}"""

    def request(chance: random.Random) -> Request:
        start = n = chance.randrange(2, 100_000)
        seen: list[int] = []
        while n > 1:
            n = 3 * n + 1 if n % 2 else n // 2
            seen.append(n + number)
        return Request("counting", {"start": np.array(start)}, [np.array(n), np.array(seen)])

    return ServedModel(name, text, request)


def _letters(name: str, number: int) -> ServedModel:
    text = f"""{_HEAD.replace("18", "20")}g (string[T] xs) => (string last, string[T] all) {{
      none = Constant <value = string {{"{number}:"}}> ()
      last, all = Scan <num_scan_inputs = 1, body = b (string s, string x)
          => (string t, string u) {{
        t = StringConcat (s, x)
        u = Identity (t)
      }}> (none, xs)
    }}"""

    def request(chance: random.Random) -> Request:
        letters = [chance.choice("abcdé") for _ in range(chance.randrange(1, 60))]
        made = [f"{number}:" + "".join(letters[: k + 1]) for k in range(len(letters))]
        feeds = {"xs": np.array(letters, object)}
        return Request("text", feeds, [np.array(made[-1], object), np.array(made, object)])

    return ServedModel(name, text, request)


def _products(name: str, number: int) -> ServedModel:
    chain = "\n".join(f"a{k + 1} = MatMul (a{k}, b)" for k in range(4))
    text = f"""{_HEAD}g (float[n,n] a0, float[n,n] b) => (float[n,n] y) {{
      {chain}
      more = Constant <value = float {{{number}}}> ()
      y = Add (a4, more)
    }}"""

    def request(chance: random.Random) -> Request:
        draw = chance.random()
        size = 1200 if draw < 0.12 else chance.randrange(1, 60)
        eye = np.eye(size, dtype=np.float32)
        feeds, wanted = {"a0": eye, "b": eye}, [eye + np.float32(number)]
        if draw < 0.1:
            limits = treadle.RunOptions(max_seconds=0.01)
            return Request("time-out", feeds, wanted, (LimitExceeded,), limits)
        return Request("large" if draw < 0.12 else "products", feeds, wanted)

    return ServedModel(name, text, request)


def _endless(name: str, number: int) -> ServedModel:
    text = ENDLESS.replace("9000000000000000000", str(9 * 10**18 + number))

    def request(chance: random.Random) -> Request:
        limits = treadle.RunOptions(max_seconds=0.02 + 0.05 * chance.random())
        return Request("stopped", {"x": np.float32(1)}, None, (LimitExceeded,), limits)

    return ServedModel(name, text, request)


_KINDS: Sequence[tuple[str, Callable[[str, int], ServedModel]]] = (
    ("picks", _picks),
    ("recurrent", _recurrent),
    ("counting", _counting),
    ("letters", _letters),
    ("products", _products),
    ("endless", _endless),
)
