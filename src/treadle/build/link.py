"""Links archives to shared libraries and WebAssembly modules, with a linker of the machine.

The machine's own `cc` links for the machine; the ziglang package (`pip install treadle[build]`),
which brings LLVM's linkers, for every target. Nothing is downloaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from treadle import jit
from treadle.build.targets import NamedTarget, host_name
from treadle.errors import ConfigurationError

__all__ = ["expect_linker", "link", "link_operators", "linked_name", "run_tool"]

_WORDS = ("abi", "describe", "shapes", "workspace", "run")
_STACK = 1 << 20
"""The stack size of a WebAssembly module in bytes."""
_UCRT = (
    *("malloc", "calloc", "realloc", "free", "memcpy", "memmove", "memset", "memcmp", "strcmp"),
    *("strlen", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "cos", "cosh"),
    *("erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmod", "log", "log10"),
    *("log1p", "log2", "nearbyint", "pow", "remainder", "rint", "round", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)
"""The functions of Windows' C runtime that a library may use."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One linker run: the archive, the output file, other inputs, and the exported names."""

    archive: Path
    output: Path
    others: tuple[Path, ...]
    exports: tuple[str, ...]
    named: NamedTarget


def linked_name(name: str, named: NamedTarget) -> str:
    """The path of the linked file below the folder."""
    file = {
        "elf": f"lib{name}.so",
        "wasm": f"{name}.wasm",
        "coff": f"{name}.dll",
        "macho": f"lib{name}.dylib",
    }[named.form]
    return f"{named.name}/{file}"


def expect_linker(named: NamedTarget) -> None:
    """Raise ConfigurationError if no linker for a target is installed."""
    if _cc(named) is None and not _has_zig():
        raise ConfigurationError(
            f"no linker for {named.name} is installed: install the linker that treadle's extra "
            "brings"
            f" (pip install 'treadle[build]'), or leave link=True out and link the archive yourself"
        )


def link(name: str, named: NamedTarget, folder: Path) -> Path:
    """Link the archive to a shared library beside it; raises ConfigurationError."""
    archive = folder / named.name / f"lib{name}.a"
    output = folder / linked_name(name, named)
    exports = (*(f"{name}_{word}" for word in _WORDS), "treadle_reason")
    others: tuple[Path, ...] = ()
    if named.form == "wasm":
        memory = folder / named.name / ".memory.o"
        memory.write_bytes(jit.memory_object(named.target))
        others, exports = (memory,), (*exports, "realloc", "free")
    if named.form == "coff":
        others = _windows_runtime(folder / named.name, named)
    job = _Job(archive, output, others, exports, named)
    compiler = _cc(named)
    try:
        run_tool(_by_cc(compiler, job) if compiler else _BY_ZIG[named.form](job))
    finally:
        for path in others:
            path.unlink()
    if named.form == "wasm":
        output.with_suffix(".mjs").write_bytes(module_script(name))
    return output


def module_script(name: str) -> bytes:
    """The JavaScript module that loads a WebAssembly module and calls it."""
    text = files("treadle.build").joinpath("library.mjs").read_text(encoding="utf-8")
    return text.replace("NAME", name).encode()


