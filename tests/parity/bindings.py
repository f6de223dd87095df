"""Probes of IOBinding: runs with bound inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.parity.probes import X, ortvalue, probe, session, several


def _binding(ort: Any, bind: Callable[[Any], object]) -> Any:
    """What comes of a session that is run with what `bind` binds."""
    made = session(ort)
    binding = made.io_binding()
    binding.bind_cpu_input("X", X)
    bind(binding)
    binding.synchronize_inputs()
    made.run_with_iobinding(binding)
    binding.synchronize_outputs()
    copied = [value.copy() for value in binding.copy_outputs_to_cpu()]
    return copied, [value.numpy().copy() for value in binding.get_outputs()]


several(
    {
        "bound": lambda o: _binding(o, lambda b: b.bind_output("Y")),
        "bound_to_cpu": lambda o: _binding(o, lambda b: b.bind_output("Y", "cpu")),
        "bound_to_device": lambda o: _binding(o, lambda b: b.bind_output("Y", "cpu", 0)),
        "bound_nothing": lambda o: _binding(o, lambda b: None),
        "bound_unknown_input": lambda o: _binding(o, lambda b: b.bind_cpu_input("Q", X)),
        "bound_unknown_output": lambda o: _binding(o, lambda b: b.bind_output("Q")),
        "bound_a_list": lambda o: _binding(o, lambda b: b.bind_cpu_input("X", [1.0])),
        "bound_wrong_dtype": lambda o: _binding(
            o, lambda b: (b.bind_cpu_input("X", X.astype(np.int64)), b.bind_output("Y"))
        ),
        "bound_wrong_shape": lambda o: _binding(
            o, lambda b: (b.bind_cpu_input("X", X[:1]), b.bind_output("Y"))
        ),
        "bound_fortran": lambda o: _binding(
            o, lambda b: (b.bind_cpu_input("X", np.asfortranarray(X)), b.bind_output("Y"))
        ),
        "bound_no_device": lambda o: _binding(o, lambda b: b.bind_output("Y", "nothing")),
        "bound_an_address_alone": lambda o: _binding(
            o, lambda b: b.bind_output("Y", "cpu", 0, None, None, X.ctypes.data)
        ),
        "bound_too_small": lambda o: _binding(
            o, lambda b: b.bind_output("Y", "cpu", 0, np.float32, [2], X.copy().ctypes.data)
        ),
        "bound_another_dtype": lambda o: _binding(
            o, lambda b: b.bind_output("Y", "cpu", 0, np.int32, [3, 2], X.copy().ctypes.data)
        ),
        "bound_cleared": lambda o: _binding(
            o, lambda b: (b.bind_output("Y"), b.clear_binding_outputs())
        ),
        "bound_anew": lambda o: _binding(
            o,
            lambda b: (
                b.bind_output("Y"),
                b.clear_binding_inputs(),
                b.bind_cpu_input("X", X + 1),
            ),
        ),
        "bound_unfed": lambda o: _binding(
            o, lambda b: (b.bind_output("Y"), b.clear_binding_inputs())
        ),
    },
    "IOBinding.bind_cpu_input",
    "IOBinding.bind_output",
    "IOBinding.clear_binding_inputs",
    "IOBinding.clear_binding_outputs",
    "IOBinding.copy_outputs_to_cpu",
    "IOBinding.get_outputs",
    "IOBinding.synchronize_inputs",
    "IOBinding.synchronize_outputs",
    "InferenceSession.io_binding",
    "InferenceSession.run_with_iobinding",
)


@probe("IOBinding.bind_input", "IOBinding.bind_output", "InferenceSession.run_with_iobinding")
def bound_to_addresses(ort):
    made, x, y = session(ort), X.copy(), np.zeros_like(X)
    binding = made.io_binding()
    binding.bind_input("X", "cpu", 0, np.float32, [3, 2], x.ctypes.data)
    binding.bind_output("Y", "cpu", 0, 1, (3, 2), y.ctypes.data)
    made.run_with_iobinding(binding)
    first = y.copy()
    x += 1
    made.run_with_iobinding(binding, ort.RunOptions())
    return first, y, binding.get_outputs()[0].data_ptr() == y.ctypes.data


@probe("IOBinding.bind_ortvalue_input", "IOBinding.bind_ortvalue_output")
def bound_to_ortvalues(ort):
    made = session(ort)
    place = ort.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)
    binding = made.io_binding()
    binding.bind_ortvalue_input("X", ortvalue(ort, X))
    binding.bind_ortvalue_output("Y", place)
    made.run_with_iobinding(binding)
    (given,) = binding.get_outputs()
    return place.numpy().copy(), given.data_ptr() == place.data_ptr(), given.shape()


@probe("IOBinding.get_outputs_as_ortvaluevector", "IOBinding.get_outputs")
def bound_outputs_in_order(ort):
    made = session(ort, "open")
    binding = made.io_binding()
    binding.bind_cpu_input("X", X)
    binding.bind_cpu_input("Z", X)
    binding.bind_output("S")
    binding.bind_output("Y")
    made.run_with_iobinding(binding)
    vector = binding.get_outputs_as_ortvaluevector()
    return type(vector).__name__, [value.numpy().copy() for value in vector]


@probe("IOBinding.bind_ortvalue_input", "IOBinding.bind_ortvalue_output")
def bound_a_carried_value(ort):
    made, state = session(ort, "loop"), ortvalue(ort, np.ones(2, np.float32))
    binding = made.io_binding()
    binding.bind_ortvalue_input("h", state)
    binding.bind_ortvalue_output("last", state)
    found = []
    for trips in (2, 0, 1, 5):
        binding.bind_cpu_input("n", np.array(trips))
        made.run_with_iobinding(binding)
        found.append(state.numpy().copy())
    return found


@probe("InferenceSession.run_with_iobinding", "onnxruntime.IOBinding")
def bound_to_another_session(ort):
    return session(ort).run_with_iobinding(ort.IOBinding(session(ort)))


@probe("onnxruntime.IOBinding")
def bound_by_the_class(ort):
    made = session(ort)
    binding = ort.IOBinding(made)
    binding.bind_cpu_input("X", X)
    binding.bind_output("Y")
    made.run_with_iobinding(binding)
    copied = [value.copy() for value in binding.copy_outputs_to_cpu()]
    return isinstance(made.io_binding(), ort.IOBinding), copied


@probe("IOBinding.copy_outputs_to_cpu")
def bound_without_a_run(ort):
    binding = session(ort).io_binding()
    return binding.copy_outputs_to_cpu(), binding.get_outputs()
