"""Fences work: a read beyond an array ends the process."""

import subprocess
import sys

import numpy as np
import pytest

from tests.jit.fenced_memory import fenced_arrays

PROGRAM = """
import ctypes
import numpy as np
from tests.jit.fenced_memory import fenced_arrays
with fenced_arrays():
    array = np.arange(6.0)
ctypes.c_double.from_address(array.ctypes.data + 8 * {place}).value
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is mapped as Linux does it")
@pytest.mark.parametrize(("place", "dies"), [(0, False), (5, False), (6, True), (-600, True)])
def test_a_read_beyond_an_array(place, dies):
    command = [sys.executable, "-X", "faulthandler", "-c", PROGRAM.format(place=place)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (done.returncode != 0) is dies, done.stderr.decode()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is mapped as Linux does it")
def test_numpy_computes_with_fenced_arrays():
    with fenced_arrays():
        made = np.resize(np.arange(6.0), 20)
        empty = np.zeros((0, 3))
        product = np.ones((3, 4)) @ np.ones((4, 2))
        many = [np.zeros(3) for _ in range(2000)]
        with pytest.raises(IndexError):
            np.take(np.arange(3), 5)
    assert made.tolist() == [*range(6), *range(6), *range(6), 0, 1]
    assert empty.sum() == sum(each.sum() for each in many) == 0
    assert product.tolist() == [[4.0, 4.0]] * 3
