"""The start of every public function: loads a source, and checks that the model is valid."""

from __future__ import annotations

from treadle import checks, formats
from treadle.arguments import expect_model
from treadle.errors import DataError, Finding, InvalidModel, LoadError
from treadle.ir import Model

__all__ = ["loaded", "valid"]


def loaded(source: object) -> tuple[Model, list[Finding]]:
    """Load a source; returns the model and its findings; raises LoadError with all that stop it.

    Raises InputTypeError for a value that no model can be loaded from, such as None.
    """
    expect_model(source)
    if isinstance(source, Model):
        return source, []
    model, findings = formats.read(source)
    if model is not None:
        return model, findings
    blocking = [found for found in findings if found.blocks]
    error = DataError if all(found.code == "CF002" for found in blocking) else LoadError
    raise error("the model cannot be loaded:", blocking)


def valid(source: object, what: str) -> Model:
    """Load and check a source; raises InvalidModel if it breaks a rule that stops a session."""
    model, findings = loaded(source)
    _, found = checks.infer_with_findings(model)
    blocking = [each for each in (*findings, *found) if each.blocks]
    if blocking:
        raise InvalidModel(f"the model cannot be {what}:", blocking)
    return model
