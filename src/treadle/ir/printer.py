"""Prints a program with its nesting, roles and types; for reading, not for parsing.

model "g" opset 21
main(M: int64[], s0: float32[])
  s, ys = Loop trip M
    body(iteration i: int64[], condition c: bool[], carried s_in: float32[] from s0)
      t: float32[] = Add(s_in, s_in)
    gives next c, carried t -> s, stacked t -> ys
returns s, ys
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treadle.ir.graph import Block, Branch, Call, Function, Leaf, Loop, Model, Operands, Step
from treadle.ir.loop import ports
from treadle.ir.roles import Carried, Condition, Invariant, Iteration, Role, Sliced, Stacked
from treadle.ir.types import DType, show_type
from treadle.ir.values import Attribute, Constant, Literal, Reference, SparseArray, Value
from treadle.ir.walk import bodies, domain_of, operator_of
from treadle.messages import visible

_INDENT = "  "
_SHOWN_ELEMENTS = 16


def show_model(model: Model) -> str:
    """Print the whole model."""
    opsets = ", ".join(f"{domain or 'onnx'} {version}" for domain, version in model.opsets.items())
    lines = [visible(f'model "{model.main.name}" opset {opsets}')]
    lines += show_block(model.main, "main").splitlines()
    for function in model.functions.values():
        lines += show_function(function).splitlines()
    return "\n".join(lines)


def show_function(function: Function) -> str:
    """Print one model-local function."""
    parameters = [
        *function.attributes,
        *(f"{a.name}={_literal(a)}" for a in function.defaults.values()),
    ]
    return show_block(function.block, f"function {function.id}<{', '.join(parameters)}>")


def show_block(block: Block, head: str) -> str:
    """Print one block: the head line names the params, the last line the results."""
    params = ", ".join(map(_declared, block.params))
    returns = f"returns {_names(block.results)}"
    head = visible(f"{head}({params})")
    return "\n".join([head, *_indent(_inside(block)), visible(returns)])


def _inside(block: Block) -> Iterator[str]:
    yield from map(_constant, block.constants)
    for step in block.steps:
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    match step:
        case Loop():
            yield from _loop(step)
        case Branch():
            yield from _branch(step)
        case Leaf() | Call():
            yield from _leaf(step)


def _leaf(step: Leaf | Call) -> Iterator[str]:
    attributes = show_attributes(step)
    shown = f"<{attributes}>" if attributes else ""
    results = ", ".join(_declared(v) if v else "_" for v in step.results)
    captures = f" capturing {_names(step.captures)}" if step.captures else ""
    domain = domain_of(step)
    prefix = f"{domain}." if domain else ""
    call = "call " if isinstance(step, Call) else ""
    yield f"{results} = {call}{prefix}{operator_of(step)}{shown}({_names(step.operands)}){captures}"
    for name, block in bodies(step):
        yield from _indent(show_block(block, name).splitlines())


def show_attributes(step: Leaf | Call) -> str:
    """`axis=1, keepdims=0`: the attributes of a step, tensors of many elements by their type."""
    return ", ".join(f"{name}={_literal(a)}" for name, a in step.attributes.items())


def _branch(step: Branch) -> Iterator[str]:
    yield f"{_names(step.results)} = {operator_of(step)} {step.condition.name}"
    sources = {p: f" from {_name(v)}" for p, v in zip(step.then.params, step.operands, strict=True)}
    sources |= {
        p: f" from {_name(v)}" for p, v in zip(step.otherwise.params, step.operands, strict=True)
    }
    for name, block in bodies(step):
        params = ", ".join(f"invariant {_declared(p)}{sources[p]}" for p in block.params)
        yield from _indent(
            [f"{name}({params})", *_indent(_inside(block)), f"gives {_names(block.results)}"]
        )


def _loop(step: Loop) -> Iterator[str]:
    trip = f" trip {step.trip.name}" if step.trip else ""
    condition = f" while {step.condition.name}" if step.condition else ""
    yield f"{_names(step.results)} = {operator_of(step)}{trip}{condition}"
    inside = [f"body({_loop_params(step)})", *_indent(_inside(step.body)), _gives(step)]
    yield from _indent(inside)


def _loop_params(step: Loop) -> str:
    operands = iter(step.operands)
    words = []
    for role, param in zip(step.roles, step.body.params, strict=True):
        source = "" if isinstance(role, Iteration | Condition) else f" from {_name(next(operands))}"
        words.append(f"{_role(role)} {_declared(param)}{source}")
    return ", ".join(words)


def _gives(step: Loop) -> str:
    view = ports(step)
    words = [f"next {_name(view.next_condition)}"] if view.next_condition else []
    words += [f"carried {_name(c.next)} -> {_name(c.result)}" for c in view.carried]
    words += [f"{_role(s.role)} {_name(s.element)} -> {_name(s.result)}" for s in view.stacked]
    return f"gives {', '.join(words)}"


_ROLES: Mapping[type, str] = {
    Iteration: "iteration",
    Condition: "condition",
    Invariant: "invariant",
    Carried: "carried",
    Sliced: "sliced",
    Stacked: "stacked",
}


def _role(role: Role | Stacked) -> str:
    word = _ROLES[type(role)]
    if not isinstance(role, Sliced | Stacked):
        return word
    axis = f"axis {role.axis}" if role.axis else ""
    details = " ".join(part for part in (axis, "reverse" if role.reverse else "") if part)
    return f"{word}[{details}]" if details else word


def _name(value: Value | None) -> str:
    return "_" if value is None else value.name


def _names(values: Operands) -> str:
    return ", ".join(map(_name, values))


def _declared(value: Value) -> str:
    return f"{value.name}: {show_type(value.type)}" if value.type is not None else value.name


def _constant(constant: Constant) -> str:
    return f"{constant.value.name} = {show_data(constant.data)}"


def show_data(data: Literal | SparseArray) -> str:
    """A tensor of the file: `float32[2] [1.0, 2.0]`, without elements where they are many."""
    if isinstance(data, SparseArray):
        return f"sparse {data.values.dtype}{list(data.shape)} with {data.values.array.size} values"
    shown = f"{data.dtype}[{','.join(map(str, data.array.shape))}]"
    if data.external is not None:
        return f"{shown} in {data.external.location}"
    if data.array.size > _SHOWN_ELEMENTS:
        return shown
    return f"{shown} {_elements(data)}"


def _elements(data: Literal) -> str:
    values = data.array.astype(object) if data.dtype is not DType.STRING else data.array
    return str(values.tolist())


def _literal(attribute: Attribute) -> str:
    return _attribute_value(attribute.value)


def _attribute_value(value: object) -> str:
    match value:
        case bytes():
            return repr(value.decode(errors="backslashreplace"))
        case Reference(name):
            return f"@{name}"
        case Literal() | SparseArray():
            return show_data(value)
        case tuple() if len(value) > _SHOWN_ELEMENTS:
            return f"[{len(value):,} values]"
        case tuple():
            return f"[{', '.join(map(_attribute_value, value))}]"
    return str(value)


def _indent(lines: Iterator[str] | list[str]) -> list[str]:
    return [_INDENT + visible(line) for line in lines]
