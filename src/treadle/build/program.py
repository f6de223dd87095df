"""The test program of a library: runs the model once and compares the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle.ir import dtype_of
from treadle.report import Tolerance, tolerance_of

__all__ = ["test_program"]

_HEAD = """\
/* Runs {name} once and compares its outputs with those of treadle.

   cc -std=c99 test/main.c TARGET/lib{name}.a -lm -o test_{name} && ./test_{name} */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../{name}.h"

"""
_BODY = """\
static double of_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double of_half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  if (exponent == 31) size = fraction ? NAN : INFINITY;
  return bits & 0x8000 ? -size : size;
}

static double number(const void *data, size_t k, int32_t dtype) {
  if (dtype == 1) return ((const float *)data)[k];
  if (dtype == 11) return ((const double *)data)[k];
  if (dtype == 10) return of_half(((const uint16_t *)data)[k]);
  return of_float((uint32_t)((const uint16_t *)data)[k] << 16);
}

static int is_equal(double found, double wanted, double relative, double absolute) {
  if (isnan(wanted)) return isnan(found);
  if (isinf(wanted)) return found == wanted;
  return fabs(found - wanted) <= absolute + relative * fabs(wanted);
}

static int is_float(int32_t dtype) {
  return dtype == 1 || dtype == 10 || dtype == 11 || dtype == 16;
}

static int differs(const treadle_tensor *found, const treadle_tensor *wanted, size_t item,
                   double relative, double absolute, int number_of) {
  size_t size = 1, k;
  int32_t axis;
  if (found->rank != wanted->rank || found->dtype != wanted->dtype) return 1;
  for (axis = 0; axis < wanted->rank; axis++) {
    if (found->shape[axis] != wanted->shape[axis]) {
      printf("output %d: extent %d is %lld, wanted %lld\\n", number_of, (int)axis,
             (long long)found->shape[axis], (long long)wanted->shape[axis]);
      return 1;
    }
    size *= (size_t)wanted->shape[axis];
  }
  if (!is_float(wanted->dtype)) {
    if (size == 0 || !memcmp(found->data, wanted->data, size * item)) return 0;
    printf("output %d differs\\n", number_of);
    return 1;
  }
  for (k = 0; k < size; k++) {
    double one = number(found->data, k, wanted->dtype);
    double other = number(wanted->data, k, wanted->dtype);
    if (!is_equal(one, other, relative, absolute)) {
      printf("output %d: element %lu is %.9g, wanted %.9g\\n", number_of, (unsigned long)k, one,
             other);
      return 1;
    }
  }
  return 0;
}

"""
_MAIN = """\
int main(void) {{
  static const size_t item[] = {{{items}}};
  static const double tolerance[][2] = {{{tolerances}}};
  treadle_tensor in[] = {{{inputs}}};
  treadle_tensor wanted[] = {{{outputs}}};
  static int64_t shape[{upper}_OUTPUTS][{upper}_RANK];
  treadle_tensor out[{upper}_OUTPUTS];
  int is_mine[{upper}_OUTPUTS];
  treadle_run run;
  int32_t status;
  int k, axis, failures = 0;

  memset(out, 0, sizeof out);
  memset(&run, 0, sizeof run);
  run.size = sizeof run;
  for (k = 0; k < {upper}_OUTPUTS; k++) out[k].shape = shape[k];
  status = {name}_shapes(in, out);
  for (k = 0; k < {upper}_OUTPUTS && !status; k++) {{
    size_t bytes = item[k];
    is_mine[k] = 1;
    for (axis = 0; axis < out[k].rank; axis++) {{
      if (shape[k][axis] < 0) is_mine[k] = 0;
      bytes *= (size_t)(shape[k][axis] < 0 ? 0 : shape[k][axis]);
    }}
    out[k].data = is_mine[k] ? malloc(bytes + 1) : NULL;
  }}
  if (!status && {name}_workspace(in)) run.workspace = malloc({name}_workspace(in));
  if (!status) status = {name}_run(in, out, &run);
  if (status) {{
    printf("{name}: %s\\n", treadle_reason(status));
    return 1;
  }}
  for (k = 0; k < {upper}_OUTPUTS; k++) {{
    failures += differs(&out[k], &wanted[k], item[k], tolerance[k][0], tolerance[k][1], k);
    free(out[k].data);
  }}
  free(run.workspace);
  printf(failures ? "{name}: %d outputs differ\\n" : "{name}: the outputs are right\\n", failures);
  return failures != 0;
}}
"""
_WORDS = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
_PER_LINE = 8


def test_program(
    name: str,
    numbers: Mapping[str, int],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
) -> str:
    """The program; `numbers` maps element types to ONNX's numbers."""
    arrays = [_array(f"in_{k}", array) for k, array in enumerate(inputs)]
    arrays += [_array(f"out_{k}", array) for k, array in enumerate(outputs)]
    bounds = [_tolerance(array) for array in outputs]
    main = _MAIN.format(
        name=name,
        upper=name.upper(),
        items=", ".join(str(array.itemsize) for array in outputs),
        tolerances=", ".join(f"{{{b.relative!r}, {b.absolute!r}}}" for b in bounds),
        inputs=_tensors("in", inputs, numbers) or "{0}",
        outputs=_tensors("out", outputs, numbers),
    )
    return _HEAD.format(name=name) + "\n".join(arrays) + "\n" + _BODY + main


def _tolerance(array: np.ndarray) -> Tolerance:
    return tolerance_of(dtype_of(array.dtype))


def _tensors(name: str, arrays: Sequence[np.ndarray], numbers: Mapping[str, int]) -> str:
    return ", ".join(
        f"{{(void *){name}_{k}, (int64_t *){name}_{k}_shape, {array.ndim},"
        f" {numbers[str(dtype_of(array.dtype))]}}}"
        for k, array in enumerate(arrays)
    )


def _array(name: str, array: np.ndarray) -> str:
    """The elements as integers of their width, bit by bit, and the shape."""
    words = np.ascontiguousarray(array).reshape(-1).view(f"<u{array.itemsize}")
    suffix = "ull" if array.itemsize == 8 else "u"
    shown = [f"{int(word):#x}{suffix}" for word in words] or ["0"]
    lines = [", ".join(shown[k : k + _PER_LINE]) for k in range(0, len(shown), _PER_LINE)]
    shape = ", ".join(map(str, array.shape)) or "0"
    elements = ",\n  ".join(lines)
    return (
        f"static const {_WORDS[array.itemsize]} {name}[] = {{\n  {elements}}};\n"
        f"static const int64_t {name}_shape[] = {{{shape}}};"
    )
