"""The report of a model, as text and as data."""

import json

from tests.report.models import NESTED, model
from treadle.report import BranchSummary, as_data, show_control_flow, show_summary, summarize_model


def test_the_model_in_words() -> None:
    head, *_ = show_summary(summarize_model(model(NESTED))).split("\n\n")
    assert head.splitlines() == [
        "model nested",
        "  inputs     xs: float32[T,3]",
        "             up: bool[]",
        "             bias: float32[3] (has a default)",
        "  outputs    total: float32[3]",
        "             rows: float32[3,T]",
        "  opsets     onnx 21, local 1 (IR version 10)",
        "  holds      9 nodes (6 in bodies, at most 2 bodies deep), 1 tensor of 12 bytes",
        "  operators  Add 2, Abs 1, Constant 1, Identity 1, If 1, Scan 1, Sub 1, local.zeros 1",
        "  function   local::zeros, 1 node",
    ]


def test_a_branch_in_words() -> None:
    branch = summarize_model(model(NESTED)).control_flow[1]
    assert isinstance(branch, BranchSummary)
    assert branch.depth == 1
    assert show_control_flow(branch).splitlines() == [
        "main/scan_1.body/if_0  If-21",
        "  decides      up",
        "  captures     x: float32[3], bias: float32[3]",
        "  gives        moved",
        "  then_branch  1 node: Add 1",
        "  else_branch  2 nodes: Abs 1, Sub 1",
    ]


def test_an_operator_that_keeps_its_bodies() -> None:
    mapped = model(
        """
        <ir_version: 10, opset_import: ["" : 21]>
        mapped (seq(float[N]) xs, float[1] by) => (seq(float[N]) ys)
        {
          ys = SequenceMap <body = scaled (float[N] x) => (float[N] y)
            {
              y = Mul (x, by)
            }> (xs)
        }
        """
    )
    (call,) = summarize_model(mapped).control_flow
    assert show_control_flow(call).splitlines() == [
        "main/sequencemap_0  SequenceMap-17",
        "  takes     xs",
        "  captures  by",
        "  body      1 node: Mul 1",
    ]


def test_the_data_can_be_written_as_json() -> None:
    data = json.loads(json.dumps(as_data(summarize_model(model(NESTED)))))
    assert data["opsets"] == {"onnx": 21, "local": 1}
    assert data["sizes"]["nesting"] == 2
    assert [each["operator"] for each in data["control_flow"]] == ["Scan", "If"]
    assert data["control_flow"][0]["slices"][0]["reverse"] is True
