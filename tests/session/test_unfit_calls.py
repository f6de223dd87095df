"""Methods called with arguments that they do not take, or cannot use: treadle's errors."""

import contextlib

import numpy as np
import pytest

import treadle

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float x) => (float y) { y = Neg (x) }"""
FEEDS = {"x": np.float32(1)}


def recorder() -> treadle.Recorder:
    made = treadle.Recorder()
    treadle.InferenceSession(TEXT).run(None, FEEDS, listener=made)
    return made


METHODS = {
    "Recorder.of": lambda: recorder().of,
    "Recorder.column": lambda: recorder().column,
    "Recorder.stacked": lambda: recorder().stacked,
    "Recorder.summary": lambda: recorder().summary,
    "Recorder.to_npz": lambda: recorder().to_npz,
    "Comparison.growth": lambda: treadle.compare(TEXT, TEXT, FEEDS).growth,
    "RunOptions.add_active_adapter": lambda: treadle.RunOptions().add_active_adapter,
    "RunOptions.add_run_config_entry": lambda: treadle.RunOptions().add_run_config_entry,
    "SessionOptions.add_initializer": lambda: treadle.SessionOptions().add_initializer,
    "SessionOptions.add_provider": lambda: treadle.SessionOptions().add_provider,
    "LoraAdapter.Load": lambda: treadle.LoraAdapter().Load,
    "set_seed": lambda: treadle.set_seed,
    "set_default_logger_severity": lambda: treadle.set_default_logger_severity,
}


@pytest.mark.parametrize("name", METHODS)
def test_arguments_that_a_method_does_not_take(name: str) -> None:
    for given in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(treadle.InputTypeError, match=name):
            METHODS[name]()(*given)


@pytest.mark.parametrize("name", METHODS)
def test_a_list_that_holds_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_DEBUG", raising=False)
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for count in (1, 2, 3):
        with contextlib.suppress(treadle.TreadleError):
            METHODS[name]()(*[deep] * count)
