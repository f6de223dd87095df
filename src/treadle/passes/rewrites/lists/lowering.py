"""Replaces every list and optional of a model by tensors (`Parts`), in bodies at any depth.

    loop(l): l' = SequenceInsert(l, e)      loop(content, lengths): Concat(...), Concat(...)

What carries a list carries its tensors; an If gives the tensors of the list that it gives. Declines
lists whose elements have unlike or unknown ranks, and those at the border of the model, unless
`stacked_border` allows NAME, NAME@lengths and NAME@present in place of an input or output NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from treadle.infer import infer
from treadle.ir import (
    Block,
    Branch,
    Carried,
    Condition,
    Declaration,
    DType,
    Iteration,
    Leaf,
    Loop,
    Model,
    Role,
    Step,
    Tensor,
    Value,
    reads,
    verified,
    walk,
)
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Report
from treadle.passes.rewrites.finished import without_functions
from treadle.passes.rewrites.lists import operators
from treadle.passes.rewrites.lists.forms import (
    OPERATORS,
    Form,
    Forms,
    Parts,
    element_of,
    is_list,
)
from treadle.passes.rewrites.lists.splitting import split
from treadle.passes.rewrites.open_form import closed
from treadle.passes.rewrites.paths import mark, marked_path
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.names import with_own_names
from treadle.passes.simplify.operators import attribute, operand

_BORDER = 'give its elements as a tensor, as convert_version does with outputs="stacked"'


def has_lists(model: Model) -> bool:
    """Whether a step of the model reads or gives a list or an optional."""
    return any(map(_touches_list, (visit.step for visit in walk(infer(model)))))


@verified
def lists_to_tensors(
    model: Model, obstacles: Obstacles, stacked_border: bool = False
) -> tuple[Model, Report]:
    """Replace every list and optional by tensors.

    What is in the way joins the obstacles, and the model stays as it is.
    """
    if not has_lists(model):
        return model, Report()
    told = Obstacles(obstacles.name)
    plain = without_functions(infer(model), told, _touches_list)
    marked = replace(plain, main=mark(infer(plain).main))
    at = PassContext.of(marked)
    block = to_implicit_captures(marked.main)
    forms = Forms.of(block, at, told)
    _look_at_border(block, forms, told, stacked_border)
    if told.found:
        obstacles.found += told.found
        return model, Report()
    lowering = _Lowering(at, forms, told.name)
    main = closure_convert(with_own_names(lowering.main(block)))
    return closed(marked, main, at.done)


def _touches_list(step: Step) -> bool:
    return any(value is not None and is_list(value.type) for value in (*reads(step), *step.results))


def _look_at_border(block: Block, forms: Forms, told: Obstacles, stacked_border: bool) -> None:
    if stacked_border:
        return
    for value in filter(forms.has, (*block.params, *block.results)):
        what = f"{value.name} is a list or an optional at the border of the model"
        told.add("main", what, _BORDER)


class _Lowering:
    """Rewrites the blocks of a model; `parts` has the tensors of each list so far."""

    def __init__(self, at: PassContext, forms: Forms, name: str) -> None:
        self._at, self._forms, self._name = at, forms, name
        self._parts: dict[Value, Parts] = {}

    def main(self, block: Block) -> Block:
        """The main block; inputs and outputs that were lists are tensors."""
        writer = Writer(self._at)
        params = [each for param in block.params for each in self._param(param)]
        made = self._steps(replace(block, params=tuple(params)), writer)
        claims = block.claims or (Declaration(),) * len(block.results)
        results: list[tuple[Value | None, Declaration]] = []
        for value, claim in zip(block.results, claims, strict=True):
            if not self._forms.has(value):
                results.append((value, claim))
                continue
            named = self._border(writer, value)
            results += [(each, Declaration(each.declared)) for each in named]
        return replace(
            writer.into(made),
            steps=tuple(writer.steps),
            results=tuple(value for value, _ in results),
            claims=tuple(claim for _, claim in results),
        )

    def _param(self, param: Value) -> tuple[Value, ...]:
        """The inputs that stand for one: for a list its content, lengths and presence."""
        if not self._forms.has(param):
            return (param,)
        form = self._forms.form(param)
        named = _at_border(form, param.name)
        if not form.is_list:
            content = Value(param.name, element_of(self._at.type(param)))
            named = named._replace(content=content)
        self._parts[param] = named if form.is_ragged else named._replace(lengths=None)
        return named.values

    def _border(self, writer: Writer, value: Value) -> tuple[Value, ...]:
        """The outputs that stand for a list: its content, lengths and presence."""
        form, parts = self._forms.form(value), self._parts[value]
        if form.is_list and parts.lengths is None:
            lengths = writer.number(form.dims, DType.INT64)
            count = writer.slice(writer.leaf("Shape", parts.content), 0, 1, 0)
            shape = writer.leaf("Concat", count, writer.ints(len(form.dims)), axis=0)
            parts = parts._replace(lengths=writer.leaf("Expand", lengths, shape))
        outputs = _at_border(form, value.name)
        for part, output in zip(parts.values, outputs.values, strict=True):
            writer.leaf("Identity", part, result=output)
        return outputs.values

    def _steps(self, block: Block, writer: Writer) -> Block:
        for step in block.steps:
            match step:
                case Loop():
                    writer.steps.append(self._loop(step))
                case Branch():
                    writer.steps.append(self._branch(step))
                case Leaf(domain="", op=op) if op in OPERATORS and self._reads_list(step):
                    self._leaf(writer, step)
                case _:
                    writer.steps.append(step)
        return block

    def _reads_list(self, step: Leaf) -> bool:
        own = step.op not in ("Identity", "OptionalGetElement")
        return own or any(map(self._forms.has, (*step.operands, *step.results)))

    def _leaf(self, writer: Writer, step: Leaf) -> None:
        result = step.results[0] if step.results else None
        if result is None:
            return
        made = _OPERATORS[step.op](self, writer, step, result)
        if made is not None:
            self._parts[result] = made
        self._at.note(self._name, marked_path(step), f"{step.op} became operators on tensors")

    def form(self, value: Value) -> Form:
        """The form of a list or optional."""
        return self._forms.form(value)

    def gives_list(self, value: Value) -> bool:
        """Whether the value is a list or an optional."""
        return self._forms.has(value)

    def parts(self, value: Value | None) -> Parts:
        """The tensors of a list; those of a tensor are itself."""
        assert value is not None, "an absent operand is looked at before"
        return self._parts.get(value) or Parts(value)

    def _loop(self, loop: Loop) -> Loop:
        operands = iter(loop.operands)
        roles: list[Role] = []
        params: list[Value] = []
        given: list[Value | None] = []
        for role, param in zip(loop.roles, loop.body.params, strict=True):
            read = None if isinstance(role, Iteration | Condition) else next(operands)
            new: tuple[Value, ...] = (param,)
            values: tuple[Value | None, ...] = (read,)
            if isinstance(role, Carried) and self._forms.has(param):
                self._parts[param] = self.form(param).new(param.name)
                new, values = self._parts[param].values, self.parts(read).values
            roles += [role] * len(new)
            params += new
            given += () if isinstance(role, Iteration | Condition) else values
        body = self._body(replace(loop.body, params=tuple(params)))
        results = self._results(loop.results, loop.body.results[1:])
        return replace(loop, roles=tuple(roles), operands=tuple(given), body=body, results=results)

    def _branch(self, branch: Branch) -> Branch:
        results = self._results(branch.results, branch.then.results)
        then, otherwise = self._body(branch.then), self._body(branch.otherwise)
        return replace(branch, then=then, otherwise=otherwise, results=results)

    def _body(self, block: Block) -> Block:
        writer = Writer(self._at)
        self._steps(block, writer)
        claims = block.claims or (Declaration(),) * len(block.results)
        told: list[Declaration] = []
        results: list[Value | None] = []
        for value, claim in zip(block.results, claims, strict=True):
            if self._forms.has(value):
                results += self.parts(value).values
                told += [Declaration(v.declared) for v in self.form(value).new("").values]
            else:
                results.append(value)
                told.append(claim)
        return replace(
            writer.into(block),
            steps=tuple(writer.steps),
            results=tuple(results),
            claims=tuple(told),
        )

    def _results(
        self, values: Sequence[Value | None], inner: Sequence[Value | None]
    ) -> tuple[Value | None, ...]:
        """The results of a loop or branch whose blocks give `inner`, each list as its tensors."""
        made: list[Value | None] = []
        for value, given in zip(values, inner, strict=True):
            if not self._forms.has(given):
                made.append(value)
                continue
            parts = self.form(given).new(given.name if value is None else value.name)
            made += parts.values if value is not None else [None] * len(parts.values)
            if value is not None:
                self._parts[value] = parts
        return tuple(made)


def _at_border(form: Form, name: str) -> Parts:
    """New values for an input or output of this name; a list always has lengths."""
    rows = Tensor(DType.INT64, (None, len(form.dims)))
    lengths = Value(f"{name}@lengths", rows) if form.is_list else None
    return form.new(name)._replace(lengths=lengths)


Lower = Callable[[_Lowering, Writer, Leaf, Value], Parts | None]
"""Writes the tensors of the list that a leaf gives; None where it gives a tensor."""


def _empty(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    return operators.empty(writer, lists.form(result))


def _construct(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    elements = tuple(value for value in step.operands if value is not None)
    return operators.construct(writer, lists.form(result), elements)


def _insert(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    element = step.operands[1]
    assert element is not None, "SequenceInsert has an element"
    parts, position = lists.parts(step.operands[0]), operand(step, 2)
    return operators.insert(writer, lists.form(result), parts, element, position)


def _erase(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    return operators.erase(writer, lists.parts(step.operands[0]), operand(step, 1))


def _split(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    return split(writer, lists.form(result), step)


def _at(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> None:
    source, position = step.operands
    assert source is not None, "SequenceAt has a list"
    assert position is not None, "SequenceAt has a position"
    form = lists.form(source)
    operators.item(writer, form, lists.parts(source), position, result)


def _length(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> None:
    count = operators.length(writer, lists.parts(step.operands[0]))
    writer.leaf("Identity", count, result=result)


def _joined(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> None:
    source = step.operands[0]
    assert source is not None, "ConcatFromSequence has a list"
    axis, new_axis = attribute(step, "axis", 0), bool(attribute(step, "new_axis", 0))
    assert isinstance(axis, int), "a required attribute"
    operators.concatenated(writer, lists.form(source), lists.parts(source), axis, new_axis, result)


def _identity(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    return lists.parts(step.operands[0])


def _optional(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts:
    source = operand(step, 0)
    if source is None:
        return operators.empty(writer, lists.form(result))
    return operators.present(writer, lists.parts(source))


def _has_element(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> None:
    source = operand(step, 0)
    there = None if source is None else lists.parts(source).present
    if there is not None:
        writer.leaf("Identity", there, result=result)
    else:
        writer.constant(np.array(source is not None), value=result)


def _get_element(lists: _Lowering, writer: Writer, step: Leaf, result: Value) -> Parts | None:
    made = operators.taken(writer, lists.parts(step.operands[0]))
    if lists.gives_list(result):
        return made
    writer.leaf("Identity", made.content, result=result)
    return None


_OPERATORS: Mapping[str, Lower] = {
    "SequenceEmpty": _empty,
    "SequenceConstruct": _construct,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SplitToSequence": _split,
    "SequenceAt": _at,
    "SequenceLength": _length,
    "ConcatFromSequence": _joined,
    "Identity": _identity,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
