"""A model of the IR as the bytes onnxruntime loads."""

from __future__ import annotations

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto
from onnx import helper as h

from treadle.ir import (
    Attribute, Block, Branch, Carried, Constant, Invariant, Leaf, Literal, Loop, Model, Sequence,
    Optional, Stacked, Tensor, Type, Value, ports,
)

_E = {d: i for i, d in enumerate(
    "_ float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64"
    " complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2".split())}


def encode(model: Model) -> bytes:
    g = _graph(model.main, "main")
    m = h.make_model(g, opset_imports=[h.make_opsetid(d, v) for d, v in model.opsets.items()], ir_version=model.ir_version)
    return m.SerializeToString()


def _type(t: Type | None):
    if isinstance(t, Tensor):
        shape = None if t.shape is None else [d if isinstance(d, int) else None for d in t.shape]
        return h.make_tensor_type_proto(_E[t.dtype.value] if t.dtype else 0, shape)
    if isinstance(t, Sequence):
        return h.make_sequence_type_proto(_type(t.element))
    if isinstance(t, Optional):
        return h.make_optional_type_proto(_type(t.element))
    return None


def _info(v: Value) -> ValueInfoProto:
    i = ValueInfoProto(); i.name = v.name
    t = _type(v.type)
    if t is not None:
        i.type.CopyFrom(t)
    return i


def _tensor(l: Literal, name: str) -> TensorProto:
    if l.external:
        t = TensorProto(); t.name = name; t.data_type = _E[l.dtype.value]; t.dims.extend(l.array.shape)
        t.data_location = TensorProto.EXTERNAL
        for k, v in (("location", l.external.location), ("offset", str(l.external.offset)), ("length", str(l.external.length))):
            e = t.external_data.add(); e.key = k; e.value = v
        return t
    return onnx.numpy_helper.from_array(l.array, name)


def _graph(b: Block, name: str, skip=frozenset()) -> GraphProto:
    g = GraphProto(); g.name = b.name or name
    g.input.extend(_info(p) for p in b.params if p not in skip)
    g.output.extend(_info(r) for r in b.results)
    g.initializer.extend(_tensor(c.data, c.value.name) for c in b.constants)
    for s in b.steps:
        g.node.append(_node(s))
    return g


def _n(vs): return [v.name if v else "" for v in vs]


def _node(s) -> NodeProto:
    if isinstance(s, Leaf):
        n = h.make_node(s.op, _n(s.operands), _n(s.results), domain=s.domain, name=s.info.name)
        for a in s.attributes.values():
            n.attribute.append(_attribute(a))
        return n
    if isinstance(s, Branch):
        n = h.make_node("If", [s.condition.name], _n(s.results), name=s.info.name)
        n.attribute.append(h.make_attribute("then_branch", _graph(s.then, "then", set(s.then.params))))
        n.attribute.append(h.make_attribute("else_branch", _graph(s.otherwise, "else", set(s.otherwise.params))))
        return n
    p = ports(s)
    inv = {q.param for q in p.invariants}
    if s.info.op == "Scan":
        n = h.make_node("Scan", _n([c.initial for c in p.carried] + [q.operand for q in p.sliced]), _n(s.results), name=s.info.name,
            num_scan_inputs=len(p.sliced), scan_input_axes=[q.role.axis for q in p.sliced], scan_input_directions=[int(q.role.reverse) for q in p.sliced])
        if p.stacked:
            n.attribute.append(h.make_attribute("scan_output_axes", [q.role.axis for q in p.stacked]))
            n.attribute.append(h.make_attribute("scan_output_directions", [int(q.role.reverse) for q in p.stacked]))
        b = s.body
        from dataclasses import replace
        b = replace(b, params=tuple([c.param for c in p.carried] + [q.param for q in p.sliced]), results=b.results[1:])
        n.attribute.append(h.make_attribute("body", _graph(b, "body")))
        return n
    n = h.make_node("Loop", _n([s.trip, s.condition] + [c.initial for c in p.carried]), _n(s.results), name=s.info.name)
    from dataclasses import replace
    b = replace(s.body, params=tuple([p.iteration, p.condition] + [c.param for c in p.carried]))
    n.attribute.append(h.make_attribute("body", _graph(b, "body")))
    return n


def _attribute(a: Attribute) -> AttributeProto:
    from treadle.ir import Kind
    if a.kind is Kind.TENSOR:
        return h.make_attribute(a.name, onnx.numpy_helper.from_array(a.value.array, a.value.name))
    r = AttributeProto(); r.name = a.name; r.type = AttributeProto.AttributeType.Value(a.kind.name)
    if a.kind is Kind.FLOAT: r.f = a.value
    elif a.kind is Kind.INT: r.i = a.value
    elif a.kind is Kind.STRING: r.s = a.value
    elif a.kind is Kind.FLOATS: r.floats.extend(a.value)
    elif a.kind is Kind.INTS: r.ints.extend(a.value)
    elif a.kind is Kind.STRINGS: r.strings.extend(a.value)
    elif a.kind is Kind.TYPE: r.tp.CopyFrom(_type(a.value))
    else: raise AssertionError(a.kind)
    return r
