"""Text models through passes, then run by interp alone."""

from __future__ import annotations

from treadle.execution import prepare
from treadle.formats import read, schema_function
from treadle.infer import infer
from treadle.ir import Model
from treadle.plan import RunContext, plan


def load(text: str, opset: int = 21, imports: str = "", ir: int = 10) -> Model:
    head = f'<ir_version: {ir}, opset_import: ["" : {opset}{imports}]>'
    model, findings = read(f"{head}\n{text}")
    assert model is not None, findings
    return model


def run(model: Model, *inputs: object) -> list:
    def expand(step, types):
        return schema_function(step, types, model.opsets)

    return prepare(plan(infer(model), []), expand)(inputs, RunContext())
