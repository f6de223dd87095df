"""Compares a model of text with its conversion, in interp and onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import treadle
from tests.passes.rewrites.models import model
from tests.passes.simplify.models import run, run_by_onnxruntime, saved
from treadle.errors import RunError


def gives_the_same(
    text: str, opset: int, older: int, feeds: Mapping[str, object], tolerance: float = 0
) -> None:
    """Both fail, or both give the same in interp and onnxruntime, zeros with the same sign."""
    before = model(text, opset)
    after = treadle.convert_version(before, older)
    try:
        wanted = run(before, feeds)
    except RunError:
        with pytest.raises(RunError):
            run(after, feeds)
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            run_by_onnxruntime(saved(after), feeds)
        return
    for found in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        for one, other in zip(found, wanted, strict=True):
            if tolerance:
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
                continue
            np.testing.assert_array_equal(one, other)
            if one.dtype.kind == "f":
                signs = [np.signbit(each)[~np.isnan(each)] for each in (one, other)]
                np.testing.assert_array_equal(*signs)
