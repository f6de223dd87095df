"""Exports a region as a model that onnxruntime loads and runs correctly.

Names become unique over all scopes (onnxruntime rejects shadowing), declarations in bodies are
dropped, and loops and branches take forms that avoid its known defects: `loop.py` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from treadle.checks import extent_refusal
from treadle.delegate.exact import in_exact_words
from treadle.delegate.export_scope import ExportModel, ExportScope, trusted, without_shapes
from treadle.delegate.extents import with_extents_checked
from treadle.delegate.loop import (
    as_scalar,
    has_stable_shape,
    is_returned_parameter,
    not_empty,
    same_shape,
)
from treadle.delegate.opset_selection import TargetVersions
from treadle.delegate.ranks import omission_refusal, rank_refusal, with_ranks_checked
from treadle.delegate.workarounds.byte_products import with_unsigned_bytes
from treadle.delegate.workarounds.clip import with_both_bounds
from treadle.delegate.workarounds.concat import with_fitting_parts
from treadle.delegate.workarounds.constant_contents import note_constant, note_fixed
from treadle.delegate.workarounds.negative_extents import negative_extents_refusal
from treadle.delegate.workarounds.non_finite import with_finite_operands
from treadle.delegate.workarounds.reductions import counted_from_start
from treadle.delegate.workarounds.resize import aligns_by_scales, whole_lengths
from treadle.delegate.workarounds.sizes import with_sizes_checked
from treadle.delegate.workarounds.unfit_operands import with_fitting_operands
from treadle.delegate.zero_trip import write_stacked_shapes
from treadle.errors import Unsupported
from treadle.formats.onnx import inline_step
from treadle.infer import COUNTS, range_of_result
from treadle.ir import (
    Block,
    Branch,
    Carried,
    Condition,
    Info,
    Invariant,
    Iteration,
    Leaf,
    Loop,
    Model,
    Operands,
    Ports,
    Sliced,
    SlicedPort,
    Stacked,
    Step,
    Tensor,
    Type,
    Value,
    bodies,
    declared_rank,
    ports,
    slices_inputs,
    step_path,
    tensor,
    without_omitted_end,
)
from treadle.plan import Region


def _names_in_graphs(steps: Sequence[Step]) -> Iterator[str]:
    """The names that operators' own graphs define, which are written as they are."""
    for step in steps:
        for _, body in bodies(step):
            if isinstance(step, Leaf):
                yield from (constant.value.name for constant in body.constants)
                yield from (v.name for inner in body.steps for v in inner.results if v is not None)
            yield from _names_in_graphs(body.steps)


def export_region(
    region: Region, model: Model, stamp: TargetVersions, *, is_judged: bool = False
) -> tuple[Model, ExportModel]:
    """Export the region: its inputs are the graph inputs, its outputs the graph outputs.

    `is_judged`: `capability_of` accepted its steps, and none has been rewritten since. Returns the
    model, and the large constants, which are passed in memory.
    """
    names = dict.fromkeys(_names_in_graphs(region.steps), 0)
    shared = ExportModel(stamp.opset, names, is_judged=is_judged)
    types = [value.inferred for value in region.inputs]
    shared.inputs = tuple(each.shape for each in types if isinstance(each, Tensor))
    draft = ExportScope(shared, region.path)
    fed = set(model.main.params)
    for value in region.inputs:
        draft.params.append(draft.renamed(value, _input_type(value, value in fed)))
    for constant in region.constants:
        draft.keep(constant)
    _write(draft, region.steps)
    results = [draft.read(value) for value in region.outputs]
    main = draft.build(results, region.path, _types(region.outputs))
    return Model(main, opsets=stamp.opsets, ir_version=stamp.ir_version), shared


def _input_type(value: Value, is_fed: bool) -> Type | None:
    """The type of a model input, as declared: inputs have been checked against it."""
    if is_fed and isinstance(value.type, Tensor):
        return value.type
    return trusted(value)


def _write(draft: ExportScope, steps: Sequence[Step]) -> None:
    for position, step in enumerate(steps):
        path = step_path(draft.path, step, position)
        match step:
            case Leaf():
                _write_leaf(draft, step, path)
                note_fixed(draft, step)
            case Branch():
                _write_branch(draft, step, path)
                draft.note_fixed(step, [draft.read(step.condition)])
            case Loop():
                _write_loop(draft, step, path)
            case _:
                raise AssertionError(f"{path}: a call reached the export")


