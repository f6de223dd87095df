"""The conformance kit: its files, its verdicts, and that it needs no treadle."""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from pathlib import Path

import onnx
import pytest

from tests.backend.suite import folder_sample
from tests.cases.loader import cases
from tests.values import assert_same
from tools.conformance.kit.__main__ import main
from tools.conformance.kit.asking import Answer, Child, Command, Question
from tools.conformance.kit.verdicts import judged, read_index, verdicts
from tools.conformance.reports import FAULTS
from tools.conformance.results import opsets
from tools.conformance.script import script
from tools.conformance.writing import KIT, runs_of, write_kit

SOME = ("branch/condition_of_two_elements", "loop/collatz", "sequence/swap_two", "table/both")
PARTIES = """
import os, time
def dies(path): os.abort()
def hangs(path): time.sleep(60)
def refuses(path): raise ValueError("no Loop here")
"""


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conformance") / "kit"
    write_kit(folder, {name: cases()[name] for name in SOME})
    (folder / "parties.py").write_text(PARTIES)
    return folder


def question(kit: Path, name: str, opset: int, run: int = 0) -> Question:
    folder = kit / "cases" / name / f"opset_{opset}"
    return Question(folder / "model.onnx", folder / f"test_data_set_{run}")


@pytest.mark.parametrize("name", ["loop/collatz", "sequence/swap_two"])
def test_folders_have_the_form_of_onnx_backend_tests(kit, name):
    sample = folder_sample(kit / "cases" / name / "opset_13")
    onnx.checker.check_model(sample.model)
    for feed, run in zip(sample.feeds, runs_of(cases()[name]), strict=True):
        names = list(run.outputs)
        assert_same(feed.outputs, list(run.outputs.values()), names)
        assert_same(feed.inputs, list(run.inputs.values()), list(run.inputs))


def test_answers_of_a_runtime_are_judged(kit, capsys):
    assert main(["--cases", str(kit), "onnx.reference"]) == 1
    told = capsys.readouterr()
    assert "2 right, 0 refused, 2 wrong" in told.out
    assert "table/both at opset 8: wrong all: gave shape [1, 1], not [1]" in told.err
    found = json.loads((kit / "results" / "onnx.reference.json").read_text())
    assert {run["verdict"] for run in found["cases"]["loop/collatz"]["28"]} == {"right"}


@pytest.mark.parametrize(
    ("party", "seconds", "kind", "text"),
    [
        ("dies", 60.0, "crashed", "SIGABRT"),
        ("hangs", 0.5, "crashed", "no answer"),
        ("refuses", 60.0, "refused", "no Loop"),
    ],
)
def test_a_runtime_may_die_hang_or_refuse(kit, monkeypatch, party, seconds, kind, text):
    monkeypatch.syspath_prepend(kit)
    ask = Child(f"parties:{party}", seconds)
    answer = ask(question(kit, "loop/collatz", 10))
    ask.close()
    assert (answer.kind, text in answer.text) == (kind, True)


def test_a_command_is_a_runtime(kit):
    copy = "import shutil, sys; shutil.copy(sys.argv[1] + '/output_0.pb', sys.argv[2])"
    words = f'{sys.executable} -S -c "{copy}" {{inputs}} {{outputs}}'
    asked = question(kit, "loop/collatz", 10, 1)
    assert judged(Command(words, 30.0)(asked), asked, must_fail=False) == ("right", "")
    refused = Command(f"{sys.executable} -S -c 'raise SystemExit(3)'", 30.0)(asked)
    assert refused.kind == "refused"


def test_a_runtime_that_answers_an_invalid_model_is_wrong(kit):
    (case,) = [each for each in read_index(kit) if each["name"] == SOME[0]]
    assert all(case["must_fail"])
    gave = next(verdicts(kit, case, 11, lambda _: Answer("gave", ())))
    refused = next(verdicts(kit, case, 11, lambda _: Answer("refused", text="no")))
    assert (gave["verdict"], refused["verdict"]) == ("wrong", "right")


def test_the_kit_imports_numpy_and_onnx_alone():
    for path in KIT.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                root = name.partition(".")[0]
                assert root in sys.stdlib_module_names | {"numpy", "onnx", "ml_dtypes"}, path.name


def test_faults_name_cases():
    for faults in tomllib.loads(FAULTS.read_text(encoding="utf-8")).values():
        named = [name for fault in faults for name in fault["cases"]]
        assert set(named) <= set(cases())
        assert len(named) == len(set(named))


def test_opsets_in_few_words():
    assert opsets([8, 9, 13, 21, 25], [8, 9, 11, 13, 16, 21, 25]) == "8 to 9, 13, 21 to 25"


def test_the_program_of_a_report_runs(capsys):
    case = cases()["branch/optional_tensor"]
    exec(script("onnx.reference", case.model(21), [runs_of(case)[1].inputs]), {})
    assert "True" in capsys.readouterr().out
