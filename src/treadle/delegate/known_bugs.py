"""Leaves that onnxruntime computes wrongly; each was measured on release 1.31.

DFT, STFT             off by 1e-4 where the transform is zero
MaxUnpool             with output_shape: the indices are taken as those of the smaller output
Attention             masked entries of qk_matmul_output are the lowest number, not -inf
Dropout               in training: another generator of random numbers than the standard's cases
BatchNormalization    in training, over float16: the running mean and variance are written into the
                      session's own constants, so that every run begins where the last one ended
Resize, align_corners the resized length is rounded before the corners are aligned
Einsum, ReduceMean .. int32 and int64 are added as float64: 2**53 + 1 is 2**53, and a sum that is
                      too large is the largest number instead of wrapping around
Mod, fmod=1           64-bit numbers are divided as float64
Shrink                over float64: the bias is subtracted in float32
LinearClassifier      PROBIT of one score for two classes: one column is uninitialised, also in
                      SVMClassifier, while SVMRegressor does not apply it
TreeEnsembleClassi.   two classes with a score each: labels are 1 and 0, of the second score's sign;
                      a label of text alone kills the process
TreeEnsembleRegressor of several targets: base values are left out of those no leaf adds to
Col2Im                with dilations, over images of one axis or of three: elements are misplaced
Gather                over text: of every row it takes, only the first element is copied
ConcatFromSequence    of an empty tensor that does not fit the others: elements are old memory
StringSplit           without a delimiter: white space other than the blank does not split
Pools                 of fewer elements than the kernel reaches over, by strides above 1: one
                      window more than the standard's rounding down gives
                      dilated, with auto_pad SAME: the dilations are left out of the padding
Pools, Conv           with auto_pad SAME and a stride beyond the kernel: the first window starts
                      inside the input, as if the padding were negative
MeanVarianceNormali.  the variance is a difference, and NaN comes of one that rounds below 0
ConvTranspose         with auto_pad SAME or output_shape: padding that would be negative is left out
TreeEnsemble          the numbers of the transforms SOFTMAX and LOGISTIC are exchanged
Squeeze               of axes that are given, but none: every axis of extent 1 is removed
AffineGrid            with align_corners: an only pixel of an axis is at 1, not at -1
NonZero               of a scalar: it has a row of positions, as of a vector
CenterCropPad         a shape of fewer extents than axes is accepted
NaN as an attribute   it is read as an attribute that is left out: Attention's scale, clip of RNN
Cast to text          of float64: 8 digits are written, and numbers that differ become equal

Wrong integer results of ReduceSum, Max, Slice and others are avoided by `exact.py`, wrong results
for NaN and infinities, and of saturated products of bytes, by `workarounds`. Operators in the
integer rows of `known_bugs.tsv` that no file covers stay with interp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from treadle.checks import bugs_of
from treadle.delegate.exact import rewrites
from treadle.delegate.kernels import installed_release
from treadle.infer import is_short_pool
from treadle.ir import DType, Leaf, Tensor, Type, Value

_Rule = Callable[[Leaf], bool]

_SUMS = ("Einsum", "ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
_POOLS = ("AveragePool", "LpPool", "MaxPool")
_OUTPUT_SHAPE, _TRAINING_MODE, _QK_OUTPUT = 2, 2, 3
_PAIR = 2
_IMAGE_AXES = 2


def known_bug(step: Leaf) -> str:
    """The known defect of onnxruntime for the leaf; "" if there is none."""
    rule, reason = _RULES.get((step.domain, step.op), (_never, ""))
    if rule(step):
        return f"onnxruntime {reason}"
    unread = next((name for name in step.attributes if _is_nan(step, name)), "")
    if unread:
        return f"onnxruntime leaves out the attribute {unread}, which is NaN"
    bugs = () if rewrites(step) else bugs_of(step, installed_release())
    edges = ", ".join(bug.edge for bug in bugs)
    return f"onnxruntime is wrong about whole numbers near {edges}" if bugs else ""


def _always(step: Leaf) -> bool:
    return True


def _never(step: Leaf) -> bool:
    return False


def _has_output_shape(step: Leaf) -> bool:
    return _operand(step, _OUTPUT_SHAPE) is not None


def _may_train(step: Leaf) -> bool:
    return _operand(step, _TRAINING_MODE) is not None


def _trains_narrow(step: Leaf) -> bool:
    value, training = step.operands[0], step.attributes.get("training_mode")
    type_ = value.type if value is not None else None
    is_wide = isinstance(type_, Tensor) and type_.dtype in (DType.FLOAT32, DType.FLOAT64)
    return training is not None and bool(training.value) and not is_wide


def _is_nan(step: Leaf, name: str) -> bool:
    value = step.attributes[name].value
    return isinstance(value, float) and value != value and step.op != "Constant"


def _shows_masked(step: Leaf) -> bool:
    shown = len(step.results) > _QK_OUTPUT and step.results[_QK_OUTPUT] is not None
    return shown and (
        bool(_whole(step, "is_causal")) or _whole(step, "qk_matmul_output_mode") not in range(4)
    )


def _exchanges_transforms(step: Leaf) -> bool:
    return _whole(step, "post_transform") in (1, 2)


def _may_lack_extents(step: Leaf) -> bool:
    """Whether it is not known that CenterCropPad has as many extents as axes."""
    image, shape = (None if each is None else each.inferred for each in step.operands[:2])
    axes, known = len(_list(step, "axes")), isinstance(shape, Tensor) and shape.shape
    if not axes and isinstance(image, Tensor) and image.shape is not None:
        axes = len(image.shape)
    return not axes or not known or known[0] != axes


def _may_be_scalar(step: Leaf) -> bool:
    value = _operand(step, 0)
    type_ = value.inferred if value is not None else None
    return not isinstance(type_, Tensor) or not type_.shape


def _may_have_no_axes(step: Leaf) -> bool:
    """Whether axes are given and not known to be one or more."""
    axes = _operand(step, 1)
    if axes is None:
        return "axes" in step.attributes and not _list(step, "axes")
    shape = axes.inferred.shape if isinstance(axes.inferred, Tensor) else None
    return not shape or not isinstance(shape[0], int) or shape[0] == 0


def _may_align_one_pixel(step: Leaf) -> bool:
    made = step.results[0]
    shape = made.inferred.shape if made is not None and isinstance(made.inferred, Tensor) else None
    return bool(_whole(step, "align_corners")) and (
        shape is None or any(not isinstance(extent, int) or extent == 1 for extent in shape[1:-1])
    )


def _counts(step: Leaf) -> bool:
    value = step.operands[0]
    type_ = value.type if value is not None else None
    return isinstance(type_, Tensor) and type_.dtype in (DType.INT32, DType.INT64)


def _is_double(step: Leaf) -> bool:
    type_ = _type(step, 0)
    return isinstance(type_, Tensor) and type_.dtype is DType.FLOAT64


def _divides_as_float(step: Leaf) -> bool:
    value, fmod = step.operands[0], step.attributes.get("fmod")
    type_ = value.type if value is not None else None
    is_wide = isinstance(type_, Tensor) and type_.dtype in (DType.INT64, DType.UINT64)
    return fmod is not None and bool(fmod.value) and is_wide


def _leaves_a_column(step: Leaf) -> bool:
    """Whether PROBIT of one score for two classes fills only one column of two."""
    if not _is_probit(step) or _labels(step) != _PAIR:
        return False
    if step.op == "LinearClassifier":
        return len(_list(step, "intercepts")) == 1
    return bool(_list(step, "vectors_per_class")) and not _list(step, "prob_a")


def _confuses_trees(step: Leaf) -> bool:
    """Whether a tree classifier has two classes in a form that onnxruntime confuses.

    These are one score for each class, base values, or string labels that are not two.
    """
    labels = _labels(step)
    if labels == 1:
        return bool(_list(step, "classlabels_strings"))
    if labels != _PAIR:
        return False
    is_single = len(set(_list(step, "class_ids"))) == 1
    return not is_single or len(_list(step, "base_values")) == _PAIR or _is_probit(step)


def _drops_base_values(step: Leaf) -> bool:
    targets = step.attributes.get("n_targets")
    return bool(_list(step, "base_values")) and targets is not None and targets.value != 1


def _is_probit(step: Leaf) -> bool:
    transform = step.attributes.get("post_transform")
    return transform is not None and transform.value == b"PROBIT"


def _labels(step: Leaf) -> int:
    names = ("classlabels_strings", "classlabels_ints", "classlabels_int64s")
    return max(len(_list(step, name)) for name in names)


def _list(step: Leaf, name: str) -> Sequence[object]:
    attribute = step.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, tuple) else ()


def _moves_rows_of_text(step: Leaf) -> bool:
    type_, source = _type(step, 0), _operand(step, 0)
    if source is None or not isinstance(type_, Tensor) or type_.dtype is not DType.STRING:
        return False
    shape = source.inferred.shape if isinstance(source.inferred, Tensor) else None
    if shape is None:
        return True
    axis = _whole(step, "axis") % max(len(shape), 1)
    return any(extent != 1 for extent in shape[axis + 1 :])


def _dilates_images(step: Leaf) -> bool:
    """Whether the blocks of Col2Im have gaps in an image of other than two axes."""
    dilations = _list(step, "dilations")
    return len(dilations) != _IMAGE_AXES and any(each != 1 for each in dilations)


def _miscounts_windows(step: Leaf) -> bool:
    is_dilated = any(each != 1 for each in _list(step, "dilations"))
    return is_short_pool(step) or (_is_same(step) and is_dilated) or _pads_less_than_nothing(step)


def _pads_less_than_nothing(step: Leaf) -> bool:
    """Whether auto_pad is SAME and the windows may have gaps between them."""
    return _is_same(step) and any(
        stride > (extent - 1) * dilation + 1
        for extent, stride, dilation in zip_longest(
            _kernel(step), _integers(step, "strides"), _integers(step, "dilations"), fillvalue=1
        )
    )


def _may_pad_below_0(step: Leaf) -> bool:
    """Whether the result is not known to be at most as long as all that is scattered into it."""
    wanted = _integers(step, "output_shape")
    if not wanted or _pads_less_than_nothing(step):
        return _pads_less_than_nothing(step)
    type_ = step.operands[0].inferred if step.operands[0] is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    extents = [dim for dim in (shape or ())[2:] if isinstance(dim, int)]
    kernel = _kernel(step)
    if shape is None or len(extents) != len(shape) - 2 or len(kernel) != len(extents):
        return True
    strides, gaps = (
        _integers(step, name) or [1] * len(kernel) for name in ("strides", "dilations")
    )
    more = _integers(step, "output_padding") or [0] * len(kernel)
    sides = zip(wanted[-len(kernel) :], extents, kernel, strides, gaps, more, strict=False)
    return any(
        stride * (extent - 1) + rest + (size - 1) * gap + 1 < length
        for length, extent, size, stride, gap, rest in sides
    )


def _is_same(step: Leaf) -> bool:
    found = step.attributes.get("auto_pad")
    return found is not None and found.value in (b"SAME_UPPER", b"SAME_LOWER")


def _kernel(step: Leaf) -> Sequence[int]:
    """The extents of the kernel; 1 where they are not known, which is the shortest."""
    given = _integers(step, "kernel_shape")
    weight = None if given else _type(step, 1)
    shape = weight.shape if isinstance(weight, Tensor) and weight.shape is not None else ()
    return given or [extent if isinstance(extent, int) else 1 for extent in shape[2:]]


def _integers(step: Leaf, name: str) -> Sequence[int]:
    return [each for each in _list(step, name) if isinstance(each, int)]


def _has_non_finite_attributes(step: Leaf) -> bool:
    values = [attribute.value for attribute in step.attributes.values()]
    return not all(math.isfinite(value) for value in values if isinstance(value, float))


def _has_no_delimiter(step: Leaf) -> bool:
    delimiter = step.attributes.get("delimiter")
    return delimiter is None or not delimiter.value


def _writes_doubles(step: Leaf) -> bool:
    type_, given = _type(step, 0), step.results[0]
    is_double = isinstance(type_, Tensor) and type_.dtype is DType.FLOAT64
    made = given.type if given is not None else None
    return is_double and isinstance(made, Tensor) and made.dtype is DType.STRING


def _whole(step: Leaf, name: str) -> int:
    attribute = step.attributes.get(name)
    return attribute.value if attribute and isinstance(attribute.value, int) else 0


def _type(step: Leaf, position: int) -> Type | None:
    value = _operand(step, position)
    return value.type if value is not None else None


def _operand(step: Leaf, position: int) -> Value | None:
    return step.operands[position] if len(step.operands) > position else None


_COLUMN = "leaves a column uninitialised for PROBIT of one score"
_RULES: Mapping[tuple[str, str], tuple[_Rule, str]] = {
    ("", "DFT"): (_always, "is off by 1e-4 where the transform is zero"),
    ("", "STFT"): (_always, "is off by 1e-4 where the transform is zero"),
    ("", "Col2Im"): (_dilates_images, "misplaces elements of dilated blocks but in two axes"),
    ("", "MaxUnpool"): (_has_output_shape, "misplaces the maxima when output_shape is given"),
    ("", "Attention"): (_shows_masked, "gives qk_matmul_output in another form"),
    ("", "CenterCropPad"): (_may_lack_extents, "accepts a shape of fewer extents than axes"),
    ("", "NonZero"): (_may_be_scalar, "gives a scalar a row of positions"),
    ("", "Squeeze"): (_may_have_no_axes, "removes all axes of extent 1 if axes is empty"),
    ("", "AffineGrid"): (_may_align_one_pixel, "places an only pixel at 1, not at -1"),
    ("", "BatchNormalization"): (_trains_narrow, "writes running means into its constants"),
    **{("", op): (_counts, "adds whole numbers as float64") for op in _SUMS},
    ("", "Shrink"): (_is_double, "subtracts the bias of Shrink in float32"),
    ("", "Mod"): (_divides_as_float, "divides whole numbers as float64 where fmod is 1"),
    ("ai.onnx.ml", "LinearClassifier"): (_leaves_a_column, _COLUMN),
    ("ai.onnx.ml", "SVMClassifier"): (_leaves_a_column, _COLUMN),
    ("ai.onnx.ml", "TreeEnsembleClassifier"): (_confuses_trees, "confuses two classes of trees"),
    ("ai.onnx.ml", "TreeEnsembleRegressor"): (_drops_base_values, "leaves base values out"),
    ("ai.onnx.ml", "SVMRegressor"): (_is_probit, "does not apply PROBIT"),
    ("", "Gather"): (_moves_rows_of_text, "copies only the first element of each row of text"),
    ("", "LRN"): (_has_non_finite_attributes, "gives nan for an attribute that is not finite"),
    ("", "StringSplit"): (_has_no_delimiter, "splits at blanks only, not at other white space"),
    ("", "Cast"): (_writes_doubles, "writes 8 digits of a float64"),
    ("", "CastLike"): (_writes_doubles, "writes 8 digits of a float64"),
    **{("", op): (_miscounts_windows, "counts or places windows wrongly") for op in _POOLS},
    ("", "Conv"): (_pads_less_than_nothing, "starts inside the input where a stride is too long"),
    ("", "ConvTranspose"): (_may_pad_below_0, "leaves out padding below 0"),
    ("", "MeanVarianceNormalization"): (_always, "takes the root of a variance below 0"),
    ("ai.onnx.ml", "TreeEnsemble"): (_exchanges_transforms, "exchanges two transforms"),
    ("", "Dropout"): (_may_train, "draws other random numbers in training than the standard"),
}
