"""Errors behave as Python's and can be pickled."""

import copy
import pickle

import pytest

import treadle
from treadle import errors

FINDING = errors.Finding("CF101", "error", "main/add_0", "no value is called a", blocks=True)
EACH = (
    errors.TreadleError("what"),
    errors.LoadError("the model cannot be loaded:", [FINDING]),
    errors.DataError("the model cannot be loaded:", [FINDING]),
    errors.LoadLimitExceeded("too many nodes"),
    errors.InvalidModel("the model cannot be run:", [FINDING]),
    errors.Unsupported("Add", 14, "nobody has it", "main/add_0"),
    errors.Unsupported.of("the model", "nobody runs it:", [FINDING]),
    errors.InputError("x is missing"),
    errors.InputTypeError("a list is fed"),
    errors.ConfigurationError("no such provider"),
    errors.RunError("it failed", "main/add_0", (3, 1)),
    errors.KernelError("it failed", "main/add_0"),
    errors.LimitExceeded("too long", "main/add_0", (3, 1)),
    errors.Terminated("stopped"),
    errors.ComparisonError("y differs"),
    errors.InternalError("load failed inside treadle"),
)


def test_every_error_is_here() -> None:
    public = {getattr(errors, name) for name in errors.__all__}
    raised = {each for each in public if isinstance(each, type) and issubclass(each, Exception)}
    assert {type(error) for error in EACH} == {
        each for each in raised if issubclass(each, errors.TreadleError)
    }


@pytest.mark.parametrize("error", EACH, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
def test_an_error_pickles(error: errors.TreadleError, again) -> None:
    found = again(error)
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.args == error.args
    assert vars(found) == vars(error)


LINES = {
    "LoadError": lambda name: errors.LoadError(f"{name} is no model:", [FINDING, FINDING]),
    "InvalidModel": lambda name: errors.InvalidModel(f"{name} cannot run:", [FINDING, FINDING]),
    "Unsupported": lambda name: errors.Unsupported.of(name, "nobody runs it:", [FINDING] * 2),
    "InputError": lambda name: errors.InputError(f"{name} does not fit:", [name, "b"]),
    "ComparisonError": lambda name: errors.ComparisonError(f"not {name}:", ["a", name]),
}


@pytest.mark.parametrize("kind", LINES)
def test_the_lines_of_an_error_are_its_own_and_never_those_of_a_name(kind: str) -> None:
    lines = str(LINES[kind]("x\ny\x1b[31m\u202e")).split("\n")
    assert len(lines) == 3
    assert all(line.startswith("  ") for line in lines[1:])
    assert "".join(lines).isprintable()
    assert r"x\ny\x1b[31m\u202e" in "".join(lines)


@pytest.mark.parametrize("error", EACH, ids=lambda error: type(error).__name__)
def test_a_name_with_a_line_break_feigns_no_line(error: errors.TreadleError) -> None:
    kind = type(error)
    made = kind("x\ny\x07", 1, "z\x1b") if kind is errors.Unsupported else kind("x\ny\x07")
    assert str(made).isprintable()
    assert str(pickle.loads(pickle.dumps(made))) == str(made)


def test_a_fault_of_an_argument_is_a_value_error_and_one_of_its_type_a_type_error() -> None:
    session = treadle.InferenceSession(
        '<ir_version: 10, opset_import: ["" : 21]>\ng (float x) => (y) { y = Neg (x) }'
    )
    with pytest.raises(ValueError, match="is missing"):
        session.run(None, {})
    with pytest.raises(TypeError, match="wanted a dict"):
        session.run(None, [1.0])
    with pytest.raises(TypeError, match="is not an operator"):
        treadle.operator(3)
