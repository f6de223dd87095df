"""Recurrent operators whose operands do not fit each other: native code reads none of them."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import treadle
from treadle.errors import KernelError

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
NAMES = {"RNN": "xwrblh", "GRU": "xwrblh", "LSTM": "xwrblhcp"}
STEPS, BATCH, WIDTH, HIDDEN = 5, 2, 3, 4


def shapes_of(op):
    rows = GATES[op] * HIDDEN
    all_shapes = {
        "x": (STEPS, BATCH, WIDTH), "w": (1, rows, WIDTH), "r": (1, rows, HIDDEN),
        "b": (1, 2 * rows), "l": (BATCH,), "h": (1, BATCH, HIDDEN), "c": (1, BATCH, HIDDEN),
        "p": (1, 3 * HIDDEN),
    }  # fmt: skip
    return {name: all_shapes[name] for name in NAMES[op]}


def declared(name, element, shape=None):
    return helper.make_tensor_value_info(name, element, shape)


def model(op):
    """A loop that adds up the outputs; no operand has a declared shape."""
    names = NAMES[op]
    kinds = {name: TensorProto.INT32 if name == "l" else TensorProto.FLOAT for name in names}
    nodes = [
        helper.make_node(op, list(names), ["y"], hidden_size=HIDDEN),
        helper.make_node("ReduceSum", ["y"], ["sum"], keepdims=0),
        helper.make_node("Add", ["total", "sum"], ["next"]),
        helper.make_node("Identity", ["go"], ["on"]),
    ]
    scalar = [("i", TensorProto.INT64), ("go", TensorProto.BOOL), ("total", TensorProto.FLOAT)]
    body = helper.make_graph(
        nodes,
        "body",
        [declared(name, kind, []) for name, kind in scalar],
        [declared("on", TensorProto.BOOL, []), declared("next", TensorProto.FLOAT, [])],
    )
    inputs = [declared(name, kind) for name, kind in kinds.items()]
    inputs += [declared("trips", TensorProto.INT64, []), declared("start", TensorProto.FLOAT, [])]
    loop = helper.make_node("Loop", ["trips", "", "start"], ["out"], body=body)
    graph = helper.make_graph([loop], "g", inputs, [declared("out", TensorProto.FLOAT, [])])
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


def feeds(shapes, rng):
    given = {name: rng.random(shape).astype(np.float32) for name, shape in shapes.items()}
    given["l"] = np.full(shapes["l"], 3, np.int32)
    return {**given, "trips": np.array(2), "start": np.float32(0)}


def changed(shape):
    """Shapes that differ from one in an extent or in the rank."""
    for axis, extent in enumerate(shape):
        for other in {0, 1, extent - 1, extent + 1} - {extent}:
            yield (*shape[:axis], other, *shape[axis + 1 :])
    yield (*shape, 1)
    yield shape[1:]


@pytest.mark.parametrize("op", GATES)
def test_operands_that_fit_run_in_native_code(op, rng):
    ours = treadle.InferenceSession(model(op), engines=("jit", "interp"))
    given = feeds(shapes_of(op), rng)
    (wanted,) = treadle.InferenceSession(model(op), engines=("interp",)).run(None, given)

    (found,) = ours.run(None, given)

    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert "native" in ours.explain()


@pytest.mark.parametrize(
    ("op", "name"), [(op, name) for op, names in NAMES.items() for name in names]
)
def test_an_operand_of_another_shape_is_no_other_answer(op, name, rng):
    shapes = shapes_of(op)
    one, other = (
        treadle.InferenceSession(model(op), engines=engines)
        for engines in (("jit", "interp"), ("interp",))
    )
    for shape in changed(shapes[name]):
        given = feeds(shapes | {name: shape}, rng)
        try:
            (wanted,) = other.run(None, given)
        except KernelError:
            with pytest.raises(KernelError):
                one.run(None, given)
        else:
            np.testing.assert_allclose(one.run(None, given)[0], wanted, rtol=1e-5)
