"""Concat of arrays of which one is empty: onnxruntime compares no extents of it, but counts them.

Where they differ from those of the others, the result has elements that no kernel wrote: old
memory. By the extents that inference found, the operands fit, or the exported model compares the
number of elements:

    y = Concat(a, b)        y = y if size(y) - size(a) - size(b) == 0 else failure

Extents that are one symbol are equal if the inputs of the region agree about it. That is looked at
where an input is empty: no other call can have the fault.

ConcatFromSequence has the fault too. It is declined unless the extents of the elements are the same
in every run: numbers, or extents of the model's inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from treadle.delegate.export_scope import ExportScope
from treadle.infer import certain_facts, is_same_in_a_run
from treadle.ir import Dim, Leaf, Model, Operands, Optional, Shape, Tensor, Type, Value, show_dim
from treadle.ir import Sequence as SequenceType

__all__ = ["Named", "join_refusal", "named_extents", "while_inputs_agree", "with_fitting_parts"]

Named = Mapping[str, tuple[str, ...]]
"""The extents of inputs as text, by the input's name."""


def with_fitting_parts(
    draft: ExportScope, step: Leaf, operands: Operands, results: Operands
) -> Operands:
    """The results of a Concat, which a run does not reach if its operands do not fit."""
    if step.domain or step.op != "Concat" or len(set(operands)) == 1:
        return results
    shapes = [_shape(value) for value in step.operands]
    if None not in shapes and all(map(_has_elements, shapes)):
        return results
    rest = {_beside(shape, step) for shape in shapes}
    fits = len(rest) == 1 and None not in rest
    if fits:
        numbers = all(isinstance(dim, int) for dim in next(iter(rest)) or ())
        draft.shared.has_symbols |= not numbers
        return results
    return tuple(_checked(draft, operands, value) for value in results)


def join_refusal(step: Leaf, model: Model) -> str:
    """Why a ConcatFromSequence is declined; "" if its elements always fit, and for other steps."""
    source = step.operands[0] if step.op == "ConcatFromSequence" and not step.domain else None
    if source is None:
        return ""
    has_lists = any(isinstance(param.type, SequenceType | Optional) for param in model.main.params)
    if _has_elements(_element(source.inferred)) and not has_lists:
        return ""
    fact = certain_facts(model).get(source)
    if fact is not None and all(map(is_same_in_a_run, _joined(step, fact.type))):
        return ""
    return "onnxruntime joins empty tensors that do not fit"


def _joined(step: Leaf, type_: Type | None) -> Sequence[Dim]:
    """The extents that all elements of a sequence must have in common to be joined.

    One axis alone fits at any length; but elements of a fed list may have more than it declares.
    """
    shape = _element(type_)
    axis, is_new = (step.attributes.get(name) for name in ("axis", "new_axis"))
    if shape is None or axis is None or not isinstance(axis.value, int):
        return (None,)
    if (is_new is not None and is_new.value) or len(shape) == 1:
        return shape
    if not -len(shape) <= axis.value < len(shape):
        return (None,)
    at = axis.value % len(shape)
    return (*shape[:at], *shape[at + 1 :])


def _element(type_: Type | None) -> Shape | None:
    element = type_.element if isinstance(type_, SequenceType) else None
    return element.shape if isinstance(element, Tensor) else None


def _checked(draft: ExportScope, operands: Operands, result: Value | None) -> Value | None:
    """The result through a Reshape to its own shape, which fails if it has further elements.

    Size has no kernel for bfloat16.
    """
    if result is None:
        return None
    shapes = [draft.leaf("Shape", value) for value in (result, *operands)]
    sizes = [draft.leaf("ReduceProd", shape, keepdims=0) for shape in shapes]
    further = reduce(lambda rest, size: draft.leaf("Sub", rest, size), sizes)
    nothing = draft.leaf("Gather", draft.constant([0]), further)
    shape = draft.leaf("Add", shapes[0], nothing)
    return draft.leaf("Reshape", result, shape)


def named_extents(names: Sequence[str], values: Sequence[Value]) -> Named:
    """The inferred extents of inputs, as far as they are numbers or symbols."""
    shapes = ((name, _shape(value)) for name, value in zip(names, values, strict=True))
    return {name: tuple(map(_named, shape)) for name, shape in shapes if shape is not None}


def while_inputs_agree(run: Callable[..., Any], named: Named) -> Callable[..., Any]:
    """The run of a session, which raises ValueError where an empty input has other extents."""

    def checked(outputs: Sequence[str], feed: Mapping[str, Any], options: Any) -> Any:
        if any(getattr(value, "size", 1) == 0 for value in feed.values()):
            _expect_agreement(feed, named)
        return run(outputs, feed, options)

    return checked


def _expect_agreement(feed: Mapping[str, Any], named: Named) -> None:
    found: dict[str, int] = {}
    for name, extents in named.items():
        shape = getattr(feed[name], "shape", None)
        if not isinstance(shape, tuple):
            continue
        for text, extent in zip(extents, shape, strict=False):
            if text and found.setdefault(text, extent) != extent:
                raise ValueError(f"{text} is {found[text]} and {extent}, and an input is empty")


def _shape(value: Value | None) -> Shape | None:
    type_ = None if value is None else value.inferred
    return type_.shape if isinstance(type_, Tensor) else None


def _has_elements(shape: Shape | None) -> bool:
    return all(isinstance(dim, int) and dim > 0 for dim in shape or (0,)) or shape == ()


def _beside(shape: Shape | None, step: Leaf) -> tuple[Dim, ...] | None:
    """The extents of the axes that are not joined; None if one is not known."""
    attribute = step.attributes.get("axis")
    axis = 1 if attribute is None else attribute.value
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return None
    rest = (*shape[: axis % len(shape)], *shape[axis % len(shape) + 1 :])
    return rest if all(map(_named, rest)) else None


def _named(dim: Dim) -> str:
    """The text of an extent that is the same wherever it stands; "" for any other."""
    text = "" if dim is None else show_dim(dim)
    return "" if "?" in text or ".." in text else text