def _write_leaf(draft: ExportScope, step: Leaf, path: str) -> None:
    operands = draft.reads(step.operands)
    why = (
        omission_refusal(step, operands)
        or ("" if draft.shared.is_judged else rank_refusal(step) or extent_refusal(step))
        or negative_extents_refusal(draft, step, operands)
    )
    if why:
        raise Unsupported(step.op, step.version, why, path)
    operands = with_ranks_checked(draft, step, operands)
    operands = with_extents_checked(draft, step, operands)
    operands = with_sizes_checked(draft, step, operands)
    operands = with_fitting_operands(draft, step, operands)
    if aligns_by_scales(step):
        operands = whole_lengths(draft, operands)
    operands = with_both_bounds(draft, step, operands)
    operands = with_unsigned_bytes(draft, step, operands)
    step, operands = counted_from_start(draft, step, operands)
    found = range_of_result(step, [*map(draft.range, operands)])
    exact = in_exact_words(draft, step, operands)
    if exact is not None:
        draft.shared.has_exact_forms = True
        draft.shared.ranges[exact.name] = found
        draft.new.update((value, exact) for value in step.results if value is not None)
        return
    original = step
    results: Operands = tuple(draft.renamed(v) if v is not None else None for v in step.results)
    info = Info(name=draft.shared.node(path), domain=step.domain, op=step.op, version=step.version)
    captures = draft.reads(step.captures)
    step = Leaf(
        step.domain,
        step.op,
        step.version,
        without_omitted_end(operands),
        results,
        step.attributes,
        step.blocks,
        captures,
        info,
    )
    draft.steps.append(inline_step(step) if step.blocks else step)
    note_constant(draft, step, results)
    results = with_finite_operands(draft, original, operands, results)
    results = with_fitting_parts(draft, original, operands, results)
    draft.new.update(
        (v, new) for v, new in zip(original.results, results, strict=True) if v is not None
    )
    if results and results[0] is not None:
        draft.shared.ranges[results[0].name] = found


def _write_branch(draft: ExportScope, step: Branch, path: str) -> None:
    condition = draft.read(step.condition)
    assert condition is not None
    captured = draft.reads(step.operands)
    then = _branch_body(draft, step.then, captured, f"{path}.then_branch")
    otherwise = _branch_body(draft, step.otherwise, captured, f"{path}.else_branch")
    results = tuple(draft.renamed(value, _result_type(value)) for value in step.results)
    info = Info(name=draft.shared.node(path), op="If", version=_version(draft, "If"))
    present = tuple(value for value in captured if value is not None)
    draft.steps.append(Branch(condition, then, otherwise, present, results, info))


def _branch_body(draft: ExportScope, block: Block, captured: Operands, path: str) -> Block:
    """Export a branch; captured values and repeated results go through Identity.

    Measured: one value listed twice as results of If gives uninitialised memory.
    """
    body = draft.inner(path)
    for param, outer in zip(block.params, captured, strict=True):
        if outer is None:
            body.new[param] = None
        else:
            body.params.append(_stand_in(body, param, outer))
    _fill(body, block)
    results = _copied(body, block.results, set(body.params))
    return body.build(results, path, _types(block.results))


def _types(values: Sequence[Value | None]) -> list[Type | None]:
    return [None if value is None else value.type for value in values]


def _stand_in(body: ExportScope, param: Value, outer: Value) -> Value:
    """The body's parameter for a captured value, under the outer value's name."""
    made = Value(outer.name, without_shapes(outer.type))
    body.new[param] = made
    return made


def _fill(body: ExportScope, block: Block) -> None:
    params = set(block.params)
    for constant in block.constants:
        if constant.value not in params:
            body.keep(constant)
    _write(body, block.steps)


def _copied(body: ExportScope, results: Sequence[Value | None], copied: set[Value]) -> list[Value]:
    """The body's results, through Identity if they are in `copied` or repeated."""
    given: list[Value] = []
    for result in results:
        value = _result(body, result)
        needs_copy = value in copied or value in given
        given.append(body.leaf("Identity", value) if needs_copy else value)
    return given


def _result(body: ExportScope, result: Value | None) -> Value:
    value = body.read(result)
    if value is None:
        raise Unsupported("Identity", 1, "the body's result is an input left out", body.path)
    return value


def _write_loop(draft: ExportScope, step: Loop, path: str) -> None:
    if slices_inputs(step):
        _write_scan(draft, step, path)
    else:
        _write_onnx_loop(draft, step, path)


