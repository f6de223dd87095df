"""Inference of a whole model: the facts are found block by block, then written on new values."""

from __future__ import annotations

from dataclasses import replace

from treadle.infer.block import infer_block
from treadle.infer.facts import Fact, constant_fact, merge_types, without_shapes
from treadle.infer.functions import typed_functions
from treadle.infer.run import Conflict, Inference, Place
from treadle.ir import Model, Value, renew, typed


def infer(model: Model) -> Model:
    """The model with `inferred` types on every value of its main block, bodies included.

    The declared types of the model's inputs are facts, every other declaration is a claim that only
    counts where nothing else is known. Functions are inferred call by call; their values have the
    type that holds in every call.
    """
    return infer_with_conflicts(model)[0]


def infer_with_conflicts(model: Model) -> tuple[Model, list[Conflict]]:
    """What `infer` gives, and each step whose operands do not fit it."""
    run = Inference(model, infer_block)
    defaults = {constant.value: constant_fact(constant) for constant in model.main.constants}
    params = [_input(param, defaults.get(param)) for param in model.main.params]
    infer_block(run, model.main, params, Place("main", "main"))
    main = renew(model.main, lambda value: typed(value, run.of(value).type))
    return replace(model, main=main, functions=typed_functions(run)), list(run.conflicts.values())


def _input(param: Value, default: Fact | None) -> Fact:
    """What is known of an input: its declared type; of one with a default, its dtype too."""
    said = None if default is None else without_shapes(default.type)
    return Fact(merge_types(param.declared, said))
