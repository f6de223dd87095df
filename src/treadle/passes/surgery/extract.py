"""Extracts a body as a model: its parameters and captures become the inputs."""

from __future__ import annotations

from dataclasses import replace

from treadle.infer import infer
from treadle.ir import Loop, Model, Value, clone_with_new_values, verified
from treadle.passes.surgery.blocks import body_at, claim, declared, distinct_results


@verified
def extract_body(model: Model, path: str) -> Model:
    """The model of the body at a path, `main/loop_3.body`; the loop's own path works too."""
    step, body = body_at(infer(model), path)
    params = set(body.params)
    has_no_condition = isinstance(step, Loop) and body.results[0] is None
    results = body.results[1:] if has_no_condition else body.results
    kept = tuple(value for value in results if value is not None)

    def new(value: Value) -> Value:
        return declared(value) if value in params else replace(value)

    block = replace(body, results=kept, claims=(), name=body.name or "body", kept={})
    block = distinct_results(clone_with_new_values(block, new), model.opsets.get("", 1))
    block = replace(block, claims=tuple(map(claim, kept)))
    return infer(replace(model, main=block, doc="", metadata=(), kept={}))
