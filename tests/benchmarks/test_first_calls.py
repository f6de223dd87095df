"""The models of `benchmarks.first_calls`, and its tables."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from benchmarks import first_calls
from benchmarks.long_bodies import decode_step, residual_chain, scalar_scan


def operators(model: bytes) -> int:
    """The nodes of the body of the only loop."""
    (loop,) = onnx.load_from_string(model).graph.node
    (body,) = (each.g for each in loop.attribute if each.name == "body")
    return len(body.node)


def test_models_have_the_operators_they_are_named_for() -> None:
    assert abs(operators(residual_chain(602)[0]) - 602) < 5
    assert abs(operators(residual_chain(2402)[0]) - 2402) < 5
    assert operators(decode_step()[0]) >= 450


@pytest.mark.parametrize("made", [residual_chain(10), decode_step(1), scalar_scan(20)])
def test_models_run_to_the_same_answers_everywhere(made) -> None:
    model, feed = made
    found, wanted = (
        treadle.InferenceSession(model, engines=engines).run(None, feed)
        for engines in (["jit", "interp"], ["onnxruntime", "interp"])
    )
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_the_table_of_first_calls(capsys: pytest.CaptureFixture[str]) -> None:
    name = "jax_while_newton"
    arguments = ["background", "--kind", "exporters", "--match", name, "--rounds", "1"]
    first_calls.main(arguments)
    printed = capsys.readouterr().out
    assert name in printed
    assert "1 models: the first call of" in printed
