"""The report of a loop: its trip count and its ports."""

import pytest

from tests.report.models import NESTED, loop, model
from treadle.ir import Model
from treadle.report import LoopSummary, show_control_flow, summarize_model


def summary(of: Model) -> LoopSummary:
    (found,) = [c for c in summarize_model(of).control_flow if isinstance(c, LoopSummary)]
    return found


FALSE = "no = Constant <value = bool {0}> ()"
TRUE = "yes = Constant <value = bool {1}> ()"
TEN = "ten = Constant <value_int = 10> ()"
ENDLESS = "most = Constant <value_int = 9223372036854775807> ()"
MADE = "m = Add (n, n)"
STOPS = "Less (i, limit)"
MADE_BY = "(from main/loop_{}.body/less_4)"


@pytest.mark.parametrize(
    ("bounded", "bound", "count", "words"),
    [
        (loop("n"), "input", None, "n times (a model input)"),
        (loop("ten", before=TEN), "constant", 10, "10 times"),
        (loop("m", before=MADE), "computed", None, "m times (from main/add_0)"),
        (
            loop("ten", before=TEN, next_condition=STOPS),
            "constant",
            10,
            f"at most 10 times; stops when on is false {MADE_BY.format(1)}",
        ),
        (
            loop("", "yes", STOPS, before=TRUE),
            "none",
            None,
            f"until on is false {MADE_BY.format(1)}; no trip count bounds it",
        ),
        (
            loop("most", next_condition=STOPS, before=ENDLESS),
            "none",
            9223372036854775807,
            f"until on is false {MADE_BY.format(1)}; no trip count bounds it",
        ),
        (
            loop("", "yes", before=TRUE),
            "none",
            None,
            "for ever: neither a trip count nor a condition ends it",
        ),
        (
            loop("n", "start"),
            "input",
            None,
            "n times (a model input); begins only if start is true (a model input)",
        ),
        (
            loop("n", "no", before=FALSE),
            "input",
            None,
            "n times (a model input); never begins: its condition is constant false",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_trip_count_of_a_loop(
    bounded: Model, bound: str, count: int | None, words: str
) -> None:
    trips = summary(bounded).trips
    assert (trips.bound, trips.count, trips.words) == (bound, count, words)


def test_a_negative_constant_is_no_iteration() -> None:
    minus = "minus = Constant <value_int = -3> ()"
    assert summary(loop("minus", before=minus)).trips.words == "0 times"


def test_its_ports() -> None:
    found = summary(loop())
    assert (found.path, found.operator, found.version) == ("main/loop_0", "Loop", 21)
    (carry,) = found.carries
    assert (carry.port.name, carry.port.outer, carry.result) == ("s", "x", "last")
    (stack,) = found.stacks
    assert (stack.port.name, stack.port.outer) == ("out", "all")
    assert [port.name for port in found.captures] == ["x"]
    assert found.body.operators == {"Constant": 2, "Add": 1, "Identity": 1, "Mul": 1}


def test_a_scan_in_words() -> None:
    found = summarize_model(model(NESTED)).control_flow
    assert show_control_flow(found[0]).splitlines() == [
        "main/scan_1  Scan-21",
        "  runs      once per item of xs along axis 0 (T of them)",
        "  carries   sum: float32[3] starting from zero, its last value is total",
        "  slices    x: float32[3] of xs, axis 0, from the last to the first",
        "  stacks    row: float32[3] into rows, axis 1, the last first",
        "  captures  up: bool[]",
        "            bias: float32[3]",
        "  body      6 nodes, 3 of them in inner bodies: Add 2, Abs 1, Identity 1, If 1, Sub 1",
    ]
