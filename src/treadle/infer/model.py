"""Inference of a whole model: the facts are found block by block, then written on new values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.infer.block import infer_block
from treadle.infer.context import Conflict, Inference, Scope
from treadle.infer.facts import Fact, constant_fact, map_shapes, meet_types, without_shapes
from treadle.infer.functions import typed_functions
from treadle.ir import (
    Dim,
    Model,
    Shape,
    Symbol,
    Tensor,
    Value,
    clone_with_new_values,
    typed,
    verified,
)


@verified
def infer(model: Model) -> Model:
    """The model with `inferred` types on every value of its main block, bodies included.

    The declared types of the model's inputs are facts, every other declaration is a claim that only
    counts where nothing else is known. Functions are inferred call by call; their values have the
    type that holds in every call.
    """
    return infer_with_conflicts(model)[0]


@verified
def infer_with_conflicts(model: Model) -> tuple[Model, list[Conflict]]:
    """What `infer` gives, and each step whose operands do not fit it."""
    run = infer_main(model)
    main = clone_with_new_values(model.main, lambda value: typed(value, run.of(value).type))
    return replace(model, main=main, functions=typed_functions(run)), list(run.conflicts.values())


def infer_main(model: Model) -> Inference:
    """The facts that `infer` writes on the values of the main block, by the model's own values."""
    run = Inference(model, infer_block)
    defaults = {constant.value: constant_fact(constant) for constant in model.main.constants}
    params = [_input(param, defaults.get(param)) for param in model.main.params]
    infer_block(run, model.main, params, Scope("main", "main"))
    return run


def certain_facts(model: Model, *, shared: bool = False) -> Mapping[Value, Fact]:
    """What holds of every value of main and its bodies in every run; no claim is believed.

    Inputs that declare the same name for an extent may be fed different ones all the same, so here
    each extent has a symbol of its own: axis 0 of x is `input x.0`. `shared`: those of one name are
    equal, `input N`.
    """
    run = Inference(model, infer_block)
    defaults = {constant.value: constant_fact(constant) for constant in model.main.constants}
    params = [_fed(param, defaults.get(param), shared) for param in model.main.params]
    infer_block(run, model.main, params, Scope("main", "main", believes=False))
    return run.facts


def _fed(param: Value, default: Fact | None, shared: bool) -> Fact:
    type_ = _input(param, default).type

    def extent(axis: int, dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        if not isinstance(type_, Tensor):
            return None
        is_named = shared and isinstance(dim, Symbol)
        return Symbol(f"input {dim}" if is_named else f"input {param.name}.{axis}")

    def extents(shape: Shape | None) -> Shape | None:
        return None if shape is None else tuple(extent(k, dim) for k, dim in enumerate(shape))

    return Fact(map_shapes(type_, extents))


def _input(param: Value, default: Fact | None) -> Fact:
    """What is known of an input: its declared type; of one with a default, its dtype too."""
    said = None if default is None else without_shapes(default.type)
    return Fact(meet_types(param.declared, said))
