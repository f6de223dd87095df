"""The report of a plan, as text and as data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tests.report.models import loop
from treadle.ir import Loop
from treadle.plan import BlockPlan, CompilationReport, Plan, Region, RunContext, RunnableTraits
from treadle.report import explain, plan_data, show_code


def planned() -> Plan:
    counted = loop()
    (step,) = counted.main.steps
    assert isinstance(step, Loop)
    inner = Region(
        "main/loop_0.body",
        "onnxruntime",
        "a stretch of 5 nodes",
        step.body.steps,
        step.body.params,
        (),
    )
    body = BlockPlan(step.body, "main/loop_0.body", (inner,))
    outer = Region("main", "interp", "a listener", (step,), counted.main.params, (), {"body": body})
    return Plan(counted, BlockPlan(counted.main, "main", (outer,)))


def test_regions_are_nested() -> None:
    assert explain(planned()).splitlines() == [
        "1 region by interp, 1 region by onnxruntime",
        "main/loop_0  interp: a listener",
        "  1 node: Loop 1; 5 nodes in bodies",
        "  main/loop_0.body  onnxruntime: a stretch of 5 nodes",
        "    5 nodes: Constant 2, Add 1, Identity 1, Mul 1",
    ]


def test_the_data_has_every_region() -> None:
    data = json.loads(json.dumps(plan_data(planned())))
    assert data["engines"] == {"interp": 1, "onnxruntime": 1}
    (outer,) = data["regions"]
    (inner,) = outer["bodies"]["body"]["regions"]
    assert (inner["engine"], inner["nodes"]) == ("onnxruntime", 5)


@dataclass(frozen=True)
class Said:
    """A region's engine that has made this of it."""

    made: tuple[CompilationReport, ...] = ()

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        raise AssertionError("nobody runs it")

    @property
    def traits(self) -> RunnableTraits:
        return RunnableTraits(reports=lambda: self.made, predicted_report=self.predicted_report)

    def predicted_report(self) -> CompilationReport:
        return CompilationReport("x ?", ("not yet",), {}, lambda kind: f"{kind} of types")


def said(*made: CompilationReport) -> Plan:
    counted = loop()
    region = Region("main", "jit", "", counted.main.steps, (), (), runnable=Said(made))
    return Plan(counted, BlockPlan(counted.main, "main", (region,)))


def as_made(plan: Plan) -> object:
    (region,) = json.loads(json.dumps(plan_data(plan)))["regions"]
    return region["made"]


MADE = CompilationReport("x int64[2]", ("made",), {"seconds": 1}, lambda kind: f"{kind} of data")
DECLINED = CompilationReport("x int64[3]", ("declined: why",), {}, lambda kind: "")


def test_compiled_kernels_are_listed_or_their_absence() -> None:
    assert explain(said()).splitlines()[3:] == ["  not yet"]
    made = said(MADE, DECLINED)
    words = ["  for x int64[2]:", "    made", "  for x int64[3]:", "    declined: why"]
    assert explain(made).splitlines()[3:] == words
    assert as_made(made) == [{"for": "x int64[2]", "seconds": 1}, {"for": "x int64[3]"}]
    assert as_made(said()) == []


def test_the_plans_of_other_runs_follow() -> None:
    shown = explain(said(), {"runs that feed w": said(MADE)}).splitlines()
    own, blank = len(explain(said()).splitlines()), ""
    assert shown[own : own + 2] == [blank, "runs that feed w:"]
    assert shown[own + 2 :] == [f"  {line}" for line in explain(said(MADE)).splitlines()]


def test_code_of_types_only_where_no_run_made_any() -> None:
    types = "# main/loop_0 for x ?\nllvm of types"
    data = "# main/loop_0{} for x int64[2]\nllvm of data"
    assert show_code(said(), "llvm") == types
    assert show_code(said(), "llvm", {"bounded runs": said()}) == types
    bounded = {"bounded runs": said(MADE)}
    in_bounded = data.format(" in bounded runs")
    assert show_code(said(), "llvm", bounded) == in_bounded
    assert show_code(said(MADE), "llvm", bounded) == f"{data.format('')}\n{in_bounded}"
    assert show_code(said(DECLINED), "llvm") == "# main/loop_0 for x int64[3]\n# declined: why"
