"""Makes treadle's errors instances of onnxruntime's too, for programs that catch those.

onnxruntime's errors are classes of its own, without a common base. If a program has imported
onnxruntime, a treadle error that leaves a public function becomes an instance of the matching class
too:

    except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: ...

Its name, text, attributes and treadle's own classes stay as they are.
"""

from __future__ import annotations

import sys

from treadle import errors
from treadle.errors import TreadleError

__all__ = ["join_peers"]

_BINDING = "onnxruntime.capi.onnxruntime_pybind11_state"
_FAILED = ("Fail", "RuntimeException", "InvalidArgument")
_PEERS: tuple[tuple[type[TreadleError], tuple[str, ...]], ...] = (
    (errors.InputError, _FAILED),
    (errors.Terminated, ("Fail", "ModelLoadCanceled")),
    (errors.RunError, _FAILED),
    (errors.LoadError, ("InvalidProtobuf", "NoSuchFile", "InvalidArgument", "Fail")),
    (errors.InvalidModel, ("InvalidGraph", "Fail", "InvalidArgument")),
    (errors.Unsupported, ("NotImplemented", "Fail")),
)


def join_peers(error: Exception) -> None:
    """Make a treadle error an instance of onnxruntime's class too, if onnxruntime is imported."""
    binding = sys.modules.get(_BINDING)
    if binding is None or not isinstance(error, TreadleError):
        return
    for kind, names in _PEERS:
        if isinstance(error, kind):
            found = tuple(getattr(binding, name) for name in names if hasattr(binding, name))
            error.__class__ = _joined(error.plain_class(), found)
            return


_made: dict[type[TreadleError], type[TreadleError]] = {}


def _joined(kind: type[TreadleError], peers: tuple[type[Exception], ...]) -> type[TreadleError]:
    if kind not in _made:
        named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "_plain": kind}
        _made[kind] = type(kind.__name__, (kind, *peers), named)
    return _made[kind]
