"""Reads and writes declarations of values: ValueInfoProto."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import onnx

from treadle import ops
from treadle.errors import LoadError
from treadle.formats.onnx.unknown_fields import metadata_of, write_metadata
from treadle.ir import Declaration, Optional, Sequence, Shape, Tensor, Type, Value


def read_value(info: onnx.ValueInfoProto) -> Value:
    """The value an entry declares."""
    claim = read_claim(info)
    return Value(info.name, claim.type, doc=claim.doc, metadata=claim.metadata, kept=claim.kept)


def read_claim(info: onnx.ValueInfoProto) -> Declaration:
    """The declaration in an entry; parts that the IR cannot express are kept verbatim."""
    try:
        type_ = ops.type_from_proto(info.type) if info.HasField("type") else None
    except LoadError as problem:
        raise LoadError(f'the declaration of "{info.name}": {problem}') from None
    metadata = metadata_of(info)
    claim = Declaration(type_, info.doc_string, metadata)
    if write_claim(info.name, claim) == info:
        return claim
    return Declaration(type_, info.doc_string, metadata, info.SerializeToString())


@lru_cache(1024)
def _written_type(type_: Type) -> onnx.TypeProto:
    """The TypeProto of a type, to be copied: most values of a model share a few types."""
    return ops.type_to_proto(type_)


def write_claim(name: str, claim: Declaration) -> onnx.ValueInfoProto:
    """The entry for a declaration; the inverse of `read_claim`."""
    if claim.kept:
        info = onnx.ValueInfoProto()
        info.ParseFromString(claim.kept)
        info.name = name
        if ops.type_from_proto(info.type) != claim.type and claim.type is not None:
            info.type.CopyFrom(_written_type(claim.type))
        return info
    info = onnx.ValueInfoProto(name=name)
    if claim.type is not None:
        info.type.CopyFrom(_written_type(claim.type))
    if claim.doc:
        info.doc_string = claim.doc
    write_metadata(claim.metadata, info)
    return info


def refined(claim: Declaration, inferred: Type | None, *, in_body: bool) -> Declaration:
    """The declaration with the inferred type instead of the file's; unchanged if there is none.

    In a body the file's extents are dropped if inference knows none: they may be those of the first
    iteration. In the main graph symbols stay, since callers know them.
    """
    if inferred is None:
        return claim
    if claim.type is None:
        return replace(claim, type=inferred)
    return replace(claim, type=_met(claim.type, inferred, in_body))


def _met(said: Type, found: Type, in_body: bool) -> Type:
    match said, found:
        case (Tensor(a, old), Tensor(b, new)):
            return Tensor(b or a, _met_shapes(old, new, in_body))
        case (Sequence(one), Sequence(two)) if one is not None and two is not None:
            return Sequence(_met(one, two, in_body))
        case (Optional(one), Optional(two)) if one is not None and two is not None:
            return Optional(_met(one, two, in_body))
    return found if type(said) is type(found) or in_body else said


def _met_shapes(old: Shape | None, new: Shape | None, in_body: bool) -> Shape | None:
    if old is None or new is None:
        return new if old is None else (None,) * len(old) if in_body else old
    if in_body or len(old) != len(new):
        return new
    return tuple(b if isinstance(b, int) or a is None else a for a, b in zip(old, new, strict=True))
