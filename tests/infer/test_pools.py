"""Pools over fewer elements than their kernel: the number of windows is rounded down."""

from __future__ import annotations

import math

import numpy as np
import pytest

import treadle

POOLS = ("AveragePool", "LpPool", "MaxPool")
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


@pytest.mark.parametrize("engines", [None, ("interp",)])
@pytest.mark.parametrize("op", POOLS)
def test_windows_are_counted_downwards(op, engines):
    for length in (2, 3, 4, 5):
        for stride in (1, 2, 3):
            text = f"""{HEAD}g (float[1, 1, {length}] x) => (float[a, b, c] y)
                {{ y = {op} <kernel_shape = [4], strides = [{stride}]> (x) }}"""
            count = math.floor((length - 4) / stride + 1)
            if count < 0:
                continue
            (value,) = treadle.infer(treadle.load(text)).main.results
            assert value.type.shape == (1, 1, count)
            session = treadle.InferenceSession(text, engines=engines)
            (found,) = session.run(None, {"x": np.ones((1, 1, length), np.float32)})
            assert found.shape == (1, 1, count), (length, stride)


def test_a_pool_that_fits_stays_with_onnxruntime():
    text = f"""{HEAD}g (float[1, 1, 5] x) => (float[a, b, c] y)
        {{ y = MaxPool <kernel_shape = [4], strides = [2]> (x) }}"""
    session = treadle.InferenceSession(text)
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]
