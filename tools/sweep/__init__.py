"""The sweep: operators at the limits of their types, on onnxruntime, interp and native code.

    python -m tools.sweep                all operators: writes the table of known bugs and its page
    python -m tools.sweep --seconds 60   as many as fit into a minute, evenly; writes nothing
    python -m tools.sweep --only Max     one operator, in detail

Where the parties differ, `standard.py` decides: exact whole numbers and onnx.reference. Who differs
from it beyond the table of tolerances is in the table. onnxruntime runs in a child process, which
may die.
"""
