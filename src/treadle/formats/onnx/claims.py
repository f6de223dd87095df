"""What a file declares of a value, in and out: ValueInfoProto."""

from __future__ import annotations

from dataclasses import replace

import onnx

from treadle import ops
from treadle.formats.onnx.kept import metadata_of, write_metadata
from treadle.ir import Claim, Value


def read_value(info: onnx.ValueInfoProto) -> Value:
    """The value an entry declares."""
    claim = read_claim(info)
    return Value(info.name, claim.type, doc=claim.doc, metadata=claim.metadata, kept=claim.kept)


def read_claim(info: onnx.ValueInfoProto) -> Claim:
    """What an entry says of a value; what the IR cannot hold is kept verbatim."""
    type_ = ops.type_from_proto(info.type) if info.HasField("type") else None
    claim = Claim(type_, info.doc_string, metadata_of(info))
    if write_claim(info.name, claim) == info:
        return claim
    return replace(claim, kept=info.SerializeToString())


def write_claim(name: str, claim: Claim) -> onnx.ValueInfoProto:
    """The entry of a claim; the reverse of `read_claim`."""
    if claim.kept:
        info = onnx.ValueInfoProto()
        info.ParseFromString(claim.kept)
        info.name = name
        return info
    info = onnx.ValueInfoProto(name=name)
    if claim.type is not None:
        info.type.CopyFrom(ops.type_to_proto(claim.type))
    if claim.doc:
        info.doc_string = claim.doc
    write_metadata(claim.metadata, info)
    return info
