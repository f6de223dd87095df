"""The text of a module is LLVM's own, whatever instructions it has."""

import pytest

pytest.importorskip("llvmlite")

import llvmlite.binding as binding
from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import F32, I1, I32, I64, POINTER
from treadle.jit.codegen.module_text import text_of
from treadle.jit.toolchain.llvm import host_target


def written() -> llvm.Module:
    """A module with every form of instruction."""
    module = llvm.Module(name="treadle")
    table = llvm.GlobalVariable(module, I64, "table")
    table.initializer = llvm.Constant(I64, 7)
    kind = llvm.FunctionType(I64, [POINTER, F32, I64])
    function = llvm.Function(module, kind, "kernel")
    function.args[0].add_attribute("noalias")
    w = FunctionBuilder(module, function, host_target())
    pointer, number, count = function.args
    b = w.builder
    loaded = b.load(b.gep(pointer, [count], inbounds=True, source_etype=F32), typ=F32, align=4)
    loaded.set_metadata("alias.scope", module.add_metadata([module.add_metadata(["memory"])]))
    total = b.fadd(loaded, b.fneg(number), flags=("reassoc", "nsz"))
    total = b.select(b.fcmp_ordered("<", total, llvm.Constant(F32, 0.1)), number, total)
    total = w.intrinsic("llvm.fma", F32, total, number, number, flags=("reassoc", "contract"))
    b.store(total, b.gep(pointer, [llvm.Constant(I32, 1)], source_etype=F32), align=4)
    vector = b.insert_element(llvm.Constant(llvm.VectorType(F32, 4), None), total, I32(0))
    vector = b.shuffle_vector(vector, vector, llvm.Constant(llvm.VectorType(I32, 4), [0] * 4))
    b.store(b.extract_element(vector, I32(3)), w.variable(F32, count=8))
    with w.range(count) as i, w.rarely(b.icmp_unsigned("==", i, llvm.Constant(I64, 3))):
        w.external("exit", llvm.VoidType(), I1)
        b.call(w.external("exit", llvm.VoidType(), I1), [b.trunc(i, I1)])
    pair = b.extract_value(b.sadd_with_overflow(count, w.barrier(count)), 0)
    b.call(w.external("other", I64, I64), [pair], cconv="tailcc")
    choice = b.switch(pair, w.entry.parent.append_basic_block("rest"))
    choice.add_case(1, w.function.append_basic_block("one"))
    for block in w.function.blocks:
        if not block.is_terminated and block is not w.entry:
            llvm.IRBuilder(block).ret(b.function.args[2])
    w.close_entry()
    module.add_named_metadata("said", module.add_metadata(["word"]))
    return module


def test_the_text_is_that_of_llvmlite_to_llvm():
    plain, own = (binding.parse_assembly(text) for text in (str(written()), text_of(written())))
    own.triple = plain.triple
    assert str(own) == str(plain)


def test_a_taken_name_gets_the_next_free_number():
    module = llvm.Module(name="treadle")
    function = llvm.Function(module, llvm.FunctionType(I64, [I64]), "kernel")
    w = FunctionBuilder(module, function, host_target())
    names = [w.function.append_basic_block(name).name for name in ("loop", "loop.1", "loop", "")]
    assert names == ["loop", "loop.1", "loop.2", ".2"]
    assert len({block.name for block in function.blocks} | {function.args[0].name}) == 7
