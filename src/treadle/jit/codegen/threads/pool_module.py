"""The module of the thread pool's functions, for a target.

treadle_serve(worker)                               a worker's thread
treadle_share(pool, function, data, cost, nest)     run all chunks of a call
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I64, POINTER, VOID
from treadle.jit.codegen.threads.autotune import emit_back_off
from treadle.jit.codegen.threads.fork_join import share
from treadle.jit.codegen.threads.records import WORDS, Record
from treadle.jit.codegen.threads.worker_loop import PART, serve, wake, wake_all
from treadle.jit.kernel.target import Target
from treadle.jit.threads.words import SERVE, SHARE


def emit_pool(target: Target) -> str:
    """The module of `treadle_serve` and `treadle_share` for a target."""
    module = llvm.Module(name="treadle_pool")
    helpers = {
        "wake": _helper(module, target, "wake", wake),
        "back_off": _helper(module, target, "back_off", emit_back_off),
    }
    helpers["wake_all"] = _helper(
        module, target, "wake_all", lambda w, pool: wake_all(w, pool, helpers["wake"])
    )
    w = _function(module, target, SERVE, [WORDS])
    serve(w, Record(w, w.function.args[0]))
    w.close_entry()
    w = _function(module, target, SHARE, [WORDS, PART.as_pointer(), POINTER, I64, WORDS])
    share(w, helpers)
    w.close_entry()
    return str(module)


def _function(module: llvm.Module, target: Target, name: str, types: list[Any]) -> FunctionBuilder:
    function = llvm.Function(module, llvm.FunctionType(VOID, types), name)
    return FunctionBuilder(module, function, target)


def _helper(module: llvm.Module, target: Target, name: str, emit: Any) -> Any:
    """A function of one record for rare events, which stays out of the others."""
    w = _function(module, target, name, [WORDS])
    w.function.linkage = "internal"
    w.function.attributes.add("noinline")
    emit(w, Record(w, w.function.args[0]))
    w.builder.ret_void()
    w.close_entry()
    return w.function
