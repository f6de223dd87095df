"""Fourier transforms in native loops, compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import check_uncalled, escapes

HEAD_17, HEAD_20 = (f'<ir_version: 10, opset_import: ["" : {version}]>\n' for version in (17, 20))


def looped(shape: tuple[int, ...], call: str, before: str = "", word: str = "float") -> str:
    """A loop that transforms its state and stacks what comes out."""
    kind = f"{word}{list(shape)}"
    ranks = ",".join(f"d{k}" for k in range(len(shape)))
    return f"""g (int64 n, {kind} x) => ({kind} last, {word}[t,{ranks}] all) {{
      last, all = Loop (n, "", x) <body = b (int64 i, bool on, {kind} s)
          => (bool more, {kind} same, {word}[{ranks}] y) {{
        more = Identity (on)
        {before}
        y = {call}
        same = Identity (s)
      }}>
    }}"""


@pytest.mark.parametrize(
    ("shape", "axis", "inverse", "onesided", "length"),
    [
        ((3, 8, 1), 1, 0, 0, 0), ((3, 8, 2), -2, 1, 0, 0), ((3, 9, 1), 1, 0, 1, 0),
        ((2, 256, 1), 1, 0, 1, 0), ((60, 3, 2), 0, 1, 0, 0), ((2, 100, 1), 1, 0, 0, 128),
        ((2, 100, 2), 1, 0, 0, 60), ((97, 1), 0, 0, 0, 0), ((1, 1, 1), 1, 1, 0, 0),
    ],
)  # fmt: skip
def test_transforms(shape, axis, inverse, onesided, length, rng):
    length_of = f"l = Constant <value = int64 {{{length}}}> ()" if length else ""
    x = rng.standard_normal(shape).astype(np.float32)
    kind = f"inverse = {inverse}, onesided = {onesided}"
    along = f"a = Constant <value = int64 {{{axis}}}> ()"
    twenty = f"DFT <{kind}> (s, {'l' if length else chr(34) * 2}, a)"
    feed = {"n": np.array(2), "x": x}
    check_uncalled(looped(shape, twenty, length_of + along), feed, head=HEAD_20)
    seventeen = f"DFT <{kind}, axis = {axis}> (s{', l' if length else ''})"
    check_uncalled(looped(shape, seventeen, length_of), feed, head=HEAD_17)


def test_long_doubles_are_as_numpy_has_them(rng):
    x = rng.standard_normal((2, 1024, 2))
    session = treadle.InferenceSession(
        HEAD_17 + looped(x.shape, "DFT (s)", word="double"), engines=("jit", "interp")
    )
    _, found = session.run(None, {"n": np.array(1), "x": x})
    wanted = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    np.testing.assert_allclose(found[0, ..., 0] + 1j * found[0, ..., 1], wanted, atol=1e-11)
    assert not escapes(session)


def test_long_primes_are_called(rng):
    x = rng.standard_normal((521, 1)).astype(np.float32)
    text = looped(x.shape, "DFT <axis = 0> (s)")
    session = treadle.InferenceSession(HEAD_17 + text, engines=("jit", "interp"))
    _, found = session.run(None, {"n": np.array(1), "x": x})
    np.testing.assert_allclose(found[0, :, 0], np.fft.fft(x[:, 0]).real, atol=1e-4)
    assert escapes(session) == ["DFT"]
