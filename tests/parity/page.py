"""docs/onnxruntime-api.md: every public name of onnxruntime, and whether treadle has it."""

from __future__ import annotations

from collections.abc import Iterator

import onnxruntime

from treadle import parity

HEAD = """# onnxruntime's Python API

`import treadle as onnxruntime` moves a program over. This page goes over every public name of
onnxruntime {version} and says of each whether it is the same in treadle: it takes what it takes
there, gives what it gives there, and raises an error that is also the one raised there. A test
calls what is the same on both packages and compares. `pytest tests/parity --update-golden` writes
this page anew.

* **same**: a call gives the same. What is *onnxruntime's own* is the very object of onnxruntime,
  taken from it when it is asked for: an `OrtValue` of one package is an `OrtValue` of the other.
* **differs**: it is there, and the reason says what is different.
* **missing**: it is not there; `AttributeError` says what to use instead, as this page does.

Errors of treadle are `InputError` and others ([errors.py](../src/treadle/errors.py)); they are
`ValueError`, `TypeError` or `RuntimeError` where onnxruntime raises those, and where a program
has loaded onnxruntime they are instances of its classes (`InvalidArgument`, `Fail`, ...) as well.

## Providers: what runs where

`providers=[...]` names the execution providers that onnxruntime gets for the parts of a model it
runs. What `session.explain()` calls `onnxruntime` runs on the first of them that takes each
operator; loops that treadle compiles (`jit`) and what it evaluates itself (`interp`) run on the
processor, and the values that go between are copied. A model without control flow goes to the
provider as a whole. To leave loops to the provider too, name the engines:
`engines=["onnxruntime", "interp"]`.

One that this build of onnxruntime does not have is warned of, as there, and left out;
`session.get_providers()` tells those that are left, as onnxruntime registered them. Where it
refuses their options, the session falls back to the processor with a warning, or raises
`ConfigurationError` after `enable_fallback=False`. A part that fails on a provider in a run is
done again by treadle.

Tested are the processor and providers without a device of their own; GPU providers are not.

```python
import numpy as np
import treadle as onnxruntime

model = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) {{ y = Neg (x) }}'
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
assert session.get_providers() == ["CPUExecutionProvider"]

state = onnxruntime.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32))
binding = session.io_binding()
binding.bind_ortvalue_input("x", state)
binding.bind_ortvalue_output("y", state)
session.run_with_iobinding(binding)
assert state.numpy().tolist() == [-1, -1]
```
"""
VERSION = "1.32.0"
"""The version of onnxruntime the page was made with; the names of others are not looked at."""

OWNERS = (
    "onnxruntime", "InferenceSession", "SessionOptions", "RunOptions", "IOBinding", "OrtValue",
    "SparseTensor", "OrtDevice", "NodeArg", "ModelMetadata", "LoraAdapter",
)  # fmt: skip


def names_of(owner: str) -> list[str]:
    """The public names of onnxruntime itself, or of a class of it."""
    thing = onnxruntime if owner == "onnxruntime" else getattr(onnxruntime, owner)
    return [name for name in dir(thing) if not name.startswith("_")]


def is_shared(owner: str, name: str) -> bool:
    """Whether it is onnxruntime's own."""
    return (name if owner == "onnxruntime" else owner) in parity.SHARED


def standing(owner: str, name: str) -> tuple[str, str]:
    """Whether it is the same, differs or is missing, and why."""
    for word, table in (("missing", parity.MISSING), ("differs", parity.DIFFERS)):
        why = table.get(owner, {}).get(name)
        if why:
            return word, why
    return "same", "onnxruntime's own" if is_shared(owner, name) else ""


def text() -> str:
    """The page as it should be."""
    return "\n".join([HEAD.format(version=VERSION), *map(_section, OWNERS)])


def _section(owner: str) -> str:
    return f"## {owner}\n\n| name | | why, or what to use |\n|---|---|---|\n" + "".join(
        _rows(owner)
    )


def _rows(owner: str) -> Iterator[str]:
    for name in names_of(owner):
        word, why = standing(owner, name)
        yield f"| `{name}` | {word} | {why} |\n"
