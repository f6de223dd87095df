"""Invalid arguments are errors of treadle where they are given."""

import dataclasses

import numpy as np
import pytest

import treadle
from treadle import InferenceSession, InputError, InputTypeError, RunOptions

TEXT = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }'
X = np.ones(2, np.float32)


def softmax(**attributes):
    return treadle.operator("Softmax", opset=13, **attributes)


def session():
    return InferenceSession(TEXT)


class NoPath:
    def __fspath__(self):
        return 3


def by_vectors(*given):
    session().run_with_ortvaluevector(None, *given, ())


WRONG_TYPES = {
    "operator, attribute": (lambda: softmax(axsi=0), 'no attribute "axsi", did you mean "axis"'),
    "call, attribute": (lambda: softmax()(X, axsi=0), 'no attribute "axsi", did you mean "axis"'),
    "kind of an attribute": (lambda: softmax(axis="1"), "axis of Softmax-13 is a str"),
    "kind at a call": (lambda: softmax()(X, axis=0.5), "is a float, wanted a whole number"),
    "opset": (lambda: treadle.operator("Softmax", opset="13"), "opset is a str"),
    "opset, bool": (lambda: treadle.operator("Softmax", opset=True), "opset is a bool"),
    "domain": (lambda: treadle.operator("Softmax", 13, 5), "domain is an int"),
    "given twice": (lambda: softmax()(X, input=X), '"input" twice'),
    "verbose": (lambda: softmax()(X, verbose="yes"), "verbose is a str"),
    "log": (lambda: softmax()(X, log=3), "log is an int"),
    "types": (lambda: softmax().infer_types(3), "a type is an int"),
    "name of a type": (lambda: softmax().infer_types(inptu=None), 'did you mean "input"'),
    "engines": (lambda: InferenceSession(TEXT, engines=3), "engines is an int"),
    "an engine": (lambda: InferenceSession(TEXT, engines=[3]), "a name in engines is an int"),
    "portable": (lambda: treadle.check(TEXT, portable=3), "portable is an int"),
    "options": (lambda: InferenceSession(TEXT, ["CPUExecutionProvider"]), "sess_options is a list"),
    "path to load": (lambda: treadle.load(NoPath()), "is a NoPath, which is no path"),
    "path to save": (lambda: treadle.save(TEXT, NoPath()), "is a NoPath, which is no path"),
    "path to compare": (lambda: treadle.compare(NoPath(), TEXT), "is a NoPath, which is no path"),
    "feeds of run_async": (lambda: session().run_async(None, 3, print, 0), "input_feed is an int"),
    "names of a vector": (lambda: by_vectors(3, [X], ["y"], []), "feed_names is an int"),
    "a name of a vector": (lambda: by_vectors([3], [X], ["y"], []), "a name in feed_names is an"),
    "fetches of a vector": (lambda: by_vectors(["x"], [X], ["y"], 3), "fetches is an int"),
    "options of a run": (lambda: session().run(None, {"x": X}, 3), "run_options is an int"),
    "a class that listens": (
        lambda: session().run(None, {"x": X}, listener=treadle.Recorder),
        r"the class Recorder, wanted an object of it: Recorder\(\)",
    ),
    "a listener": (lambda: session().run(None, {"x": X}, listener=3), "listener is an int"),
    "a session's listener": (lambda: InferenceSession(TEXT, listener=3), "listener is an int"),
    "outputs": (lambda: session().run(3, {"x": X}), "output_names is an int"),
    "an output": (lambda: session().run([3], {"x": X}), "a name of an output is an int"),
    "swapped": (lambda: treadle.save("m.onnx", treadle.load(TEXT)), "the model comes first"),
    "path": (lambda: treadle.save(TEXT, None), "path is None"),
    "external_data": (lambda: treadle.save(TEXT, "m.onnx", external_data=1), "external_data is an"),
    "code": (lambda: session().explain(3), "code is an int"),
    "names": (lambda: treadle.Recorder(names=["y"]), "names is a list"),
    "a field of a run": (lambda: RunOptions(typo=1), '"typo"'),
    "a field of loading": (lambda: treadle.LoadLimits(node=1), 'did you mean "nodes"'),
    "max_seconds": (lambda: RunOptions(max_seconds="2"), "max_seconds"),
    "a keyword": (lambda: treadle.check(TEXT, prtable=["openvino"]), 'did you mean "portable"'),
    "a keyword of a session": (lambda: session().warm_up(dim={}), 'did you mean "dims"'),
    "an argument too few": (lambda: treadle.convert_version(TEXT), "missing .* 'opset'; it takes"),
    "an argument too many": (lambda: treadle.load(TEXT, 1, 2, 3), "load: too many positional"),
    "the class of options": (
        lambda: InferenceSession(TEXT, treadle.SessionOptions),
        "sess_options is the class SessionOptions",
    ),
    "the class of options of a run": (
        lambda: session().run(None, {"x": X}, RunOptions),
        "run_options is the class RunOptions",
    ),
}
WRONG_VALUES = {
    "opset": (lambda: treadle.operator("Softmax", opset=1000), "opset is 1000, the newest known"),
    "opset 0": (lambda: treadle.operator("Softmax", opset=0), "opsets begin with 1"),
    "engine": (lambda: InferenceSession(TEXT, engines="intrep"), 'did you mean "interp"'),
    "no engine": (lambda: InferenceSession(TEXT, engines=[]), "engines is empty"),
    "portable": (lambda: treadle.check(TEXT, portable="onnxruntme"), 'did you mean "onnxruntime"'),
    "repair": (lambda: treadle.repair(TEXT, portable=["tvm"]), "onnxruntime, openvino"),
    "code": (lambda: session().explain("llvn"), 'did you mean "llvm"'),
    "seconds": (lambda: RunOptions(max_seconds=-1), "max_seconds"),
    "nan": (lambda: RunOptions(max_seconds=float("nan")), "max_seconds"),
    "iterations": (lambda: RunOptions(max_iterations=-1), "max_iterations"),
    "a dim": (lambda: session().warm_up(dims={1: 2}), 'no input has an extent "1"'),
    "feeds of a vector": (lambda: by_vectors(["x"], [], ["y"], []), "0 feeds for 1 feed_names"),
    "an OrtValue": (
        lambda: session().create_ortvalue_from_shape_and_type([2], 1, b"x"),
        "no OrtValue has this shape, type and device",
    ),
}


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_an_argument_of_a_wrong_type(case):
    call, words = WRONG_TYPES[case]

    with pytest.raises(TypeError, match=words) as caught:
        call()

    assert isinstance(caught.value, InputTypeError)


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_an_invalid_argument(case):
    call, words = WRONG_VALUES[case]

    with pytest.raises(ValueError, match=words) as caught:
        call()

    assert isinstance(caught.value, InputError)


