"""Adapters for pools with dilations or ceil_mode: as convolutions, or with explicit pads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treadle.ir import Leaf, Value
from treadle.passes.versions.adapters.steps import first, having, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down


@dataclass(frozen=True, slots=True)
class Window:
    """One spatial axis of a pool: its extent, and the geometry of its windows."""

    extent: int
    kernel: int
    stride: int
    dilation: int
    before: int
    behind: int
    count: int

    @property
    def reach(self) -> int:
        """The span of a window, from its first item to after its last one."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def missing(self) -> int:
        """The items after the pads that the last window needs."""
        return (self.count - 1) * self.stride + self.reach - self.extent - self.before - self.behind

    def items(self, *, with_pads: bool) -> np.ndarray:
        """The number of items of each window; pads count if the attribute says so."""
        starts = np.arange(self.count) * self.stride - self.before
        places = starts[:, None] + np.arange(self.kernel) * self.dilation
        low, high = (-self.before, self.extent + self.behind) if with_pads else (0, self.extent)
        inside: np.ndarray = (places >= low) & (places < high)
        counts: np.ndarray = inside.sum(1)
        return counts


def windows(at: Rewriter, step: Leaf) -> list[Window]:
    """The spatial axes of a pool; raises NoForm if an extent is unknown."""
    given, shape, result = at.attributes(step), at.shape(first(step)), at.shape(step.results[0])
    spatial = [n for n in (shape or ())[2:] if isinstance(n, int)]
    counts = [n for n in (result or ())[2:] if isinstance(n, int)]
    kernel = given["kernel_shape"]
    if len(spatial) != len(kernel) or len(counts) != len(kernel):
        raise NoForm("a pool whose form depends on unknown extents", "fix the extents")
    ones = [1] * len(kernel)
    strides, dilations = given.get("strides", ones), given.get("dilations", ones)
    found = []
    for k, (extent, count) in enumerate(zip(spatial, counts, strict=True)):
        before, behind = _pads(
            given, k, len(kernel), extent, count, strides[k], (kernel[k] - 1) * dilations[k] + 1
        )
        found.append(Window(extent, kernel[k], strides[k], dilations[k], before, behind, count))
    return found


def _pads(
    given: dict[str, object], k: int, rank: int, extent: int, count: int, stride: int, reach: int
) -> tuple[int, int]:
    mode = given.get("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        total = max((count - 1) * stride + reach - extent, 0)
        small = total // 2
        return (small, total - small) if mode == "SAME_UPPER" else (total - small, small)
    pads = given.get("pads")
    return (pads[k], pads[k + rank]) if isinstance(pads, list) else (0, 0)


def _is_plain(at: Rewriter, step: Leaf, *names: str) -> bool:
    given = at.attributes(step)
    dilated = "dilations" in names and any(n != 1 for n in given.get("dilations") or ())
    return not dilated and not ("ceil_mode" in names and given.get("ceil_mode"))


@down("AveragePool", 19)
def average_without_dilations(at: Rewriter, step: Leaf) -> Adapted:
    """A convolution with ones, divided by the number of items."""
    if _is_plain(at, step, "dilations"):
        return without(step, "dilations")
    return _average(at, step)


@down("AveragePool", 10)
def average_rounded_down(at: Rewriter, step: Leaf) -> Adapted:
    """Add pads for the last windows, which do not count."""
    if _is_plain(at, step, "ceil_mode"):
        return without(step, "ceil_mode")
    if at.attributes(step)["count_include_pad"]:
        return _average(at, step)
    return _padded(step, windows(at, step))


@down("MaxPool", 10)
def greatest_rounded_down(at: Rewriter, step: Leaf) -> Adapted:
    """Add pads for the last windows, which are never the maximum."""
    if not _is_plain(at, step, "dilations"):
        return _greatest(at, step)
    plain = without(step, "ceil_mode", "dilations")
    return plain if _is_plain(at, step, "ceil_mode") else _padded(plain, windows(at, step))


@down("LpPool", 18)
def norm_without_dilations(at: Rewriter, step: Leaf) -> Adapted:
    """The root of a convolution of powers with ones."""
    if _is_plain(at, step, "dilations", "ceil_mode"):
        return without(step, "dilations", "ceil_mode")
    x, power = first(step), at.attributes(step)["p"]
    powers = at.op("Pow", at.op("Abs", x), at.scalar_like(x, power))
    summed = _sums(at, step, powers, windows(at, step))
    return at.op("Pow", summed, at.scalar_like(x, 1 / power))


def _greatest(at: Rewriter, step: Leaf) -> Value:
    """The maximum of each window, one axis after the other."""
    if any(step.results[1:]):
        raise NoForm("the positions of maxima have no form with dilations before opset 10")
    x, found = first(step), windows(at, step)
    rank = at.rank(x)
    before = [0, 0, *(each.before for each in found)]
    behind = [0, 0, *(max(each.behind, each.behind + each.missing) for each in found)]
    x = at.op("Pad", x, mode="constant", pads=[*before, *behind], value=float("-inf"))
    for axis, each in enumerate(found, rank - len(found)):
        places = np.arange(each.count)[:, None] * each.stride
        places = places + np.arange(each.kernel) * each.dilation
        x = at.op("Gather", x, at.const(places), axis=axis)
        x = at.reduce("ReduceMax", x, [axis + 1], keepdims=False)
    return x


def _padded(step: Leaf, found: list[Window]) -> Leaf:
    behind = [each.behind + max(each.missing, 0) for each in found]
    pads = [*(each.before for each in found), *behind]
    return having(without(step, "ceil_mode", "auto_pad"), pads=pads)


def _average(at: Rewriter, step: Leaf) -> Value:
    found = windows(at, step)
    with_pads = bool(at.attributes(step)["count_include_pad"])
    counts = np.ones(())
    for each in found:
        counts = counts[..., None] * np.maximum(each.items(with_pads=with_pads), 1)
    summed = _sums(at, step, first(step), found)
    return at.op("Div", summed, at.const(counts, at.dtype(first(step))))


def _sums(at: Rewriter, step: Leaf, x: Value, found: list[Window]) -> Value:
    """The sum of each window, channel by channel."""
    shape = at.shape_of(x)
    single = at.op("Reshape", x, at.concat(at.ints(-1, 1), at.slice(shape, 2, 2**31, 0)))
    ones = at.const(np.ones((1, 1, *(each.kernel for each in found))), at.dtype(x))
    behind = [max(each.behind + each.missing, 0) for each in found]
    summed = at.op(
        "Conv", single, ones,
        strides=[each.stride for each in found],
        dilations=[each.dilation for each in found],
        pads=[*(each.before for each in found), *behind],
    )  # fmt: skip
    counts = at.ints(*(each.count for each in found))
    return at.op("Reshape", summed, at.concat(at.slice(shape, 0, 2, 0), counts))
