"""`treadle.surgery`: extracts, merges and renames parts of models, captures included.

Each function takes any source of `treadle.load` and returns a Model. Names and paths are those that
`treadle inspect` shows; a wrong one raises InputError, and an impossible change Unsupported, with
every reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from treadle.arguments import expect
from treadle.boundary import public
from treadle.errors import InputError
from treadle.ir import Model
from treadle.limits import LoadLimits, making
from treadle.passes import surgery
from treadle.sources import valid
from treadle.tracing import Recorder

__all__ = ["extract", "inline", "merge", "outline", "rename", "replace"]

Values = Mapping[str, object]


@overload
def extract(
    source: object,
    path: str,
    *,
    recorder: Recorder,
    iteration: Sequence[int] = ...,
    limits: LoadLimits | None = None,
) -> tuple[Model, Values, Values]: ...
@overload
def extract(
    source: object,
    path: str | None = None,
    *,
    inputs: Iterable[str] = ...,
    outputs: Iterable[str] = ...,
    limits: LoadLimits | None = None,
) -> Model: ...
@public
def extract(
    source: object,
    path: str | None = None,
    *,
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    recorder: Recorder | None = None,
    iteration: Sequence[int] = (0,),
    limits: LoadLimits | None = None,
) -> Model | tuple[Model, Values, Values]:
    """Extract a part of a model as a model of its own.

        surgery.extract(model, "main/loop_3.body")                 a body: one iteration
        surgery.extract(model, inputs=["a"], outputs=["b", "c"])   the steps from a to b and c

    A body's parameters become inputs, and so do the values it captures. With a `recorder` of a run
    of the model, the inputs and outputs of one iteration are returned too, by name: `iteration` has
    the number of every loop around the body, outermost first.

    Outputs are values of one block, inputs of that block or of blocks around it; `path/name`
    selects one of several values of the same name. Raises Unsupported if an output depends on an
    input of the model, or on another iteration, without passing through `inputs`.
    """
    with making(limits):
        model = valid(source, "cut apart")
        if path is None:
            names = _names(inputs, "inputs"), _names(outputs, "outputs")
            if not names[1]:
                raise InputError("give the path of a body, or the names of outputs")
            return surgery.cut(model, *names)
        expect(path, str, "path", "the path of a body")
        part = surgery.extract_body(model, path)
    if recorder is None:
        return part
    return part, *_recorded(part, path, recorder, tuple(iteration), model)


def _names(names: Any, what: str) -> tuple[str, ...]:
    expect(names, Iterable, what, "a list of names")
    found = (names,) if isinstance(names, str) else tuple(names)
    for name in found:
        expect(name, str, f"an entry of {what}", "a name")
    return found


def _recorded(
    part: Model, path: str, recorder: Recorder, iteration: tuple[int, ...], model: Model
) -> tuple[Values, Values]:
    expect(recorder, Recorder, "recorder", "a treadle.Recorder that heard a run")
    known = surgery.block_paths(model)
    block = known[path][1]
    places = [where for where, (_, body) in known.items() if body is block]
    heard = {name: found for (where, name), found in recorder.values.items() if where in places}

    def value(name: str) -> object:
        if iteration not in heard.get(name, {}):
            where = f"iteration {iteration} of {path}"
            raise InputError(f"the recorder has no value of {name} in {where}")
        return heard[name][iteration]

    names = [v.name for v in block.results if v is not None]
    outputs = dict(zip((v.name for v in part.main.results if v), names, strict=False))
    return (
        {param.name: value(param.name) for param in part.main.params},
        {output: value(name) for output, name in outputs.items()},
    )


@public
def merge(
    first: object, second: object, pairs: Mapping[str, str], *, limits: LoadLimits | None = None
) -> Model:
    """Merge two models: outputs of the first feed inputs of the second, `{"y": "x"}`.

    Other inputs and outputs stay those of the merged model, the first model's before the second's.
    Names inside are made unique; inputs and outputs of the same name are an InputError (`rename`).
    """
    expect(pairs, Mapping, "pairs", "a dict of an input of the second for outputs of the first")
    with making(limits):
        return surgery.merge(valid(first, "merged"), valid(second, "merged"), pairs)


@public
def rename(
    source: object,
    names: Mapping[str, str] | None = None,
    *,
    prefix: str = "",
    limits: LoadLimits | None = None,
) -> Model:
    """Rename values and their uses.

        surgery.rename(model, {"x": "tokens", "layer_*": "encoder/*"}, prefix="a/")

    A `*` stands for any text, the same in the new name. `prefix` is added to all other names, those
    of nodes too. Raises InputError if two values of one scope would get the same name.
    """
    expect(names or {}, Mapping, "names", "a dict of new names for old ones")
    expect(prefix, str, "prefix", "a text")
    for each in (*(names or {}), *(names or {}).values()):
        expect(each, str, "a name", "a text")
    with making(limits):
        return surgery.rename(valid(source, "renamed"), names or {}, prefix)


@public
def inline(
    source: object, functions: str | Iterable[str] = "*", *, limits: LoadLimits | None = None
) -> Model:
    """Replace calls of functions by their steps.

    `functions` are globs over `domain::name`.
    """
    with making(limits):
        return surgery.inline(valid(source, "inlined"), _names(functions, "functions"))


@public
def outline(source: object, path: str, name: str, *, limits: LoadLimits | None = None) -> Model:
    """Move the body at a path into a new function, and call it.

    `name` is that of the function, `domain::name`; the domain is `local` by default.
    """
    expect(path, str, "path", "the path of a body")
    expect(name, str, "name", "the name of a function")
    with making(limits):
        return surgery.outline(valid(source, "outlined"), path, name)


@public
def replace(source: object, path: str, part: object, *, limits: LoadLimits | None = None) -> Model:
    """Replace the step or body at a path by another model.

    The inputs of `part` take the step's operands, or the body's parameters, in order (or by name,
    if the names match); its outputs give the results, in order. Raises Unsupported if counts, types
    or opsets do not agree.
    """
    expect(path, str, "path", "the path of a step or of a body")
    with making(limits):
        return surgery.replace_part(valid(source, "changed"), path, valid(part, "put in"))