def test_one_name_will_do_for_a_list_of_one():
    assert (InferenceSession(TEXT, engines="interp").run(None, {"x": X})[0] == -1).all()
    assert treadle.check(TEXT, portable="onnxruntime") == []
    assert treadle.repair(TEXT, portable="openvino")[1] == []


def test_a_whole_number_will_do_for_a_float():
    relu = treadle.operator("LeakyRelu", opset=16, alpha=2)

    assert (relu(-X) == -2).all()
    assert (relu(-X, alpha=np.int64(3)) == -3).all()


def test_a_listener_of_the_constructor_receives_runs():
    recorder, other = treadle.Recorder(), treadle.Recorder()
    watched = InferenceSession(TEXT, listener=recorder)

    for _ in range(2):
        watched.run(None, {"x": X})
    watched.run(None, {"x": X}, listener=other)

    assert len(recorder.of("y")) == 2
    assert len(other.of("y")) == 1


@pytest.mark.parametrize("kind", [treadle.SessionOptions, RunOptions, treadle.LoadLimits])
def test_defaults_are_values_that_a_field_accepts(kind) -> None:
    made, again = kind(), kind()
    given = {each.name: getattr(made, each.name) for each in dataclasses.fields(kind)}
    assert kind(**given) == made == again
    for name, value in given.items():
        if isinstance(value, dict | list):
            assert value is not getattr(again, name)
