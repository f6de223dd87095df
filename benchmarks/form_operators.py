"""Forms of operators: each as other operators that compute the same, written as functions.

A template is the body of a function of `a`, `b`, `c` whose results are `y` or `y0`, `y1`, ...
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx
from onnx import TensorProto, parser

from benchmarks.form_edits import Draft, Nodes, attribute, extents, number, replace
from benchmarks.form_loops import FORMS
from benchmarks.form_rules import Form, form

__all__ = ["FORMS"]

Types = Mapping[str, onnx.TypeProto]
Fits = Callable[[Draft, Types, onnx.NodeProto], bool]


def rank(types: Types, name: str) -> int | None:
    """The rank of a value, None if it is not known."""
    shape = extents(types[name]) if name in types else None
    return None if shape is None else len(shape)


def is_float(types: Types, name: str) -> bool:
    """Whether a value holds floats of 32 bits."""
    return name in types and types[name].tensor_type.elem_type == TensorProto.FLOAT


def _any(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return True


def _of_floats(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return is_float(types, each.output[0])


def _compares_floats(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return is_float(types, each.input[0])


def _of_whole(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    known = each.output[0] in types
    return known and types[each.output[0]].tensor_type.elem_type == TensorProto.INT64


def _squares(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return each.input[0] == each.input[1] and is_float(types, each.output[0])


def _of_matrices(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return [rank(types, name) for name in each.input[:2]] == [2, 2]


def _of_one_row(draft: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return _of_matrices(draft, types, each) and (extents(types[each.input[0]]) or [0])[0] == 1


def _along_last(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    axis, ranked = number(each, "axis", -1), rank(types, each.input[0])
    return is_float(types, each.output[0]) and (axis == -1 or axis + 1 == ranked)


def _of_a_scalar_bound(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return (
        len(each.input) == 2 and is_float(types, each.output[0])
        and rank(types, each.input[1]) == 0 and rank(types, each.input[0]) not in (0, None)
    )  # fmt: skip


def _of_a_row(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return number(each, "axis", 0) == 0 and rank(types, each.input[1]) == 0


def _of_two(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return len(each.input) == 2 and is_float(types, each.output[0])


def _plain_gemm(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return len(each.attribute) == 0 and len(each.input) == 3


def _broadcast(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    shapes = [extents(types[name]) if name in types else None for name in each.input]
    made = extents(types[each.output[0]]) if each.output[0] in types else None
    return len(shapes) == 2 and shapes[0] == made is not None and shapes[1] not in (None, made)


def _with_rank(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return bool(rank(types, each.input[0]))


def _matrix(_: Draft, types: Types, each: onnx.NodeProto) -> bool:
    return rank(types, each.input[0]) == 2


@dataclass(frozen=True)
class Template:
    """How nodes of some operators that fit are written; OP stands for the operator."""

    operators: tuple[str, ...]
    text: str
    fits: Fits = _any


def _float(name: str, value: float) -> str:
    return f"{name} = Constant <value = float {{{value}}}> ()\n"


def _whole(name: str, value: int) -> str:
    return f"{name} = Constant <value = int64[1] {{{value}}}> ()\n"


_UNARY = ("Tanh", "Sigmoid", "Exp", "Abs", "Cos", "Neg", "Sqrt", "Relu", "Floor")
_BINARY = ("Add", "Mul", "Sub", "Div")
_COMPARE = ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")

TEMPLATES = {
    "Sigmoid by Exp": Template(("Sigmoid",), _float("one", 1.0) + """
        n = Neg (a)  e = Exp (n)  s = Add (one, e)  y = Div (one, s)""", _of_floats),
    "Sigmoid by Reciprocal": Template(("Sigmoid",), _float("one", 1.0) + _float("minus", -1.0) + """
        n = Mul (a, minus)  e = Exp (n)  s = Add (e, one)  y = Reciprocal (s)""", _of_floats),
    "Sigmoid by Tanh": Template(("Sigmoid",), _float("half", 0.5) + """
        h = Mul (a, half)  t = Tanh (h)  s = Mul (t, half)  y = Add (s, half)""", _of_floats),
    "Tanh by Sigmoid": Template(("Tanh",), _float("two", 2.0) + _float("one", 1.0) + """
        d = Mul (a, two)  s = Sigmoid (d)  w = Mul (s, two)  y = Sub (w, one)""", _of_floats),
    "Softmax written out": Template(("Softmax",), _whole("last", -1) + """
        m = ReduceMax <keepdims = 1> (a, last)  d = Sub (a, m)  e = Exp (d)
        s = ReduceSum <keepdims = 1> (e, last)  y = Div (e, s)""", _along_last),
    "Softmax by LogSoftmax": Template(("Softmax",), """
        l = LogSoftmax <axis = -1> (a)  y = Exp (l)""", _along_last),
    "Sub as Add of Neg": Template(("Sub",), "n = Neg (b)  y = Add (a, n)", _of_floats),
    "Neg as Mul": Template(("Neg",), _float("m", -1.0) + "y = Mul (a, m)", _of_floats),
    "squares as Pow": Template(("Mul",), _float("two", 2.0) + "y = Pow (a, two)", _squares),
    "Pow of a whole exponent": Template(("Mul",), """
        two = Constant <value = int64 {2}> ()  y = Pow (a, two)""", _squares),
    "Div by Reciprocal": Template(("Div",), "r = Reciprocal (b)  y = Mul (a, r)", _of_floats),
    "Sqrt as Pow": Template(("Sqrt",), _float("half", 0.5) + "y = Pow (a, half)", _of_floats),
    "MatMul as Einsum": Template(("MatMul",), """
        y = Einsum <equation = "ij,jk->ik"> (a, b)""", _of_matrices),
    "MatMul turned round": Template(("MatMul",), """
        s = Transpose <perm = [1, 0]> (a)  t = Transpose <perm = [1, 0]> (b)
        m = MatMul (t, s)  y = Transpose <perm = [1, 0]> (m)""", _of_matrices),
    "MatMul of rank 1": Template(("MatMul",), _whole("first", 0) + """
        v = Squeeze (a, first)  m = MatMul (v, b)  y = Unsqueeze (m, first)""", _of_one_row),
    "MatMul as sum of products": Template(("MatMul",), _whole("first", 0) + _whole("last", -1) + """
        v = Squeeze (a, first)  w = Unsqueeze (v, last)  p = Mul (w, b)
        y = ReduceSum <keepdims = 1> (p, first)""", _of_one_row),
    "MatMul as Gemm": Template(("MatMul",), "y = Gemm (a, b)", _of_matrices),
    "Gemm as MatMul and Add": Template(("Gemm",), "m = MatMul (a, b)  y = Add (m, c)", _plain_gemm),
    "Add as Sum": Template(("Add",), "y = Sum (a, b)", _of_two),
    "Max as Where": Template(("Max",), "m = Greater (a, b)  y = Where (m, a, b)", _of_two),
    "Min as Where": Template(("Min",), "m = Less (a, b)  y = Where (m, a, b)", _of_two),
    "Max as Clip": Template(("Max",), "y = Clip (a, b)", _of_a_scalar_bound),
    "Relu as Max": Template(("Relu",), _float("zero", 0.0) + "y = Max (a, zero)", _of_floats),
    "Relu as Where": Template(("Relu",), _float("zero", 0.0) + """
        m = Greater (a, zero)  y = Where (m, a, zero)""", _of_floats),
    "Abs as Max": Template(("Abs",), "n = Neg (a)  y = Max (a, n)", _of_floats),
    "Greater as Not": Template(("Greater",), "m = LessOrEqual (a, b)  y = Not (m)", _any),
    "Less as Not": Template(("Less",), "m = GreaterOrEqual (a, b)  y = Not (m)", _any),
    "LessOrEqual as Or": Template(("LessOrEqual",), """
        m = Less (a, b)  e = Equal (a, b)  y = Or (m, e)""", _any),
    "Where as a sum": Template(("Where",), _float("one", 1.0) + """
        m = Cast <to = 1> (a)  n = Sub (one, m)
        p = Mul (m, b)  q = Mul (n, c)  y = Add (p, q)""", _of_floats),
    "Where of whole numbers as a sum": Template(("Where",), """
        one = Constant <value = int64 {1}> ()  m = Cast <to = 7> (a)  n = Sub (one, m)
        p = Mul (m, b)  q = Mul (n, c)  y = Add (p, q)""", _of_whole),
    "comparisons cast forth and back": Template(_COMPARE, """
        m = OP (a, b)  n = Cast <to = 7> (m)  f = Cast <to = 1> (n)  y = Cast <to = 9> (f)"""),
    "comparisons as float": Template(_COMPARE, _float("half", 0.5) + """
        m = OP (a, b)  n = Cast <to = 1> (m)  y = Greater (n, half)""", _compares_floats),
    "Mod as Div and Mul": Template(("Mod",), """
        q = Div (a, b)  p = Mul (q, b)  y = Sub (a, p)""", _of_whole),
    "Gather as Slice": Template(("Gather",), _whole("one", 1) + _whole("first", 0) + """
        from = Unsqueeze (b, first)  to = Add (from, one)  s = Slice (a, from, to, first)
        y = Squeeze (s, first)""", _of_a_row),
    "Gather as GatherND": Template(("Gather",), _whole("first", 0) + """
        k = Unsqueeze (b, first)  y = GatherND (a, k)""", _of_a_row),
    "Gather of Cast": Template(("Gather",), "k = Cast <to = 6> (b)  y = OP (a, k)", _of_a_row),
    "operands expanded": Template(_BINARY, "s = Shape (a)  e = Expand (b, s)  y = OP (a, e)",
        _broadcast),
    "operands flat": Template(_UNARY, _whole("flat", -1) + """
        s = Shape (a)  f = Reshape (a, flat)  r = OP (f)  y = Reshape (r, s)""", _with_rank),
    "Transposes around": Template(_UNARY, """
        t = Transpose <perm = [1, 0]> (a)  r = OP (t)  y = Transpose <perm = [1, 0]> (r)""",
        _matrix),
    "Identity around": Template((*_UNARY, *_BINARY, "MatMul", "Where", "Max", "Min"), """
        p = OP (ALL)  q = Identity (p)  r = Identity (q)  y = Identity (r)"""),
}  # fmt: skip


def templated(template: Template) -> Form:
    """The form that writes the operators of a template so."""

    def apply(draft: Draft) -> bool:
        types = draft.types()

        def rule(each: onnx.NodeProto) -> Nodes | None:
            if each.op_type not in template.operators or not template.fits(draft, types, each):
                return None
            return written(draft, template.text, each)

        return replace(draft, rule)

    return apply


def written(draft: Draft, text: str, each: onnx.NodeProto) -> Nodes:
    """The nodes of a template in place of a node; those of its operator have its attributes."""
    letters = ", ".join(string.ascii_lowercase[: len(each.input)])
    names = dict(zip(string.ascii_lowercase, each.input, strict=False))
    names["y"] = each.output[0]
    made = []
    for node in _parsed(text.replace("OP (", f"{each.op_type} (").replace("ALL", letters)):
        node = onnx.NodeProto.FromString(node)
        for names_of in (node.input, node.output):
            for place, name in enumerate(names_of):
                if name and name not in names:
                    names[name] = draft.fresh(name)
                names_of[place] = names.get(name, name)
        if node.op_type == each.op_type:
            node.attribute.extend(a for a in each.attribute if attribute(node, a.name) is None)
        made.append(node)
    return made


@functools.cache
def _parsed(text: str) -> list[bytes]:
    head = '<domain: "forms", opset_import: ["" : 18]>'
    function = parser.parse_function(f"{head} f (a, b, c) => (y) {{ {text} }}")
    return [node.SerializeToString() for node in function.node]


for _name, _template in TEMPLATES.items():
    form(_name)(templated(_template))

through_floats = templated(Template(("Add", "Sub"), """
    m = OP (a, b)  n = Cast <to = 11> (m)  y = Cast <to = 7> (n)""", _of_whole))  # fmt: skip
"""Sums of whole numbers rounded to 53 bits."""
