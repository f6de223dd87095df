"""The text of a finished module.

llvmlite's own printing takes a sixth of the time in which a kernel is generated: it keeps the text
of every part, formats an instruction three times, and asks by exceptions whether a text is kept.
Here an instruction is formatted once, by a function for its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llvmlite import ir as llvm

_LOCAL = (llvm.Instruction, llvm.Block, llvm.Argument)


def text_of(module: llvm.Module) -> str:
    """The text of a finished module, which must not be used after this.

    The objects of llvmlite refer to each other in circles, a block to its function and the function
    to its blocks. Taken apart, they are freed at once, not by Python's cycle collector.
    """
    text: list[str] = []
    for value in module.global_values:
        _write_global(value, text)
    for name, node in module.namedmetadata.items():
        text.append(f"!{name} = !{{ {', '.join(map(_name, node.operands))} }}\n")
    text += map(str, module.metadata)
    for part in list(_parts(module)):
        vars(part).clear()
    return "".join(text)


def _write_global(value: Any, text: list[str]) -> None:
    if not isinstance(value, llvm.Function) or not value.blocks:
        text.append(f"{value}\n")
        return
    value.descr_prototype(text)
    text.append("{\n")
    for block in value.blocks:
        text.append(f'"{block.name}":\n')
        for instruction in block.instructions:
            is_void = isinstance(instruction.type, llvm.VoidType)
            result = "" if is_void else f'%"{instruction.name}" = '
            form = _FORMS.get(type(instruction))
            if form is None:
                text.append(result)
                instruction.descr(text)
                text.append("\n")
            elif instruction.metadata:
                text.append(f"{result}{form(instruction)}{_metadata(instruction)}\n")
            else:
                text.append(f"{result}{form(instruction)}\n")
    text.append("}\n")


def _name(value: Any) -> str:
    """What refers to a value; names are plain words with numbers."""
    if isinstance(value, _LOCAL):
        return f'%"{value.name}"'
    reference: str = value.get_reference()
    return reference


def _typed(value: Any) -> str:
    return f"{value.type} {_name(value)}"


def _list(values: Any) -> str:
    return ", ".join([f"{value.type} {_name(value)}" for value in values])


def _words(opname: str, flags: Any) -> str:
    return " ".join((opname, *flags)) if flags else opname


def _aligned(text: str, instruction: Any) -> str:
    return text if instruction.align is None else f"{text}, align {instruction.align}"


def _plain(made: Any) -> str:
    operands = ", ".join([_name(each) for each in made.operands])
    return f"{_words(made.opname, made.flags)} {made.type} {operands}"


def _load(made: Any) -> str:
    return _aligned(f"load {made.type}, {_typed(made.operands[0])}", made)


def _store(made: Any) -> str:
    return _aligned(f"store {_list(made.operands)}", made)


def _element(made: Any) -> str:
    words = "getelementptr inbounds" if made.inbounds else "getelementptr"
    return f"{words} {made.source_etype}, {_typed(made.pointer)}, {_list(made.indices)}"


def _comparison(made: Any) -> str:
    left, right = made.operands
    return f"{_words(made.opname, made.flags)} {made.op} {left.type} {_name(left)}, {_name(right)}"


def _choice(made: Any) -> str:
    return f"{_words('select', made.flags)} {_list(made.operands)}"


def _cast(made: Any) -> str:
    return f"{made.opname} {_typed(made.operands[0])} to {made.type}"


def _jump(made: Any) -> str:
    return f"br {_list(made.operands)}"


def _call(made: Any) -> str:
    assert not made.tail
    assert not made.attributes
    assert not made.arg_attributes
    callee, *given = made.operands
    flags = sorted(made.fastmath)
    words = _words("call", [*flags, made.cconv] if made.cconv else flags)
    return f"{words} {made.type} {_name(callee)}({_list(given)})"


def _metadata(made: Any) -> str:
    return "".join([f", !{name} {node.get_reference()}" for name, node in made.metadata.items()])


_FORMS: Mapping[type, Callable[[Any], str]] = {
    llvm.Instruction: _plain,
    llvm.LoadInstr: _load,
    llvm.StoreInstr: _store,
    llvm.GEPInstr: _element,
    llvm.ICMPInstr: _comparison,
    llvm.FCMPInstr: _comparison,
    llvm.SelectInstr: _choice,
    llvm.CastInstr: _cast,
    llvm.Branch: _jump,
    llvm.ConditionalBranch: _jump,
    llvm.CallInstr: _call,
}
"""The text of an instruction by its class, without metadata; llvmlite prints those of others."""


def _parts(module: llvm.Module) -> Iterator[Any]:
    yield module
    yield from module.metadata
    for value in module.global_values:
        yield value
        if isinstance(value, llvm.Function):
            yield from (*value.args, value.return_value)
            for block in value.blocks:
                yield block
                yield from block.instructions
