"""The time to report the faults of a file grows linearly with its size."""

import time

from onnx import TensorProto, helper

import treadle
from treadle.errors import nearest

FLOATS = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
RESULT = helper.make_tensor_value_info("defined_0", TensorProto.FLOAT, [2])


def model(count: int, op: str = "Add", prefix: str = "missing"):
    nodes = [
        helper.make_node(op.format(k), ["x", f"{prefix}_{k}"], [f"defined_{k}"])
        for k in range(count)
    ]
    graph = helper.make_graph(nodes, "g", [FLOATS], [RESULT])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def seconds(source: object) -> float:
    started = time.process_time()
    treadle.check(source)
    return time.process_time() - started


def test_thousands_of_undefined_names_take_seconds_at_most():
    assert seconds(model(4000)) < 5  # 20 s where every name is compared with every other


def test_thousands_of_unknown_operators_take_seconds_at_most():
    assert seconds(model(4000, "Addd{}", "defined")) < 5


def test_the_first_of_them_still_get_a_hint():
    assert 'did you mean "defined_0"' in treadle.check(model(3, prefix="define"))[1].hint


def test_names_of_many_letters_are_not_compared():
    started = time.process_time()
    assert nearest("a" * 100_000, ["a" * 99_999 + "b"]) is None
    assert time.process_time() - started < 0.5


def test_of_many_candidates_the_likeliest_is_found():
    assert nearest("hiddn_state", [*(f"v{k}" for k in range(5000)), "hidden_state"]) == (
        "hidden_state"
    )
