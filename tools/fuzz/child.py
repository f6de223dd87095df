"""Fuzzes one target with atheris in this process, until time is up or a case fails.

    python -m tools.fuzz.child model -max_total_time=60 corpus

Whatever follows the name of the target is libFuzzer's: `python -m tools.fuzz.child model CASE`
tries one case again.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import sys
import warnings
from pathlib import Path

_MEMORY = 6 << 30
_OWN_CHANGES = 0.8
_RUNNING = ("run", "programs")


def seed(name: str, folder: Path) -> None:
    """Write the seeds of a target into a folder."""
    from tools.fuzz.targets import TARGETS

    for number, data in enumerate(TARGETS[name].seeds()):
        (folder / f"seed-{number}").write_bytes(data)


def _modules(package: Path) -> list[str]:
    files = (path.relative_to(package.parent) for path in package.rglob("*.py"))
    names = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files}
    return sorted(name for name in names if not name.endswith("__main__"))


def _is_reached(module: str, target: str) -> bool:
    """Whether the target runs a module: to instrument one takes its time."""
    if target == "npz":
        return module.startswith("treadle.cli.archive")
    return target in _RUNNING or not module.startswith(("treadle.jit", "treadle.delegate"))


def main() -> None:
    """Fuzz the target that the command line names, or write its seeds."""
    if sys.argv[1] == "--seeds":
        seed(sys.argv[2], Path(sys.argv[3]))
        return
    import atheris

    os.environ["TREADLE_DEBUG"] = "1"
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with atheris.instrument_imports(include=["treadle"]):
        import treadle

        for name in _modules(Path(treadle.__path__[0])):
            if _is_reached(name, sys.argv[1]):
                importlib.import_module(name)
    from tools.fuzz.targets import TARGETS

    warnings.simplefilter("error")
    name, *arguments = sys.argv[1:]
    target = TARGETS[name]
    change = target.change

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        dice = random.Random(seed)
        if change is None or dice.random() > _OWN_CHANGES:
            return bytes(atheris.Mutate(data, largest))
        return change(data, dice)[:largest]

    atheris.Setup(["fuzz", *arguments], target.attempt, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
