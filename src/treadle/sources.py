"""Where every public function begins: a model from whatever holds one, and whether it is valid."""

from __future__ import annotations

from treadle import checks, formats
from treadle.errors import DataError, Finding, InvalidModel, LoadError
from treadle.ir import Model

__all__ = ["loaded", "valid"]


def loaded(source: object) -> tuple[Model, list[Finding]]:
    """The model, and what reading it found; raises LoadError with every finding that blocks."""
    if isinstance(source, Model):
        return source, []
    model, findings = formats.read(source)
    if model is not None:
        return model, findings
    blocking = [found for found in findings if found.blocks]
    error = DataError if all(found.code == "CF002" for found in blocking) else LoadError
    raise error("the model cannot be loaded:", blocking)


def valid(source: object, what: str) -> Model:
    """The model of a source; raises InvalidModel where it breaks a rule that blocks running."""
    model, findings = loaded(source)
    _, found = checks.infer_with_findings(model)
    blocking = [each for each in (*findings, *found) if each.blocks]
    if blocking:
        raise InvalidModel(f"the model cannot be {what}:", blocking)
    return model