def run_tool(command: Sequence[str]) -> None:
    """Run a compiler or a linker; raises ConfigurationError with its output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigurationError(f"{command[0]} cannot be run: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ConfigurationError(f"{Path(command[0]).name} failed:", said[:2000].splitlines())


def link_operators(named: NamedTarget, folder: Path) -> Path:
    """Compile `operators.c` and link it with `lib.a`, both in the folder.

    Raises ConfigurationError with the tool's output.
    """
    source, archive, output = (folder / name for name in ("operators.c", "lib.a", "out"))
    compiler = _cc(named)
    first = [compiler] if compiler else zig("cc", "-target", named.zig, "-g0", "-s")
    first += ["-std=gnu99", "-O2", "-fvisibility=hidden", "-I", str(folder), str(source)]
    if named.form == "coff":
        compiled = folder / "operators.o"
        run_tool([*first, "-mno-stack-arg-probe", "-c", "-o", str(compiled)])
        others = (compiled, *_windows_runtime(folder, named))
        run_tool(_coff_by_zig(_Job(archive, output, others, ("RegisterCustomOps",), named)))
        return output
    exports = folder / "exports.txt"
    exports.write_text("{ global: RegisterCustomOps; local: *; };\n")
    own = {
        "elf": [f"-Wl,--version-script={exports}", "-Wl,--build-id=none"],
        "macho": [_install_name("operators.dylib")],
    }[named.form]
    linked = ["-fPIC", "-shared", str(archive), *own, "-lm", "-o", str(output)]
    run_tool([*first, *linked])
    return output


def _windows_runtime(folder: Path, named: NamedTarget) -> tuple[Path, ...]:
    """Write the files that a Windows library links with besides its own code.

    They are the symbol that code with floats refers to, and an import library of `ucrtbase.dll`,
    which Windows has since version 10. With them zig need not compile MinGW's start-up code.
    """
    floats, names, imports = (folder / name for name in (".floats.o", ".ucrt.def", ".ucrt.lib"))
    floats.write_bytes(jit.float_object(named.target))
    names.write_text("LIBRARY ucrtbase.dll\nEXPORTS\n" + "\n".join(_UCRT) + "\n")
    try:
        run_tool(zig("dlltool", "-m", "i386:x86-64", "-d", str(names), "-l", str(imports)))
    finally:
        names.unlink()
    return floats, imports


def _cc(named: NamedTarget) -> str | None:
    """The machine's own compiler, if it links for the target."""
    is_host = named.name == host_name(jit.host_target().triple)
    return shutil.which("cc") if is_host and named.form in ("elf", "macho") else None


def _has_zig() -> bool:
    return find_spec("ziglang") is not None


def zig(*arguments: str) -> list[str]:
    """A command of the ziglang package."""
    return [sys.executable, "-m", "ziglang", *arguments]


def _by_cc(compiler: str, job: _Job) -> list[str]:
    if job.named.form == "macho":
        whole = [f"-Wl,-force_load,{job.archive}", _install_name(job.output.name)]
    else:
        whole = ["-Wl,--whole-archive", str(job.archive), "-Wl,--no-whole-archive"]
        whole += ["-Wl,--build-id=none", "-Wl,--as-needed"]
    return [compiler, "-shared", "-o", str(job.output), *whole, "-lm"]


def _elf_by_zig(job: _Job) -> list[str]:
    return zig(
        "ld.lld", "-shared", "--build-id=none", "--hash-style=gnu", "-o", str(job.output),
        "--whole-archive", str(job.archive),
    )  # fmt: skip


def _wasm_by_zig(job: _Job) -> list[str]:
    return zig(
        "wasm-ld", "--no-entry", "--import-undefined", "--strip-all", "-z", f"stack-size={_STACK}",
        *(f"--export={name}" for name in job.exports), "-o", str(job.output), str(job.archive),
        *map(str, job.others),
    )  # fmt: skip


def _coff_by_zig(job: _Job) -> list[str]:
    return zig(
        "lld-link", "/dll", "/noentry", "/nodefaultlib", "/machine:x64", "/Brepro",
        f"/out:{job.output}", f"/wholearchive:{job.archive}", *map(str, job.others),
        *(f"/export:{name}" for name in job.exports), "/noimplib",
    )  # fmt: skip


def _macho_by_zig(job: _Job) -> list[str]:
    return zig(
        "cc", "-target", job.named.zig, "-shared", "-o", str(job.output),
        _install_name(job.output.name),
        "-Wl,--whole-archive", str(job.archive), "-Wl,--no-whole-archive", *map(str, job.others),
    )  # fmt: skip


def _install_name(file: str) -> str:
    """The option for the name by which programs on macOS find a library.

    Without it the name is the path where the library was linked.
    """
    return f"-Wl,-install_name,@rpath/{file}"


_BY_ZIG: Mapping[str, Callable[[_Job], list[str]]] = {
    "elf": _elf_by_zig,
    "wasm": _wasm_by_zig,
    "coff": _coff_by_zig,
    "macho": _macho_by_zig,
}
