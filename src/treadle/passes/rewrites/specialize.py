"""Specializes a model: fixed extents become numbers, fixed inputs constants.

    g (float[T,3] x, int64 limit)   T = 64, limit = 5   ->   g (float[64,3] x)

The number replaces the name in every declared type, also in an expression like `T + 1` that a file
uses as the name of an extent. Fixed inputs are removed. Then the model is simplified, and inferred
types are written on its values. Needs values that fit the inputs' types.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from treadle.infer import infer
from treadle.ir import (
    Block,
    Constant,
    Dim,
    Info,
    Leaf,
    Literal,
    Map,
    Model,
    Optional,
    Sequence,
    Sparse,
    Symbol,
    Tensor,
    Type,
    Value,
    attribute,
    clone_with_new_values,
    map_blocks,
    map_bodies,
    verified,
)
from treadle.ops import since_version
from treadle.passes.fixes import FOR_RUNTIMES, repair
from treadle.passes.report import Change, Report
from treadle.passes.simplify import simplify

NAME = "specialize"
_LITERALS_SINCE = 4

_OPERATIONS: Mapping[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


@verified
def specialize(
    model: Model,
    dims: Mapping[str, int],
    inputs: Mapping[str, np.ndarray],
    *,
    clean: bool = True,
) -> tuple[Model, Report]:
    """Specialize the model to these extents and inputs by name, simplify it and annotate types."""
    fixed = _with_inputs(_with_dims(model, dims), inputs)
    told = [Change(NAME, "main", f"{name} is {extent}") for name, extent in dims.items()]
    told += [Change(NAME, "main", f"input {name} is a constant") for name in inputs]
    if not clean:
        return fixed, Report(tuple(told))
    cleaned, report = simplify(fixed)
    if report.done:
        cleaned = repair(cleaned, FOR_RUNTIMES)[0]
    return infer(cleaned), Report(tuple(told)) + report


def dim_names(model: Model) -> set[str]:
    """The symbols in the declared types of the inputs."""
    return set().union(*(_names(param.declared) for param in model.main.params))


def _names(type_: Type | None) -> set[str]:
    match type_:
        case Tensor(_, tuple() as shape) | Sparse(_, tuple() as shape):
            named = [dim.name for dim in shape if isinstance(dim, Symbol)]
            return set().union(*map(_parts, named))
        case Sequence() | Optional() | Map():
            return _names(type_.element)
    return set()


def _parts(name: str) -> set[str]:
    """The name itself, and the names in it if it is an expression."""
    tree = _parsed(name)
    inner = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)} if tree else set()
    return {name} | inner


def _parsed(name: str) -> ast.expr | None:
    try:
        return ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _with_dims(model: Model, dims: Mapping[str, int]) -> Model:
    if not dims:
        return model

    def said(type_: Type | None) -> Type | None:
        return _fixed(type_, dims)

    def value(old: Value) -> Value:
        return replace(old, declared=said(old.declared), inferred=None)

    def claiming(block: Block) -> Block:
        claims = tuple(replace(claim, type=said(claim.type)) for claim in block.claims)
        inner = [map_bodies(step, lambda _, body: claiming(body)) for step in block.steps]
        return replace(block, claims=claims, steps=tuple(inner))

    return map_blocks(model, lambda block: claiming(clone_with_new_values(block, value)))


def _fixed(type_: Type | None, dims: Mapping[str, int]) -> Type | None:
    match type_:
        case Tensor(_, tuple() as shape) | Sparse(_, tuple() as shape):
            return replace(type_, shape=tuple(_extent(dim, dims) for dim in shape))
        case Sequence() | Optional() | Map():
            return replace(type_, element=_fixed(type_.element, dims))
    return type_


def _extent(dim: Dim, dims: Mapping[str, int]) -> Dim:
    if not isinstance(dim, Symbol):
        return dim
    if dim.name in dims:
        return dims[dim.name]
    tree = _parsed(dim.name)
    found = _evaluated(tree, dims) if tree is not None else None
    return dim if found is None or found < 0 else found


def _evaluated(tree: ast.expr, dims: Mapping[str, int]) -> int | None:
    match tree:
        case ast.Constant(int() as number):
            return number
        case ast.Name(name):
            return dims.get(name)
        case ast.BinOp(left, kind, right) if type(kind) in _OPERATIONS:
            first, second = _evaluated(left, dims), _evaluated(right, dims)
            if first is None or second is None or (isinstance(kind, ast.FloorDiv) and not second):
                return None
            return _OPERATIONS[type(kind)](first, second)
    return None


def _with_inputs(model: Model, inputs: Mapping[str, np.ndarray]) -> Model:
    if not inputs:
        return model
    main, constants, steps = model.main, [], []
    fixed = {param: inputs[param.name] for param in main.params if param.name in inputs}
    for value, array in fixed.items():
        if model.ir_version >= _LITERALS_SINCE:
            constants.append(Constant(value, Literal.of(array)))
        else:
            steps.append(_constant(value, array, model.opsets.get("", 1)))
    kept = [constant for constant in main.constants if constant.value not in fixed]
    params = tuple(param for param in main.params if param not in fixed)
    block = replace(main, params=params, constants=(*kept, *constants), steps=(*steps, *main.steps))
    return replace(model, main=block)


def _constant(value: Value, array: np.ndarray, opset: int) -> Leaf:
    version = since_version("", "Constant", opset) or 1
    attributes = {"value": attribute("value", array)}
    return Leaf("", "Constant", version, (), (value,), attributes, info=Info(op="Constant"))
