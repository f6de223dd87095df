"""A region made ready: a kernel for every signature seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from treadle.errors import RunError
from treadle.ir import Leaf, dtype_of
from treadle.jit.account import account
from treadle.jit.call import Compiled, Unmatched, run
from treadle.jit.compiling import compiled
from treadle.jit.cost import slower
from treadle.jit.faults import declining
from treadle.jit.foreseen import foreseen
from treadle.jit.held import HANDLE, entered
from treadle.jit.kernel_ir import Extent, Kernel
from treadle.jit.kernels import Kernels
from treadle.jit.lists import stacked, unstacked
from treadle.jit.memory import row_major
from treadle.jit.nodes import NATIVE, Declined
from treadle.jit.openings import Openings
from treadle.jit.outside import Varied
from treadle.jit.shaping import Shaping
from treadle.jit.shelter import aside
from treadle.jit.specialise import Known, Lengths, Signature, signature, specialise, trips
from treadle.jit.store import Store
from treadle.jit.team import least
from treadle.jit.walk import all_nodes, makes_objects
from treadle.plan import Account, Refused, Region, RunContext

_MOST_SHAPES, _MOST_KERNELS = 256, 32
_MOMENT = 0.005
_MOST_MISFITS = 2
_MISFIT = "shapes that change as it runs did not fit its code, twice in a row"
_UNFINISHED = "its native code is still being made, and a later run will find it"
Shapes = tuple[tuple[np.dtype[Any], tuple[int, ...]] | bytes, ...]
Found = tuple[Compiled, Mapping[Extent, int]] | str


@dataclass(eq=False, slots=True)
class Native:
    """The Runnable of a region.

    `lists` are the outputs that are sequences. `holding` are the inputs that are a loop's
    condition: kernels are made for true ones. `seen` are the shapes of late, with their kernel and
    the extents of the axes it leaves open, or why there is none. `kernels` are those of operators
    without native code. `misfits` counts by signature how often in a row its kernel did not fit the
    data; `careful` are the signatures whose kernels assume nothing of it.

    `is_deterministic`: what answers a run is chosen by its own data alone, never by what came
    before. So no axis is opened after some shapes, no kernel is made for values or assumes what
    another run may find untrue, and what one run finds out about the data changes nothing for later
    ones.
    """

    region: Region
    lengths: Lengths
    holding: tuple[int, ...] = ()
    known: Known = field(default_factory=dict)
    store: Store | None = None
    threads: int = 1
    lists: tuple[int, ...] = ()
    counts: bool = False
    weighs: bool = False
    kernels: Kernels = field(default_factory=Kernels)
    is_deterministic: bool = False
    made: dict[Signature, Compiled | str] = field(default_factory=dict)
    seen: dict[Shapes, Found] = field(default_factory=dict)
    openings: Openings = field(init=False)
    shaping: Shaping = field(default_factory=Shaping)
    misfits: dict[Signature, int] = field(default_factory=dict)
    careful: set[Signature] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """No shapes have come yet."""
        self.openings = Openings(self.lengths)
        if self.is_deterministic:
            self.openings.close()
            self.shaping = Shaping(most_values=0)

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Run it; Refused where there is no kernel for this data, or the kernel failed."""
        held: list[object] = []
        try:
            arrays = [self._array(number, value, held) for number, value in enumerate(inputs)]
            kernel, lengths = self._found(arrays, context)
            self._check_holding(arrays)
            results = self._run(kernel, arrays, lengths, context, held)
        except Declined as why:
            message = f"the native engine has no code for it: {why}"
            error = RunError(message, self.region.path)
            refused = Refused(error, is_lasting=self._is_hopeless())
            if isinstance(why, Varied) and not self.is_deterministic:
                self._vary(why.leaf)
            raise refused from why
        objects = kernel.kernel.objects
        for number in self.lists:
            if number not in objects:
                results[number] = unstacked(results[number])
        if objects:
            context.may_share = True
        return results

    def _run(
        self,
        kernel: Compiled,
        arrays: Sequence[np.ndarray],
        lengths: Mapping[Extent, int],
        context: RunContext,
        held: list[object],
    ) -> list[Any]:
        try:
            results = run(kernel, arrays, lengths, context, self.region.path, held)
        except Unmatched as unmatched:
            unmatched.answered = self._missed(arrays, kernel)
            raise
        if self.misfits:
            self._fitted(kernel)
        return results

    @property
    def gives_own(self) -> bool:
        """Nobody else has the memory of the results, but of what is held outside."""
        return True

    def _array(self, number: int, value: object, held: list[object]) -> np.ndarray:
        """The input as an array: what has no native form is held, and known by its number."""
        if isinstance(value, np.ndarray) and dtype_of(value.dtype) in NATIVE:
            return row_major(value)
        if isinstance(value, list):
            array = stacked(value, self.region.inputs[number].type)
            return entered(value, held) if array is None else array
        return entered(value, held)

    def accounts(self) -> list[Account]:
        """What was made for every signature that came; what is still being made is none of it."""
        made = dict(self.made)
        return [account(self.region.inputs, key, found) for key, found in made.items()]

    def foreseen(self) -> Account:
        """What is to be said before any data came; nothing is compiled, or kept of it."""
        return foreseen(self.region, self.lengths, self._thought_of)

    def _thought_of(self, key: Signature, lengths: Lengths) -> tuple[Kernel, Collection[Extent]]:
        kernel = settled(self, self._specialised(key, lengths))
        return kernel, exact(kernel, lengths)

    def _vary(self, leaf: Leaf) -> None:
        """Forget the kernels: others are made that expect no extents of its results."""
        if not self.kernels.vary(leaf):
            return
        with self._lock:
            self.made = {}
            self.seen.clear()

    def _is_hopeless(self) -> bool:
        """Whether there was no kernel for any data that came."""
        if self.is_deterministic:
            return False
        with self._lock:
            made = self.made.values()  # none where another thread has begun anew
            return bool(made) and all(isinstance(each, str) for each in made)

    def _check_holding(self, arrays: Sequence[np.ndarray]) -> None:
        for position in self.holding:
            array = arrays[position]
            if not (array.item() if array.size == 1 else array.all()):
                raise Declined("a loop whose condition is false from the start")

    def _missed(self, arrays: Sequence[np.ndarray], kernel: Compiled) -> Callable[[], None] | None:
        """A guard failed: the next kernel assumes nothing, or leaves nothing open.

        For a kernel that does neither, what to do where the data is not at fault.
        """
        if self.is_deterministic:
            return None
        with self._lock:
            lengths = self.openings.lengths(arrays)
            if kernel.kernel.assumes:
                self._assume_nothing(kernel)
            elif lengths is self.lengths:
                return partial(self._misfit, kernel)
            elif self._can_be(arrays):
                self.openings.miss(lengths)
                if self.openings.is_closed:
                    self.seen.clear()
        return None

    def _keys(self, kernel: Compiled) -> list[Signature]:
        return [key for key, made in self.made.items() if made is kernel]

    def _assume_nothing(self, kernel: Compiled) -> None:
        """Make another kernel in the place of this one."""
        for key in self._keys(kernel):
            self.careful.add(key)
            del self.made[key]
        self.seen.clear()

    def _misfit(self, kernel: Compiled) -> None:
        """Have no kernel for its signature any more where it did not fit twice in a row."""
        with self._lock:
            for key in self._keys(kernel):
                self.misfits[key] = self.misfits.get(key, 0) + 1
                if self.misfits[key] >= _MOST_MISFITS:
                    self.made[key] = _MISFIT
                    self.seen.clear()

    def _fitted(self, kernel: Compiled) -> None:
        """Forget how often the kernel did not fit before."""
        with self._lock:
            for key in self._keys(kernel):
                self.misfits.pop(key, None)

    def _can_be(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether a closed kernel could run this, so that an open one should have."""
        try:
            self._specialised(signature(arrays, self.lengths), self.lengths)
        except Declined:
            return False
        return True

    def _found(
        self, arrays: Sequence[np.ndarray], context: RunContext
    ) -> tuple[Compiled, Mapping[Extent, int]]:
        shapes: Shapes = tuple([(array.dtype, array.shape) for array in arrays])
        shaping = self.shaping.all
        if shaping:
            shapes = (*shapes, *(arrays[k].tobytes() for k in shaping))
        found = self.seen.get(shapes)
        if found is None:
            made = self.made
            found = self._awaited(arrays, context)
            if len(self.seen) >= _MOST_SHAPES:
                self.seen.clear()
            if shaping == self.shaping.all and made is self.made:
                self.seen[shapes] = found
        if isinstance(found, str):
            raise Declined(found)
        return found

    def _awaited(self, arrays: Sequence[np.ndarray], context: RunContext) -> Found:
        """What is sought, as long as the run may go on; what it waits for is done all the same."""
        seek = partial(self._sought, arrays)
        if not context.may_stop:
            return seek()
        poll = partial(context.poll, self.region.path, (), _UNFINISHED)
        while self._lock.locked():  # here: a thread for each run that waits would outlive it
            poll()
            time.sleep(_MOMENT)
        return aside(seek, poll)

    def _sought(self, arrays: Sequence[np.ndarray]) -> Found:
        with self._lock:
            lengths = self.openings.lengths(arrays)
            found = self._made(arrays, lengths)
            if isinstance(found, str) and lengths is not self.lengths:
                found = self._made(arrays, self.lengths)
                if not isinstance(found, str):
                    self.openings.close()
        return found

    def _made(self, arrays: Sequence[np.ndarray], lengths: Lengths) -> Found:
        key = self.shaping.valued(signature(arrays, lengths), arrays)
        if key not in self.made:
            self._evict()
            key = self._make(key, arrays, lengths)
        made = self.made[key] = self.made.pop(key)  # the least recently used one is first
        try:
            return made if isinstance(made, str) else (made, _extents(arrays, lengths))
        except Declined as why:
            return str(why)

    def _evict(self) -> None:
        """Make room for another kernel: the least recently used one goes.

        `seen` is cleared, so that each signature used from here on comes by `_made` once, which
        puts it last: a run that finds its shapes in `seen` pays nothing for that.
        """
        while len(self.made) >= _MOST_KERNELS:
            key = next(iter(self.made))
            del self.made[key]
            self.misfits.pop(key, None)
            self.careful.discard(key)
            self.shaping.forget(key)
            self.seen.clear()

    def _specialised(self, key: Signature, lengths: Lengths) -> Kernel:
        return specialise(
            self.region, key, lengths, self.known, self.kernels, parts=not self.weighs,
            may_assume=not self.is_deterministic and key not in self.careful,
        )  # fmt: skip

    def _make(self, key: Signature, arrays: Sequence[np.ndarray], lengths: Lengths) -> Signature:
        """Note the kernel of a signature; of the values too where its extents hang on them."""
        try:
            kernel = self._specialised(key, lengths)
            if self.shaping.found(key, kernel):
                self.seen.clear()
                open_key, key = key, self.shaping.valued(key, arrays)
                if key != open_key:
                    kernel = self._specialised(key, lengths)
            self.made[key] = compile_region(self, kernel, lengths)
        except Declined as why:
            self.made[key] = str(why)
        return key


def _extents(arrays: Sequence[np.ndarray], lengths: Lengths) -> Mapping[Extent, int]:
    found: dict[Extent, int] = {}
    native = {key: e for key, e in lengths.open.items() if arrays[key[0]].dtype != HANDLE}
    for (position, axis), extent in native.items():
        length = arrays[position].shape[axis]
        if found.setdefault(extent, length) != length:
            raise Declined("sliced values of several lengths")
    return found


@declining
def compile_region(native: Native, kernel: Kernel, lengths: Lengths) -> Compiled:
    """The kernel of a region as machine code."""
    kernel = settled(native, kernel)
    found = exact(kernel, lengths)
    code, machine = compiled(kernel, found, native.store)
    threads = native.threads if kernel.shares else 1
    return Compiled.of(kernel, code, machine, trips(kernel), found, threads, native.kernels)


def exact(kernel: Kernel, lengths: Lengths) -> Collection[Extent]:
    """The extents known before the kernel runs."""
    return {*lengths.open.values(), *trips(kernel)}


def settled(native: Native, kernel: Kernel) -> Kernel:
    """The kernel with what is asked of its code; Declined where that is not worth it."""
    region = native.region
    why = slower(region.steps, kernel, native.threads, native.kernels) if region.rival else ""
    if why:
        raise Declined(f"{region.rival} is expected to be faster: {why}")
    if native.weighs and any(map(makes_objects, all_nodes(kernel.main))):
        raise Declined("values held outside, whose bytes nobody counts")
    return replace(kernel, counts=native.counts, weighs=native.weighs, shares=least(native.threads))
