"""The findings that stop a session, each with its reason; every other finding is only reported.

A session accepts every model that onnxruntime loads. It refuses models that nobody can run, and
models for which onnxruntime is known to return uninitialised memory. Some rules stop a session in
some of their forms only; the reason then names the form.
"""

from __future__ import annotations

from collections.abc import Mapping

_NO_FILE = "there is nothing to run"
_NO_VALUE = "a value is read that nothing makes"
_ARITY = "onnxruntime refuses it: values and names cannot be paired"
_SCHEMA = "onnxruntime refuses it: the operator has no meaning in this form"
_TYPE = "onnxruntime refuses it: the operator is not defined over this type"
_LOOP = "the loop has no meaning in this form; onnxruntime refuses it or reads one element of many"
_SHAPES = "onnxruntime fails on it, when it loads the file or when it runs"
_FUNCTION = "calls of it cannot be inlined"
_IR = "what the layer computes cannot be told"

STOPPING: Mapping[str, str] = {
    "CF001": _NO_FILE,
    "CF002": "the tensor would hold something else than the file means",
    "CF003": "fields of a newer format would be passed over in silence",
    "CF101": _NO_VALUE,
    "CF102": "which of the two is read depends on the reader",
    "CF104": "onnxruntime refuses it",
    "CF105": "where no order is valid: values that depend on each other in a cycle, and a body that"
    " reads a value defined after its node",
    "CF106": "whether the input or the initializer is read depends on the reader",
    "CF201": _ARITY,
    "CF202": "a control-flow node without outputs does nothing",
    "CF203": _ARITY,
    "CF204": _ARITY,
    "CF205": _ARITY,
    "CF206": "there is no graph to run",
    "CF207": _SCHEMA,
    "CF208": _SCHEMA,
    "CF209": _SCHEMA,
    "CF210": _SCHEMA,
    "CF212": "the attribute has no value; onnxruntime reads 0, which the file does not say",
    "CF214": "engines read the value as one of those listed, and not as the same one",
    "CF301": _TYPE,
    "CF305": _SHAPES,
    "CF401": _LOOP,
    "CF402": _LOOP,
    "CF403": _LOOP,
    "CF404": _LOOP,
    "CF405": _LOOP,
    "CF406": _LOOP,
    "CF407": _LOOP,
    "CF408": _LOOP,
    "CF409": _LOOP,
    "CF501": _ARITY,
    "CF502": _ARITY,
    "CF503": _ARITY,
    "CF504": _LOOP,
    "CF505": _LOOP,
    "CF506": _LOOP,
    "CF507": _SHAPES,
    "CF508": _SHAPES,
    "CF510": _SHAPES,
    "CF511": _SHAPES,
    "CF512": "how many values it scans cannot be told",
    "CF601": _ARITY,
    "CF602": "an If needs one bool",
    "CF603": "an If needs one bool",
    "CF604": _TYPE,
    "CF605": "If-1 of onnxruntime refuses it",
    "CF701": "where onnxruntime has no such operator either",
    "CF702": "where onnxruntime does not know the domain either",
    "CF703": "what the opset means cannot be told",
    "CF704": "it never ends",
    "CF705": _FUNCTION,
    **dict.fromkeys([f"CF90{k}" for k in range(1, 10)], _IR),
}
