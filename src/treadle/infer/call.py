"""Infers a Call: a function's body with the types of the call.

Scan-8 and SequenceMap by rules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treadle.infer.context import CallRecord, Inference, Scope
from treadle.infer.facts import UNKNOWN, Fact, fact_symbols, map_dims
from treadle.infer.functions import all_values
from treadle.infer.leaf import resolved
from treadle.infer.scan import infer_scan_8
from treadle.ir import Attribute, Call, FunctionId, Type, dim_symbols
from treadle.ir import Sequence as SequenceType

Rule = Callable[[Inference, Call, Sequence[Fact], Scope], list[Fact]]


def infer_call(run: Inference, call: Call, scope: Scope) -> list[Fact]:
    """Infer one fact per result of the call.

    Results of a function without a definition get no facts.
    """
    facts = [run.of(value) for value in call.operands]
    rule = _RULES.get(call.function)
    if rule is not None and call.function not in run.model.functions:
        return rule(run, call, facts, scope)
    return _function(run, call, facts, scope)


def _function(run: Inference, call: Call, facts: Sequence[Fact], scope: Scope) -> list[Fact]:
    function = run.model.functions.get(call.function)
    if (
        function is None
        or call.function in scope.functions
        or len(facts) > len(function.block.params)
    ):
        return [UNKNOWN] * len(call.results)
    given = {**function.defaults, **resolved(call.attributes, scope.attributes)}
    key = (call.function, _values(given), tuple(facts), scope.doubtful)
    run.caller.inner[scope.path] = key
    if key not in run.calls:
        functions = (*scope.functions, call.function)
        shown = str(call.function)
        inner = Scope(scope.path, shown, given, functions, doubtful=scope.doubtful)
        params = [*facts, *[UNKNOWN] * (len(function.block.params) - len(facts))]
        record = run.calls[key] = CallRecord(call.function)
        outer, run.caller = run.caller, record
        record.results = run.rule(run, function.block, params, inner)
        run.caller = outer
        record.types = {value: run.of(value).type for value in all_values(function.block)}
    known = frozenset().union(*map(fact_symbols, facts))
    results = [_closed(fact, known) for fact in run.calls[key].results]
    return (results + [UNKNOWN] * len(call.results))[: len(call.results)]


def _values(attributes: Mapping[str, Attribute]) -> object:
    return tuple(sorted((name, str(_told(each.value))) for name, each in attributes.items()))


def _told(value: object) -> object:
    """A key that distinguishes the value of an attribute from other values.

    Arrays are keyed by identity, since repr shortens them; the model keeps them alive.
    """
    if isinstance(value, tuple):
        return tuple(map(_told, value))
    return repr(value) if isinstance(value, int | float | bytes | str) else id(value)


def _closed(fact: Fact, known: frozenset[str]) -> Fact:
    """The fact without the function's own symbols, which mean something else in each call."""
    return map_dims(fact, lambda dim: dim if dim_symbols(dim) <= known else None)


def _sequence_map(run: Inference, call: Call, facts: Sequence[Fact], scope: Scope) -> list[Fact]:
    """Infer SequenceMap: each result is a sequence of the body's results for one element."""
    captured = [run.of(value) for value in call.captures]
    params = [*(Fact(_element(fact.type)) for fact in facts), *captured]
    body = call.blocks.get("body")
    counts = (len(params), len(call.results))
    if body is None or (len(body.params), len(body.results)) != counts:
        return [UNKNOWN] * len(call.results)
    given = run.block(body, params, scope.body("body", repeats=True))
    return [Fact(SequenceType(fact.type)) for fact in given]


def _element(type_: Type | None) -> Type | None:
    return type_.element if isinstance(type_, SequenceType) else type_


_RULES: dict[FunctionId, Rule] = {
    FunctionId("", "Scan"): infer_scan_8,
    FunctionId("", "SequenceMap"): _sequence_map,
}
