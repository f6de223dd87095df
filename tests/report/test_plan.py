"""A plan in words and as data."""

import json

from tests.report.models import loop
from treadle.ir import Loop
from treadle.plan import BlockPlan, Plan, Region
from treadle.report import explain, plan_data


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
