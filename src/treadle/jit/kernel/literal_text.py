"""Arrays and the attributes of called operators as text, and back.

float32[2,2] 1.0 2.0 3.0 4.0      elements in row-major order
float32[40,4] splat 1.0           the same element everywhere
float32[2] 0x0000803f00000040     the bytes of the elements, little endian
float32[4000] ...                 left out: a report shows no more than eight elements
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

import numpy as np

from treadle.ir import Attribute, DType, Kind, Literal, attribute
from treadle.jit.kernel.op_text import InvalidKernel

_SHOWN_ELEMENTS = 8
"""The number of elements of an array that are printed one by one."""


def write_elements(array: np.ndarray, *, whole: bool) -> str:
    """Print the elements; those of a large array are left out unless `whole`."""
    flat = np.ascontiguousarray(array).reshape(-1)
    first = flat[:1].tobytes()
    if flat.size > _SHOWN_ELEMENTS:
        if flat.tobytes() == first * flat.size and _is_exact(flat[:1]):
            return f"splat {_element(flat[0])}"
        return f"0x{flat.tobytes().hex()}" if whole else "..."
    if whole and not _is_exact(flat):
        return f"0x{flat.tobytes().hex()}"
    return " ".join(map(_element, flat))


def _element(value: np.generic) -> str:
    return str(value.item()).lower()


def _is_exact(flat: np.ndarray) -> bool:
    """Whether decimals reproduce every element's bits; those of some NaNs do not."""
    return _parsed(" ".join(map(_element, flat)), flat.dtype).tobytes() == flat.tobytes()


def read_elements(text: str, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """Parse the elements of an array of a dtype and shape."""
    numpy = dtype.numpy
    if text == "...":
        raise InvalidKernel("the elements of a constant were left out: write the kernel whole")
    try:
        if text.startswith("0x"):
            return np.frombuffer(bytes.fromhex(text[2:]), numpy).reshape(shape).copy()
        if text.startswith("splat "):
            return np.full(shape, _parsed(text[6:], numpy)[0], numpy)
        return _parsed(text, numpy).reshape(shape)
    except ValueError as why:
        raise InvalidKernel(f"{text[:60]!r} is no {dtype}[{','.join(map(str, shape))}]") from why


def _parsed(text: str, dtype: np.dtype) -> np.ndarray:
    words = text.split()
    if dtype.kind == "b":
        return np.array([word == "true" for word in words], dtype)
    if dtype.kind in "iu":
        return np.array([int(word) for word in words], dtype)
    return np.array([float(word) for word in words], np.float64).astype(dtype)


def write_attributes(attributes: Mapping[str, Attribute]) -> str:
    """The attributes of an operator in angle brackets, "" for none."""
    words = [f"{name}={_write_value(each.value)}" for name, each in attributes.items()]
    return f" <{', '.join(words)}>" if words else ""


def _write_value(value: object) -> str:
    match value:
        case tuple():
            return f"[{', '.join(map(_write_value, value))}]"
        case Literal(array=array, dtype=dtype) if dtype is not DType.STRING:
            shape = ",".join(map(str, array.shape))
            return repr(f"{dtype}[{shape}] {write_elements(array, whole=True)}")
        case int() | float() | bytes():
            return repr(value)
    return "..."


def read_attributes(text: str) -> dict[str, Attribute]:
    """The attributes of ` <name=value, ...>`; "" has none."""
    try:
        call = ast.parse(f"f({text.strip()[1:-1]})", mode="eval").body
        assert isinstance(call, ast.Call)
        assert not call.args
        return {each.arg: _attribute(each.arg, each.value) for each in call.keywords if each.arg}
    except (SyntaxError, AssertionError, KeyError) as why:
        raise InvalidKernel(f"{text!r} are no attributes") from why


def _attribute(name: str, node: ast.expr) -> Attribute:
    if isinstance(node, ast.Constant) and node.value is ...:
        return Attribute(name, Kind.TYPE, None)
    return attribute(name, _read_value(node))


def _read_value(node: ast.expr) -> object:
    match node:
        case ast.List(elts=items):
            return [_read_value(item) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _read_value(operand)
            assert isinstance(value, int | float)
            return -value
        case ast.Name(id=name):
            return {"inf": float("inf"), "nan": float("nan")}[name]
        case ast.Constant(value=str() as tensor):
            return read_tensor(tensor)
        case ast.Constant(value=int() | float() | bytes() as value):
            return value
    raise InvalidKernel(f"{ast.unparse(node)!r} is no value of an attribute")


def read_tensor(text: str) -> np.ndarray:
    """The array of `dtype[shape] elements`."""
    found = re.fullmatch(r"(\w+)\[([\d,]*)\] ?(.*)", text)
    if found is None:
        raise InvalidKernel(f"{text!r} is no tensor")
    shape = tuple(int(extent) for extent in found[2].split(",") if extent)
    return read_elements(found[3], DType(found[1]), shape)
