"""Tiny decoders for onnxruntime's operators that generate tokens, and broken variants of a graph.

The token after `n` is `n + 1`. What a layer keeps of the tokens so far is as long as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import onnx

__all__ = ["DECODER", "WHISPER_DECODER", "WHISPER_ENCODER", "broken"]

_CONSTANTS = """<int64[1] one = {1}, int64[1] zero = {0}, int64[1] two = {2}, int32 step = {1},
    int32 depth = {11}, float[2] hot = {0, 9}>"""

DECODER = onnx.parser.parse_graph(f"""
decoder (int32[b,n] input_ids, int32[b,n] position_ids, int32[b,t] attention_mask,
         float[2,b,1,p,1] past_0)
    => (float[b,n,11] logits, float[2,b,1,t,1] present_0) {_CONSTANTS} {{
    next = Add(input_ids, step)
    logits = OneHot(next, depth, hot)
    shape = Shape(input_ids)
    batch = Gather(shape, zero)
    length = Gather(shape, one)
    new = Concat<axis = 0>(two, batch, one, length, one)
    zeros = ConstantOfShape(new)
    present_0 = Concat<axis = 3>(past_0, zeros)
}}""")

WHISPER_ENCODER = onnx.parser.parse_graph(f"""
encoder (float[b,f,s] encoder_input_ids, int32[b,n] decoder_input_ids)
    => (float[b,n,11] logits, float[b,s,f] encoder_hidden_states,
        float[b,1,n,1] present_key_self_0, float[b,1,n,1] present_value_self_0,
        float[b,1,s,1] present_key_cross_0, float[b,1,s,1] present_value_cross_0) {_CONSTANTS} {{
    next = Add(decoder_input_ids, step)
    logits = OneHot(next, depth, hot)
    encoder_hidden_states = Transpose<perm = [0, 2, 1]>(encoder_input_ids)
    tokens = Shape(decoder_input_ids)
    features = Shape(encoder_input_ids)
    batch = Gather(tokens, zero)
    length = Gather(tokens, one)
    frames = Gather(features, two)
    own = Concat<axis = 0>(batch, one, length, one)
    cross = Concat<axis = 0>(batch, one, frames, one)
    present_key_self_0 = ConstantOfShape(own)
    present_value_self_0 = ConstantOfShape(own)
    present_key_cross_0 = ConstantOfShape(cross)
    present_value_cross_0 = ConstantOfShape(cross)
}}""")

WHISPER_DECODER = onnx.parser.parse_graph(f"""
decoder (int32[b,n] input_ids, float[b,1,p,1] past_key_self_0, float[b,1,p,1] past_value_self_0,
         float[b,1,s,1] past_key_cross_0, float[b,1,s,1] past_value_cross_0)
    => (float[b,n,11] logits, float[b,1,t,1] present_key_self_0,
        float[b,1,t,1] present_value_self_0) {_CONSTANTS} {{
    next = Add(input_ids, step)
    logits = OneHot(next, depth, hot)
    shape = Shape(input_ids)
    batch = Gather(shape, zero)
    length = Gather(shape, one)
    own = Concat<axis = 0>(batch, one, length, one)
    new = ConstantOfShape(own)
    present_key_self_0 = Concat<axis = 2>(past_key_self_0, new)
    present_value_self_0 = Concat<axis = 2>(past_value_self_0, new)
}}""")


def broken(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The graph with an input or output left out, of another type or rank, with other numbers."""
    for kind in ("input", "output"):
        for number, value in enumerate(getattr(graph, kind)):
            changed = copy.deepcopy(graph)
            del getattr(changed, kind)[number]
            yield f"without {value.name}", changed
            for what, type_ in _types(value.type):
                changed = copy.deepcopy(graph)
                getattr(changed, kind)[number].type.CopyFrom(type_)
                yield f"{value.name} {what}", changed
            changed = copy.deepcopy(graph)
            getattr(changed, kind).append(getattr(changed, kind).pop(number))
            yield f"{value.name} last", changed
    for number, tensor in enumerate(graph.initializer):
        for value in (0, 1, 2, 5, -1):
            changed = copy.deepcopy(graph)
            data = onnx.helper.make_tensor(tensor.name, tensor.data_type, [1], [value])
            data.dims[:] = tensor.dims if list(tensor.dims) != [2] else [1]
            changed.initializer[number].CopyFrom(data)
            yield f"{tensor.name} is {value}", changed
    changed = copy.deepcopy(graph)
    del changed.node[:]
    yield "without nodes", changed


def _types(type_: onnx.TypeProto) -> Iterator[tuple[str, onnx.TypeProto]]:
    element, dims = type_.tensor_type.elem_type, type_.tensor_type.shape.dim
    make = onnx.helper.make_tensor_type_proto
    yield "untyped", onnx.TypeProto()
    yield "of no rank", make(element, None)
    yield "of rank 0", make(element, [])
    yield "of more axes", make(element, [None] * (len(dims) + 1))
    for axis in range(len(dims)):
        for extent in (0, 1, 3, 2**31):
            named = [each.dim_param or each.dim_value for each in dims]
            named[axis] = extent
            yield f"with {extent} along {axis}", make(element, named)
    for other in (onnx.TensorProto.FLOAT16, onnx.TensorProto.INT64, onnx.TensorProto.STRING):
        yield f"of type {other}", make(other, [None] * len(dims))
