"""`treadle run`: inputs, outputs, comparison, limits, trace."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

from tests.cli.conftest import Treadle
from treadle.cli.archive import read_archive, write_archive


def test_outputs_in_words(treadle: Treadle, folder: Path) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "-i", "a=2")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["name", "type", "min", "max", "mean", "first", "elements"]
    assert lines[1] == ["root", "float32[]", "1.4142", "1.4142", "1.4142", "1.4142135"]
    assert lines[2][:2] == ["guesses", "float32[4]"]
    assert done.err.startswith("ran in ")


def test_outputs_as_data(treadle: Treadle, folder: Path) -> None:
    data = treadle("run", folder / "newton.onnxtxt", "-i", "a=9", "--json").data
    assert data["outputs"]["root"] == pytest.approx(3, rel=1e-6)
    assert data["outputs"]["guesses"][-1] == data["outputs"]["root"]
    assert "trace" not in data


@pytest.mark.parametrize("engines", ["interp", "onnxruntime,interp"])
def test_engines_are_chosen_by_name(treadle: Treadle, folder: Path, engines: str) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "-i", "a=2", "--engines", engines)
    assert done.code == 0


def test_an_unknown_engine(treadle: Treadle, folder: Path) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "-i", "a=2", "--engines", "abacus")
    assert done.code in (1, 2)
    assert "abacus" in done.err


GIVEN = ("-i", "n=3", "-i", "up=true", "-i", "word=hey", "-i", "rows=[[1, 2], [3, 4]]")


@pytest.fixture
def bfloat16(tmp_path: Path) -> str:
    np.save(tmp_path / "b.npy", np.array([1, 2], ml_dtypes.bfloat16))
    return f"b=@{tmp_path / 'b.npy'}"


def test_values_of_every_kind(treadle: Treadle, folder: Path, bfloat16: str) -> None:
    given = (*GIVEN, "-i", "x=[[1, 2]]", "-i", bfloat16)
    data = treadle("run", folder / "many.onnxtxt", *given, "--json").data
    assert data["outputs"] == {
        "y": [[-1, -2]],
        "m": -3,
        "down": False,
        "same": "hey",
        "more": [[1, 2], [3, 4]],
        "c": [1, 2],
    }


def test_written_outputs_can_be_read_and_compared(
    treadle: Treadle, folder: Path, bfloat16: str
) -> None:
    model, out = folder / "many.onnxtxt", folder / "out.npz"
    given = (*GIVEN, "-i", "x=[[1, 2]]", "-i", bfloat16)
    assert treadle("run", model, *given, "--output", out).code == 0
    assert set(np.load(out).files) == {"y", "m", "down", "same", "more[0]", "more[1]", "c"}
    done = treadle("run", model, *given, "--assert-output", out)
    assert done.code == 0
    assert "the outputs are those of" in done.out


@pytest.mark.parametrize("name", ["file", "allow_pickle", "a/b"])
def test_a_value_may_have_any_name(name: str, tmp_path: Path) -> None:
    values = {name: np.float32([1, 2]), "rows": [np.int64(3)], "none": None}
    write_archive(tmp_path / "out.npz", values)
    found = read_archive(tmp_path / "out.npz", "")
    assert found.keys() == values.keys()
    assert found[name].tolist() == [1, 2]


def test_an_archive_with_inputs_and_outputs(treadle: Treadle, folder: Path) -> None:
    both = folder / "both.npz"
    root = np.float32(2)
    arrays = {"in:a": np.float32(4), "out:root": root, "src:root": np.float64(9)}
    np.savez(both, **arrays)
    model = folder / "newton.onnxtxt"
    assert treadle("run", model, "--input", both, "--assert-output", both).code == 0
    arrays["out:root"] = np.float32(2.5)
    np.savez(both, **arrays)
    done = treadle("run", model, "--input", both, "--assert-output", both)
    assert done.code == 1
    assert "root: it differs, is 2.0, expected 2.5" in done.err
    assert treadle("run", model, "--input", both, "--assert-output", both, "--atol", 1).code == 0
    done = treadle("run", model, "--input", both, "--assert-output", both, "--json")
    assert done.code == 1
    assert [each["name"] for each in done.data["differences"]] == ["root"]


def test_missing_inputs_say_how_to_give_them(treadle: Treadle, folder: Path) -> None:
    done = treadle("run", folder / "many.onnxtxt", "-i", "n=3")
    assert done.code == 2
    assert "5 inputs are missing" in done.err
    lines = [line.split() for line in done.err.splitlines()]
    assert ["x", "float32[T,2]", "-i", "x='[[1,", "...]]'"] in lines
    assert ["up", "bool[]", "-i", "up=true"] in lines
    assert ["rows", "seq(float32[2])", "-i", "rows='[...]'"] in lines
    assert "--random" in done.err


def test_random_data(treadle: Treadle, folder: Path) -> None:
    model = folder / "many.onnxtxt"
    first, again, other = (
        treadle("run", model, "--random", "--json", *more).data["outputs"]
        for more in [(), (), ("--seed", 1)]
    )
    assert first == again
    assert first != other
    assert np.shape(first["y"]) == (3, 2)
    sized = treadle("run", model, "--random", "--dim", "T=5", "-i", "n=7", "--json").data["outputs"]
    assert np.shape(sized["y"]) == (5, 2)
    assert sized["m"] == -7
    wrong = treadle("run", model, "--random", "--dim", "t=5")
    assert wrong.code == 2
    assert 'no input of the model has an extent "t", did you mean "T"?' in wrong.err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("-i", "b=1"), 'the model has no input "b", it has a'),
        (("-i", "a"), '"-i a" lacks a value'),
        (("-i", "a=x"), '"x" is no value for input "a", float32[]'),
        (("-i", "a=@nowhere.npy"), "nowhere.npy"),
        (("--random", "--dim", "T"), '"T" is not of the form T=5'),
        (("--random", "--dim", "T=5"), 'no input of the model has an extent "T", it has none'),
    ],
)
def test_invalid_options_are_errors(
    treadle: Treadle, folder: Path, given: tuple[str, ...], words: str
) -> None:
    done = treadle("run", folder / "newton.onnxtxt", *given)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize("given", ["a=[1, 2]", 'a="text"', "a=[[1], [2, 3]]"])
def test_invalid_inputs_are_errors(treadle: Treadle, folder: Path, given: str) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "-i", given)
    assert done.code == 1
    assert '"a"' in done.err


def test_a_file_that_is_no_archive(treadle: Treadle, folder: Path) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "--input", folder / "many.onnxtxt")
    assert done.code == 2
    assert "is not an .npz file" in done.err


@pytest.mark.parametrize("bound", [("--max-iterations", 10), ("--max-seconds", 0.2)])
def test_limits_of_a_run(treadle: Treadle, folder: Path, bound: tuple[object, ...]) -> None:
    done = treadle("run", folder / "endless.onnxtxt", "-i", "start=0", *bound)
    assert done.code == 1
    assert done.err.startswith("Error: main")
    assert str(bound[0]).strip("-").replace("-", "_") in done.err


def test_a_trace_of_chosen_values(treadle: Treadle, folder: Path) -> None:
    model = folder / "newton.onnxtxt"
    done = treadle("run", model, "-i", "a=4", "--trace", "better", "--trace", "main/loop_2")
    lines = done.out.splitlines()
    assert lines[0] == "main/loop_2 starts, trip count 50"
    assert lines[1] == "main/loop_2.body[0] better = float32[] 2.5"
    assert lines[2].startswith("main/loop_2.body[1] better = float32[] 2.05")
    ends = [line for line in lines if "ends after" in line]
    assert ends == ["main/loop_2 ends after 4, by its condition"]
    only = treadle("run", model, "-i", "a=4", "--trace", "main/loop_2.body/sq*", "--json").data
    assert {event["name"] for event in only["trace"]} == {"square"}
    assert [event["iterations"] for event in only["trace"]] == [[0], [1], [2], [3]]


def test_faults_of_the_model_are_reported_before_missing_inputs(
    treadle: Treadle, tmp_path: Path
) -> None:
    file = tmp_path / "odd.onnxtxt"
    file.write_text(
        '<ir_version: 10, opset_import: ["" : 21]>\ng (float x) => (float y) { y = Nag (x) }'
    )
    done = treadle("run", file)
    assert done.code == 1
    assert "CF701" in done.err


def test_a_number_beyond_its_dtype(treadle: Treadle, folder: Path) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "-i", "a=1" + "0" * 60)
    assert done.code == 1
    assert "does not fit float32[]" in done.err


def test_a_trace_that_selects_nothing(treadle: Treadle, folder: Path) -> None:
    done = treadle("run", folder / "newton.onnxtxt", "-i", "a=2", "--trace", "bettr")
    assert done.code == 1
    assert 'nothing matches "bettr"; did you mean "better"?' in done.err


def test_a_trace_by_operator_and_by_role(treadle: Treadle, folder: Path) -> None:
    model = folder / "newton.onnxtxt"
    made = treadle("run", model, "-i", "a=4", "--trace", "op:div", "--json").data["trace"]
    assert {event["step"].rpartition("/")[2].partition("_")[0] for event in made} == {"div"}
    kept = treadle("run", model, "-i", "a=4", "--trace", "role:carried", "--json").data["trace"]
    assert kept
    assert {event["step"] for event in kept} == {""}


def test_infer_refuses_an_output_in_a_missing_folder(treadle: Treadle, folder: Path) -> None:
    done = treadle("infer", folder / "newton.onnxtxt", "-o", folder / "none" / "typed.onnx")
    assert done.code == 2
    assert "no such file or directory" in done.err


def test_progress_of_a_long_loop(treadle: Treadle, tmp_path: Path) -> None:
    model = tmp_path / "long.onnxtxt"
    model.write_text(
        '<ir_version: 10, opset_import: ["" : 21]>\nmain (int64 n) => (int64 s) {'
        ' zero = Constant<value = int64 {0}>() s = Loop (n, "", zero) <body = b'
        " (int64 i, bool c, int64 a) => (bool go, int64 b)"
        " { b = Add(a, i)  go = Identity(c) }>}"
    )
    done = treadle("run", model, "-i", "n=9000", "--progress", "--json")
    assert done.data["outputs"]["s"] == 9000 * 8999 // 2
    done = treadle("run", model, "-i", "n=9000", "--progress")
    assert str(9000 * 8999 // 2) in done.out


def test_a_name_with_a_line_break_feigns_no_line_of_a_trace(
    treadle: Treadle, tmp_path: Path
) -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float x) => (float y) { y = Neg (x) }'
    )
    proto.graph.node[0].output[0] = proto.graph.output[0].name = "a\nmain y = 7\x1b[31m"
    onnx.save(proto, tmp_path / "model.onnx")
    done = treadle("run", tmp_path / "model.onnx", "-i", "x=4", "--trace", "*")
    assert done.code == 0
    lines = (done.out + done.err).splitlines()
    assert not any(line.startswith("main y = 7") for line in lines)
    assert any(r"main a\nmain y = 7\x1b[31m = float32[] -4" in line for line in lines)
