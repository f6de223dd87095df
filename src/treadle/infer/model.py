"""Infers a whole model block by block, and writes the facts on copies of the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.infer.block import infer_block
from treadle.infer.context import Conflict, Inference, Scope
from treadle.infer.facts import Fact, constant_fact, map_shapes, meet_types, without_shapes
from treadle.infer.functions import typed_functions
from treadle.ir import (
    Block,
    Dim,
    Model,
    Optional,
    Shape,
    Symbol,
    Tensor,
    Type,
    Value,
    clone_with_new_values,
    dim_symbols,
    typed,
    verified,
)
from treadle.ir import Sequence as SequenceType

_FED = "input "
"""The beginning of the names that `certain_facts` gives to the extents of inputs."""


@verified
def infer(model: Model) -> Model:
    """Return the model with `inferred` types on every value of its main block and bodies.

    The declared types of the model's inputs are taken as facts; other declarations are used only
    where inference knows nothing. Functions are inferred call by call; their values get the type
    that holds in every call.
    """
    return infer_with_conflicts(model)[0]


@verified
def infer_with_conflicts(model: Model) -> tuple[Model, list[Conflict]]:
    """Return the result of `infer`, and each step whose operands do not fit its operator."""
    run = infer_main(model)
    main = clone_with_new_values(model.main, lambda value: typed(value, run.of(value).type))
    return replace(model, main=main, functions=typed_functions(run)), list(run.conflicts.values())


def infer_main(model: Model) -> Inference:
    """The facts of the main block, keyed by the values of the given model."""
    run = Inference(model, infer_block)
    defaults = {constant.value: constant_fact(constant) for constant in model.main.constants}
    params = [_input(param, defaults.get(param)) for param in model.main.params]
    infer_block(run, model.main, params, Scope("main", "main"))
    return run


def certain_facts(model: Model, *, shared: bool = False) -> Mapping[Value, Fact]:
    """Facts of main and its bodies that hold in every run; declarations are ignored.

    Callers may feed different extents for one declared name, so each extent of an input gets its
    own symbol: axis 0 of x is `input x.0`. With `shared`, equal names mean equal extents: `input
    N`.
    """
    run = Inference(model, infer_block)
    defaults = {constant.value: constant_fact(constant) for constant in model.main.constants}
    params = [_fed(param, defaults.get(param), shared) for param in model.main.params]
    infer_block(run, model.main, params, Scope("main", "main", believes=False))
    return run.facts


def is_same_in_a_run(extent: Dim) -> bool:
    """Whether an extent in `certain_facts` is a number, or one made of the inputs' extents."""
    names = dim_symbols(extent)
    return isinstance(extent, int) or (bool(names) and all(name.startswith(_FED) for name in names))


def block_facts(model: Model, block: Block, types: Sequence[Type | None]) -> Mapping[Value, Fact]:
    """Facts of a block of the model whose params have these types; declarations are ignored."""
    run = Inference(model, infer_block)
    infer_block(run, block, [Fact(each) for each in types], Scope("main", "main", believes=False))
    return run.facts


def _fed(param: Value, default: Fact | None, shared: bool) -> Fact:
    type_ = _of_any_elements(_input(param, default).type)

    def extent(axis: int, dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        if not isinstance(type_, Tensor):
            return None
        is_named = shared and isinstance(dim, Symbol)
        return Symbol(f"{_FED}{dim}" if is_named else f"{_FED}{param.name}.{axis}")

    def extents(shape: Shape | None) -> Shape | None:
        return None if shape is None else tuple(extent(k, dim) for k, dim in enumerate(shape))

    return Fact(map_shapes(type_, extents))


def _input(param: Value, default: Fact | None) -> Fact:
    """The fact of an input: its declared type.

    An input with a default also takes the default's dtype.
    """
    said = None if default is None else without_shapes(default.type)
    return Fact(meet_types(param.declared, said))


def _of_any_elements(type_: Type | None) -> Type | None:
    """The type, with lists of elements of any extents: files declare those of the first one."""
    match type_:
        case SequenceType():
            return map_shapes(type_, lambda shape: None if shape is None else (None,) * len(shape))
        case Optional():
            return replace(type_, element=_of_any_elements(type_.element))
    return type_
