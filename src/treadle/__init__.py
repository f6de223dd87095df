"""treadle runs, checks, explains and rewrites the control flow of neural-network graphs."""

from treadle.api import check, infer, load, operator, repair, save
from treadle.errors import Finding, TreadleError
from treadle.options import RunOptions, SessionOptions
from treadle.session import InferenceSession
from treadle.single import Operator
from treadle.tracing import Recorder

__version__ = "0.1.0"

__all__ = [
    "Finding",
    "InferenceSession",
    "Operator",
    "Recorder",
    "RunOptions",
    "SessionOptions",
    "TreadleError",
    "check",
    "infer",
    "load",
    "operator",
    "repair",
    "save",
]
