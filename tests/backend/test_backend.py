"""The interface of onnx.backend.base over InferenceSession."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx.parser
import pytest
from onnx import helper
from onnx.backend.base import Backend

import treadle
import treadle.backend
from treadle.errors import InputError

ADD_AND_TWICE = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["" : 18]>
    g (float[n] x, float[n] y) => (float[n] sum, float[n] twice) {
      sum = Add (x, y)
      twice = Add (sum, sum)
    }"""
)
X, Y = np.float32([1, 2]), np.float32([10, 20])


def test_the_class_is_a_backend_of_onnx():
    assert issubclass(treadle.backend.TreadleBackend, Backend)
    for name in ("prepare", "run_model", "run_node", "supports_device", "is_compatible"):
        assert callable(getattr(treadle.backend, name))


@pytest.mark.parametrize("inputs", [[X, Y], (X, Y), {"y": Y, "x": X}])
def test_outputs_come_by_position_and_by_name(inputs):
    outputs = treadle.backend.prepare(ADD_AND_TWICE).run(inputs)
    assert outputs[0].tolist() == [11, 22]
    assert outputs["twice"].tolist() == outputs.twice.tolist() == [22, 44]


def test_a_model_is_run_in_one_call():
    total, _ = treadle.backend.run_model(ADD_AND_TWICE, [X, Y], engines=("interp",))
    assert total.tolist() == [11, 22]


def test_too_many_inputs():
    with pytest.raises(InputError, match="3 inputs were given, the model takes x, y"):
        treadle.backend.run_model(ADD_AND_TWICE, [X, Y, X])


def test_only_the_cpu_is_there():
    assert treadle.backend.supports_device("CPU")
    assert treadle.backend.supports_device("CPU:0")
    assert not treadle.backend.supports_device("CUDA")
    assert not treadle.backend.is_compatible(ADD_AND_TWICE, "CUDA")
    with pytest.raises(InputError, match='no device "CUDA:1"'):
        treadle.backend.prepare(ADD_AND_TWICE, "CUDA:1")


def test_a_model_with_an_undefined_name_is_not_compatible():
    wrong = onnx.ModelProto.FromString(ADD_AND_TWICE.SerializeToString())
    wrong.graph.node[0].input[1] = "nowhere"
    assert treadle.backend.is_compatible(ADD_AND_TWICE)
    assert not treadle.backend.is_compatible(wrong)


def test_one_node():
    node = helper.make_node("Clip", ["x", "", "top"], ["y"])
    (y,) = treadle.backend.run_node(node, [X, np.float32(1.5)])
    assert y.tolist() == [1, 1.5]


def test_one_node_of_an_older_opset():
    node = helper.make_node("Clip", ["x"], ["y"], max=1.5)
    (y,) = treadle.backend.run_node(node, X, opset_version=6)
    assert y.tolist() == [1, 1.5]


def test_one_node_over_a_sequence():
    node = helper.make_node("SequenceAt", ["xs", "at"], ["x"])
    (x,) = treadle.backend.run_node(node, [[X, np.float32([5])], np.int64(1)])
    assert x.tolist() == [5]


def test_one_node_reads_a_name_twice_and_is_fed_it_once():
    (y,) = treadle.backend.run_node(helper.make_node("Mul", ["x", "x"], ["y"]), [X])
    assert y.tolist() == [1, 4]


def test_one_node_with_the_wrong_number_of_inputs():
    node = helper.make_node("Add", ["a", "b"], ["c"])
    with pytest.raises(InputError, match="1 inputs were given, the node reads a, b"):
        treadle.backend.run_node(node, [X])


def test_the_reference_evaluator_is_not_imported():
    code = "import sys, treadle.backend; assert 'onnx.reference' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
