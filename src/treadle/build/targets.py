"""The target machines of libraries, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from treadle import jit
from treadle.errors import InputError, or_nearest
from treadle.jit import Target

__all__ = ["TARGETS", "NamedTarget", "targets_of"]


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A target under its public name.

    `form` is the format of its object files; `zig` its name for the ziglang compiler. `is_tested`:
    treadle's own tests run libraries for it. `better` are variants for better processors, in
    ascending order: a run selects the best of `target` and these that the machine supports.
    """

    name: str
    target: Target
    form: str
    zig: str
    is_tested: bool = True
    better: tuple[Target, ...] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        """The machines to compile for, the least capable processor first."""
        return (self.target, *self.better)


_V3 = Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 32, 16, has_fma=True)
_ARM = Target("aarch64-unknown-linux-gnu", "generic", "", 16, 32, has_fma=True)
TARGETS: Mapping[str, NamedTarget] = {
    each.name: each
    for each in (
        NamedTarget("x86_64-linux", _V3, "elf", "x86_64-linux-gnu"),
        NamedTarget("aarch64-linux", _ARM, "elf", "aarch64-linux-gnu"),
        NamedTarget(
            "wasm32",
            Target(
                "wasm32-unknown-unknown", "generic", "+simd128,+nontrapping-fptoint,+sign-ext",
                16, 16, has_fma=False, pointer_bytes=4, relocation="static",
            ),
            "wasm", "wasm32-freestanding",
        ),
        NamedTarget(
            "riscv64-linux",
            Target(
                "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 16, 32,
                has_fma=True,
            ),
            "elf", "riscv64-linux-gnu", is_tested=False,
        ),
        NamedTarget(
            "x86_64-windows", replace(_V3, triple="x86_64-pc-windows-msvc"),
            "coff", "x86_64-windows-gnu", is_tested=False,
        ),
        NamedTarget(
            "aarch64-macos",
            replace(_ARM, triple="arm64-apple-macosx11.0.0", processor="apple-m1"),
            "macho", "aarch64-macos", is_tested=False,
        ),
    )
}  # fmt: skip
"""By name; other architectures than x86-64 use their smallest processor."""

_LEVELS: Mapping[str, tuple[str, int, int, bool, bool]] = {
    "v2": ("x86-64-v2", 16, 16, False, False),
    "v3": ("x86-64-v3", 32, 16, True, False),
    "v4": ("x86-64-v4", 64, 32, True, True),
}
"""LLVM's name, bytes of a vector, number of vectors, FMA, products with powers of two."""
HOST, NATIVE = "host", "native"


def targets_of(names: tuple[str, ...], cpu: str | None) -> list[NamedTarget]:
    """The targets of these names, for a processor; raises InputError for an unknown name."""
    if not names:
        raise InputError(f"targets is empty, wanted at least one of {_known()}")
    named = list({each.name: each for each in map(_target, names)}.values())
    if cpu is None:
        return named
    if not any(map(_is_x86, named)):
        shown = ", ".join(each.name for each in named)
        raise InputError(f'cpu is "{cpu}", a processor of x86-64, and the target is {shown}')
    return [_with_cpu(each, cpu) if _is_x86(each) else each for each in named]


def _known() -> str:
    return ", ".join((HOST, *TARGETS))


def _is_x86(named: NamedTarget) -> bool:
    return named.target.triple.startswith("x86_64")


def _target(name: str) -> NamedTarget:
    wanted = host_name(jit.host_target().triple) if name == HOST else name
    if wanted not in TARGETS:
        hint = or_nearest(wanted, TARGETS)
        raise InputError(f'there is no target "{wanted}"; the targets are {_known()}{hint}')
    return TARGETS[wanted]


def _with_cpu(named: NamedTarget, cpu: str) -> NamedTarget:
    """The target for a processor, or for several, from which a run selects."""
    if cpu == NATIVE:
        host = jit.host_target()
        if named.name != host_name(host.triple):
            raise InputError(f'cpu="native" is the processor of this machine, no {named.name}')
        return replace(named, target=replace(host, code_model="default", relocation="pic"))
    asked = [each.strip() for each in cpu.split(",")]
    wrong = next((each for each in asked if each not in _LEVELS), None)
    if wrong is not None:
        raise InputError(
            f'cpu is "{cpu}", known: {", ".join((*_LEVELS, NATIVE))}, or several levels, "v3,v4"'
        )
    least, *better = (_of_level(named.target, each) for each in _LEVELS if each in asked)
    return replace(named, target=least, better=tuple(better))


def _of_level(target: Target, level: str) -> Target:
    processor, width, registers, has_fma, has_scale = _LEVELS[level]
    return replace(
        target, processor=processor, vector_bytes=width, registers=registers,
        has_fma=has_fma, has_scale=has_scale,
    )  # fmt: skip


def host_name(triple: str) -> str:
    """The name of the target for this machine; its triple if there is none."""
    machine, _, rest = triple.partition("-")
    systems = {"linux": "linux", "windows": "windows", "darwin": "macos", "macosx": "macos"}
    machine = {"arm64": "aarch64"}.get(machine, machine)
    system = next((name for word, name in systems.items() if word in rest), rest)
    return f"{machine}-{system}"
