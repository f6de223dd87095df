"""The header of a C library, valid in C99 and C++."""

from __future__ import annotations

__all__ = ["header"]

_TYPES = """\
#ifndef TREADLE_TYPES
#define TREADLE_TYPES 1

/* A tensor in memory: row-major, without gaps. `dtype` is ONNX's number of the element type
   (float32 is 1, int64 is 7). Data must be aligned for its elements, and outputs must not
   overlap inputs or each other. */
typedef struct treadle_tensor {
  void *data;
  int64_t *shape;
  int32_t rank;
  int32_t dtype;
} treadle_tensor;

/* One of the parts that some work is divided into. */
typedef void (*treadle_part)(void *data, int64_t number, int64_t parts);

/* Memory and bounds of a run. Set `size` to sizeof(treadle_run) and the other fields to zero, then
   the fields that are needed. */
typedef struct treadle_run {
  size_t size;
  /* At least NAME_workspace(in) bytes; two runs at the same time need one each. */
  void *workspace;
  /* Allocates outputs whose size is not known before the run: called with null and a size, it
     returns memory or null; called with memory and size 0, it frees the memory. Without it, such
     an output is allocated by realloc, and the caller must free it. */
  void *(*grow)(void *user, void *memory, size_t bytes);
  /* Asked every few milliseconds; anything but 0 stops the run. */
  int32_t (*poll)(void *user);
  /* Calls part(data, number, parts) for every number from 0 to parts - 1, on any threads, and
     returns once all are done. `nanoseconds` is about how long one thread would take. */
  void (*share)(void *user, treadle_part part, void *data, int64_t nanoseconds);
  /* What the three functions are given. */
  void *user;
  /* The most iterations of loops, and the most bytes that loops may hold; 0: no bound. */
  int64_t iterations;
  int64_t bytes;
} treadle_run;

enum {
  TREADLE_OK = 0,
  TREADLE_INDEX = 1,      /* an index is out of range */
  TREADLE_MEMORY = 2,     /* there is not enough memory */
  TREADLE_TRIP_COUNT = 3, /* the trip count is over the length of a sliced input */
  TREADLE_STOPPED = 4,    /* the poll stopped the run */
  TREADLE_SHAPES = 5,     /* no kernel fits the shapes and element types of the inputs */
  TREADLE_NUMBER = 6,     /* a number is none that the code was made for */
  TREADLE_ITERATIONS = 7, /* over the bound of iterations */
  TREADLE_BYTES = 8,      /* over the bound of bytes */
  TREADLE_ARGUMENT = 9    /* an argument is missing */
};

/* What a status says, in a sentence. */
const char *treadle_reason(int32_t status);

#endif
"""

_FUNCTIONS = """\
#define {upper}_INPUTS {inputs}
#define {upper}_OUTPUTS {outputs}
#define {upper}_RANK {rank} /* the highest rank of an output */

/* The version of this interface: 1. */
int32_t {name}_abi(void);

/* What the library is, as JSON: its kernels, with their inputs and outputs. */
const char *{name}_describe(void);

/* Sets rank, dtype and shape of the outputs for these inputs; `shape` must have room for
   {upper}_RANK numbers. An extent of -1 is not known before the run. */
int32_t {name}_shapes(const treadle_tensor in[], treadle_tensor out[]);

/* How many bytes of memory a run with these inputs needs as its workspace; 0 for none. */
size_t {name}_workspace(const treadle_tensor in[]);

/* Runs the model. The caller gives memory for each output whose shape {name}_shapes tells, and
   room for the shape of every output; the run gives the others memory. `run` may be null where
   no workspace is needed. It gives 0, or a status that treadle_reason explains; then the outputs
   hold nothing that can be used, and no memory is left to free.

   The library trusts its caller's pointers. It checks shapes, element types and every index that
   comes from data. It keeps nothing between runs: any number of threads may call it. */
int32_t {name}_run(const treadle_tensor in[], treadle_tensor out[], const treadle_run *run);
"""


def header(name: str, inputs: list[str], outputs: list[str], rank: int, version: str) -> str:
    """The header of the library `name`, whose model has these inputs and outputs."""
    lines = [f"   in[{k}]  {_shown(each)}" for k, each in enumerate(inputs)]
    lines += [f"   out[{k}] {_shown(each)}" for k, each in enumerate(outputs)]
    upper = name.upper()
    functions = _FUNCTIONS.format(
        name=name, upper=upper, inputs=len(inputs), outputs=len(outputs), rank=max(rank, 1)
    )
    listed = "\n".join(lines)
    return (
        f"/* {name}: a model compiled by treadle {version}.\n\n{listed} */\n"
        f"#ifndef {upper}_H\n#define {upper}_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
        f'#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{_TYPES}\n{functions}\n'
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )


def _shown(text: str) -> str:
    """A name that cannot end a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *")
