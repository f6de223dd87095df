"""Forms of models that the project's own rewrites make give the reference's answers."""

from functools import cache

import pytest

import treadle
from benchmarks.columns import ENGINES, fault
from benchmarks.form_edits import draft
from benchmarks.form_rewrites import FORMS
from benchmarks.models import BENCHMARKS
from benchmarks.registry import Instance


@pytest.mark.parametrize(
    ("name", "form", "gone"),
    [("heat", "Loop as Scan", "Loop"), ("machine", "If as Where", "If")],
)
def test_a_rewritten_form(name: str, form: str, gone: str) -> None:
    made = BENCHMARKS[name]
    instance = made.make(made.small)
    edited = draft(instance.model, instance.feed)
    assert FORMS[form](edited)
    assert gone not in {node.op_type for graph in edited.graphs() for node in graph.node}
    given = {info.name: edited.feed[info.name] for info in edited.model.graph.input}
    found = treadle.InferenceSession(edited.model.SerializeToString()).run(None, given)
    assert fault(made, found, instance.reference(**instance.feed)) == ""


@pytest.mark.parametrize("form", ["Loop as Scan", "If as Where"])
def test_a_form_that_does_not_fit(form: str) -> None:
    instance = BENCHMARKS["descent"].make(3)
    assert not FORMS[form](draft(instance.model, instance.feed))


@cache
def instances() -> dict[str, Instance]:
    """The models of the suite, small; a draft is a copy."""
    return {name: made.make(max(made.small, 8)) for name, made in BENCHMARKS.items()}


@pytest.mark.parametrize("form", FORMS)
def test_forms_give_the_answers_of_the_reference(form: str) -> None:
    """The first models that a form fits, of the engines of the suite."""
    tried = 0
    for name, instance in instances().items():
        if tried == 2:
            break
        made, edited = BENCHMARKS[name], draft(instance.model, instance.feed)
        if not FORMS[form](edited):
            continue
        tried += 1
        given = {info.name: edited.feed[info.name] for info in edited.model.graph.input}
        session = treadle.InferenceSession(edited.model.SerializeToString(), engines=ENGINES)
        assert fault(made, session.run(None, given), instance.reference(**instance.feed)) == ""
