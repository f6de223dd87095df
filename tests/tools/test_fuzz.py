"""What the fuzzer makes of the log of a child."""

from tools.fuzz.__main__ import Fuzzed, _harvest

PROGRESS = "#2\tINITED cov: 7 ft: 7\n#64\tpulse  cov: 9 ft: 12 corp: 1/47b\n"
ENDED = PROGRESS + "#70\tDONE   cov: 9 ft: 12\nstat::number_of_executed_units: 71\n"
CRASHED = PROGRESS + "ERROR: libFuzzer: deadly signal\nthe reason\n"


def turn(folder, log):
    made = Fuzzed("model", folder)
    made.log.write_text(log)
    return made


def test_an_ended_child(tmp_path):
    made = turn(tmp_path, ENDED)
    assert _harvest(made, tmp_path)
    assert (made.cases, made.edges, made.wrong) == (71, 9, [])


def test_a_case_that_goes_wrong(tmp_path):
    made = turn(tmp_path, CRASHED)
    (tmp_path / "model-crash-1").write_bytes(b"")
    assert _harvest(made, tmp_path)
    assert made.cases == 64
    (told,) = made.wrong
    assert "model-crash-1" in told
    assert "the reason" in told


def test_a_case_that_was_kept_before_is_not_told_again(tmp_path):
    made = turn(tmp_path, ENDED)
    old = tmp_path / "model-crash-1"
    old.write_bytes(b"")
    made.kept = {old}
    _harvest(made, tmp_path)
    assert made.wrong == []


def test_a_child_that_does_not_begin(tmp_path):
    made = turn(tmp_path, "Traceback")
    assert not _harvest(made, tmp_path)
    assert made.wrong == ["the child did not begin:\nTraceback"]
