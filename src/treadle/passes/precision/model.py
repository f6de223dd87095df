"""Converts the floats of a model to another element type: `convert_dtype`.

    Add(float32)   ->   Add(float16)      Cast at the inputs and outputs, which keep their types

All values of the old element type are converted: carried, captured, sliced and stacked values,
constants, elements of sequences. Operators without a form for the new type, and kept values, stay
in the old type between Casts. Where the new type is narrower, so do the values that decide the end
of a loop without a trip count. Functions are inlined. Declines if a sequence or an optional would
have to be cast.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from treadle.infer import IncrementalInference
from treadle.ir import Constant, DType, Model, Value, verified, with_operands, with_results
from treadle.passes.expand_functions import Expand
from treadle.passes.inline_functions import inline_functions
from treadle.passes.precision.blocks import NAME, Precision, Writing, fill, still_true
from treadle.passes.precision.ending import deciding
from treadle.passes.report import Change, Report
from treadle.passes.uniquify_names import uniquify_names
from treadle.passes.versions import Names, all_names, with_unique_node_names, without_calls

_NARROW = (DType.FLOAT16, DType.BFLOAT16)


def plain_model(model: Model, expand: Expand) -> Model:
    """The model without functions, in which one value could belong to several calls."""
    if not model.functions:
        return without_calls(model, expand)
    return without_calls(uniquify_names(inline_functions(model)), expand)


@verified
def convert_dtype(
    model: Model,
    old: DType,
    new: DType,
    kept: Collection[Value] = (),
    kept_paths: Collection[str] = (),
) -> tuple[Model, Report]:
    """Convert the floats of type `old` to `new`, except for kept values; inlines functions.

    Raises Unsupported with every obstacle.
    """
    run = Precision(
        old, new, model.opsets.get("", 1), IncrementalInference.of_model(model),
        IncrementalInference(), Names(all_names(model)), frozenset(kept), frozenset(kept_paths),
    )  # fmt: skip
    if new in _NARROW:
        run = _with_ends(run, model)
    main, writing = model.main, Writing(run, "main")
    for param in main.params:
        writing.wide[param] = param
        run.after.know(param, run.before.fact(param).type)
    fill(writing, main)
    results = tuple(writing.form(value, wide=True) for value in main.results)
    run.obstacles.refuse()
    block = replace(
        main,
        constants=(*_defaults(model), *writing.constants),
        steps=tuple(writing.steps),
        results=results,
        kept=still_true(writing, main),
    )
    made = replace(model, main=block)
    casts = len(writing.narrow.keys() & writing.wide.keys())
    done = Change(NAME, "main", f"{old} became {new}, {casts} values of main are cast")
    return with_unique_node_names(_named(made, model)), Report((done, *run.done))


def _with_ends(run: Precision, model: Model) -> Precision:
    """The conversion that keeps what decides the end of loops that nothing else bounds."""
    kept, paths = run.kept, run.kept_paths
    for each in deciding(model.main, run.before):
        floats = frozenset(filter(run.is_float, each.values))
        if floats - kept:
            run.done.append(Change(NAME, each.path, f"what decides its end stays {run.old}"))
        kept |= floats
        paths |= each.paths if floats else frozenset()
    return replace(run, kept=kept, kept_paths=paths)


def _defaults(model: Model) -> list[Constant]:
    params = set(model.main.params)
    return [each for each in model.main.constants if each.value in params]


def _named(made: Model, model: Model) -> Model:
    """Restore the names of the outputs; values that have these names are renamed."""
    names = Names(all_names(made))
    by: dict[Value, Value | None] = {}
    for result, old in zip(made.main.results, model.main.results, strict=True):
        if result is None or old is None or result.name == old.name or result in by:
            continue
        by[result] = replace(result, name=old.name)
    taken = {value.name for value in by.values() if value is not None}
    wanted = set(by)
    for step in made.main.steps:
        for value in step.results:
            if value is not None and value.name in taken and value not in wanted:
                by[value] = replace(value, name=names.fresh(f"{value.name}/inner"))
    if not by:
        return made
    block = made.main
    steps = tuple(with_results(with_operands(step, by), by) for step in block.steps)
    results = tuple(by.get(value, value) if value is not None else None for value in block.results)
    constants = tuple(
        replace(c, value=by[c.value] or c.value) if c.value in by else c for c in block.constants
    )
    return replace(made, main=replace(block, steps=steps, results=results, constants=constants))