def _write_onnx_loop(draft: ExportScope, step: Loop, path: str) -> None:
    # [iteration, condition, *carried, *invariants] -> [condition, *carried, *stacked, *shapes]
    view = ports(step)
    trip = as_scalar(draft, draft.read(step.trip), step.trip)
    condition = as_scalar(draft, draft.read(step.condition), step.condition)
    body = draft.inner(f"{path}.body")
    iteration = body.renamed(view.iteration, tensor("int64", *_shape_of(step, view.iteration)))
    draft.shared.ranges[iteration.name] = COUNTS
    go = body.renamed(view.condition, tensor("bool"))
    carried, captured, outer = _enter(draft, body, view)
    body.params += [iteration, go, *carried, *captured]
    if view.condition is not None and _shape_of(step, view.condition):
        body.new[view.condition] = body.leaf("Reshape", go, body.constant([1]))
    _fill(body, step.body)
    given = _copied_once(body, [c.next for c in view.carried] + [s.element for s in view.stacked],
                         {iteration, *captured})  # fmt: skip
    loose = [
        k for k, s in enumerate(view.stacked) if s.element and not has_stable_shape(step, s.element)
    ]
    shapes = [body.leaf("Shape", given[len(view.carried) + k]) for k in loose]
    following = _next_condition(body, view, go, captured)
    results = _results(draft, step, loose)
    written = replace(
        step,
        trip=trip,
        condition=condition,
        roles=(Iteration(), Condition(), *[Carried()] * len(carried), *[Invariant()] * len(outer)),
        operands=(*draft.reads([c.initial for c in view.carried]), *outer),
        body=body.build(
            [following, *given, *shapes], path, [tensor("bool"), *_types(step.body.results[1:])]
        ),
        stacks=(Stacked(),) * (len(view.stacked) + len(shapes)),
        results=results,
        info=Info(name=draft.shared.node(path), op="Loop", version=_version(draft, "Loop")),
        fixed_state=False,
    )
    draft.steps.append(written)
    count = len(view.carried)
    stacked, rows = results[count : len(step.results)], results[len(step.results) :]
    write_stacked_shapes(draft, step, stacked, dict(zip(loose, rows, strict=True)))


def _shape_of(loop: Loop, param: Value | None) -> tuple[int, ...]:
    """The shape of an iteration number or condition: a scalar, or one element as declared."""
    if param is None:
        return ()
    return (1,) * declared_rank(loop, loop.body.params.index(param))


def _copied_once(
    body: ExportScope, results: Sequence[Value | None], copied: set[Value]
) -> list[Value]:
    """The body's results, through Identity if they are in `copied`; repeated values are allowed."""
    given = []
    for result in results:
        value = _result(body, result)
        given.append(body.leaf("Identity", value) if value in copied else value)
    return given


def _next_condition(
    body: ExportScope, view: Ports, go: Value, captured: Sequence[Value]
) -> Value | None:
    if view.next_condition is None:
        return body.constant(True)
    value = body.read(view.next_condition)
    assert value is not None
    if value in captured:
        value = body.leaf("Identity", value)
    return value if value is go else as_scalar(body, value, view.next_condition)


def _results(draft: ExportScope, step: Loop, loose: Sequence[int]) -> tuple[Value, ...]:
    """The loop's results, and the results that hold the shapes of the `loose` stacked elements."""
    results = [draft.renamed(value, _result_type(value)) for value in step.results]
    return (*results, *(draft.value("shapes", tensor("int64", None, None)) for _ in loose))


def _enter(
    draft: ExportScope, body: ExportScope, view: Ports
) -> tuple[list[Value], list[Value], list[Value]]:
    """New carried parameters, new captured parameters, and the outer values of the latter."""
    carried = [body.renamed(port.param, trusted(port.param)) for port in view.carried]
    captured: dict[Value, Value] = {}
    for port in view.invariants:
        outer = draft.read(port.operand)
        if outer is None:
            body.new[port.param] = None
            continue
        captured[outer] = captured.get(outer) or _stand_in(body, port.param, outer)
        body.new[port.param] = captured[outer]
    return carried, list(captured.values()), list(captured)


def _write_scan(draft: ExportScope, step: Loop, path: str) -> None:
    # [*carried, *slices, *invariants] -> [none, *carried, *stacked]
    view = ports(step)
    body = draft.inner(f"{path}.body")
    carried, captured, outer = _enter(draft, body, view)
    slices = [body.renamed(port.param, trusted(port.param)) for port in view.sliced]
    body.params += [*carried, *slices, *captured]
    _fill(body, step.body)
    attributes = {*body.params, *(constant.value for constant in body.constants)}
    given = _copied(body, step.body.results[1:], attributes)
    slicing: list[Sliced] = [port.role for port in view.sliced]
    written = replace(
        step,
        roles=(*[Carried()] * len(carried), *slicing, *[Invariant()] * len(outer)),
        operands=(
            *draft.reads([c.initial for c in view.carried]),
            *(_source(draft, port) for port in view.sliced),
            *outer,
        ),
        body=body.build([None, *given], path, _types(step.body.results)),
        results=tuple(draft.renamed(value, _result_type(value)) for value in step.results),
        info=Info(name=draft.shared.node(path), op="Scan", version=_version(draft, "Scan")),
        fixed_state=True,
    )
    draft.steps.append(written)
    _check_states(draft, view)


def _source(draft: ExportScope, port: SlicedPort) -> Value | None:
    source = draft.read(port.operand)
    return source and not_empty(draft, port, source)


def _check_states(draft: ExportScope, view: Ports) -> None:
    for port in view.carried:
        final, initial = draft.read(port.result), draft.read(port.initial)
        if port.result is None or final is None or initial is None or is_returned_parameter(port):
            continue
        draft.new[port.result] = same_shape(draft, initial, final)


def _result_type(value: Value | None) -> Type | None:
    return None if value is None else trusted(value)


def _version(draft: ExportScope, op: str) -> int:
    from treadle.delegate.kernels import registry

    return registry().version_at(op, draft.shared.opset)
