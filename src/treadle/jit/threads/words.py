"""The words of 64 bits by which runs and the workers of the thread pool communicate.

The words of the pool come first, then those of each worker, `WORKER_WORDS` apart; a parallel nest
has words of its own, in the frame of its kernel.
"""

from __future__ import annotations

from enum import IntEnum

SERVE, SHARE = "treadle_serve", "treadle_share"
"""The functions of the pool: a worker's thread, and fork and join (`codegen/threads`)."""
WORKER_WORDS = 16
"""The words of a worker: two cache lines, which no other worker writes to."""
NEST_WORDS = 16


class PoolWord(IntEnum):
    """The pool. `WAITS`: always use the workers, and wait for them; `MODE`: 1 is in parallel.

    `DECIDER` is the nest whose times decide the mode, `OTHER_WORK` the nanoseconds of others since
    its last call; `STALLED`: a worker was preempted inside its chunk; `BACKOFF` is the length of
    the next pause in patiences, `PAUSE_LEFT` the nanoseconds until the current one ends.
    """

    WORKERS = 0
    PATIENCE = 1
    WAITS = 2
    MODE = 3
    DECIDER = 4
    OTHER_WORK = 5
    STALLED = 6
    BACKOFF = 7
    PAUSE_LEFT = 8


class WorkerWord(IntEnum):
    """A worker: its state, its call `FUNCTION(DATA, INDEX, CHUNKS)`, and where it sleeps."""

    STATE = 0
    FUNCTION = 1
    DATA = 2
    ASLEEP = 3
    CHUNKS = 4
    INDEX = 5
    SEMAPHORE = 6


class NestWord(IntEnum):
    """A parallel nest: its previous call, the measuring period, and the least times of calls.

    Times are per nanosecond of estimated cost, in 1/1024; `AGE` counts periods in parallel.
    """

    TIME = 1
    COST = 2
    CALLS = 3
    WORK = 4
    PERIOD = 5
    SERIAL_TIME = 6
    PARALLEL_TIME = 7
    WAS_PARALLEL = 8
    AGE = 9


class State(IntEnum):
    """A worker's call is offered to it, taken by it, or done by either; or it should sleep."""

    OFFERED = 1
    TAKEN = 2
    DONE = 3
    SLEEP = 4
