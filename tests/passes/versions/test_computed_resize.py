"""Resize by scales, sizes and regions of the run, in opsets that lack its modes."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.passes.rewrites.models import model
from tests.passes.simplify.models import run, run_by_onnxruntime, saved

X = np.sin(np.arange(35, dtype=np.float32)).reshape(1, 5, 7)
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "half_pixel_symmetric")
MODES = (
    'mode = "linear"',
    'mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1',
    'mode = "linear", antialias = 1',
    'mode = "cubic", antialias = 1',
    *(f'mode = "nearest", nearest_mode = "{each}"' for each in ("ceil", "round_prefer_ceil")),
)
TEXT = """g (float[1,H,W] x, float[N] roi, float[2] scales, int64[2] sizes) => (float[A,B,C] y) {{
  y = Resize <{attributes}, axes = [1, 2]> (x, {operands}) }}"""
SCALES, SIZES = ", scales", ", , sizes"


def gives_the_same(attributes: str, operands: str, older: int = 9, **numbers) -> None:
    """The same in interp, and in onnxruntime, from the older opset as from opset 19."""
    before = model(TEXT.format(attributes=attributes, operands=operands), 19)
    after = treadle.convert_version(before, older)
    feeds = {"x": X, "roi": np.zeros(0, np.float32), **numbers}
    feeds.setdefault("scales", np.ones(2, np.float32))
    feeds.setdefault("sizes", np.array([5, 7]))
    (wanted,) = run(before, feeds)
    for (found,) in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attributes", MODES)
@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("scales", [(1.6, 0.6), (1, 3)])
def test_scales(attributes, coordinate, scales):
    numbers = np.array(scales, np.float32)
    told = f'{attributes}, coordinate_transformation_mode = "{coordinate}"'
    gives_the_same(told, SCALES, scales=numbers)


@pytest.mark.parametrize("attributes", MODES)
@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("older", [9, 13])
def test_sizes(attributes, policy, older):
    told = f'{attributes}, keep_aspect_ratio_policy = "{policy}"'
    gives_the_same(told, SIZES, older, sizes=np.array([8, 3]))


@pytest.mark.parametrize("sizes", [(1, 9), (4, 7)])
def test_aligned_corners(sizes):
    told = 'mode = "linear", coordinate_transformation_mode = "align_corners"'
    gives_the_same(told, SIZES, sizes=np.array(sizes))


@pytest.mark.parametrize("roi", [(0.2, 0.1, 0.8, 0.9), (-0.5, 0.3, 0.7, 1.4)])
@pytest.mark.parametrize("older", [9, 11])
def test_regions(roi, older):
    told = """mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize",
      extrapolation_value = 10.0"""
    numbers = {"roi": np.array(roi, np.float32), "sizes": np.array([3, 4])}
    gives_the_same(told, "roi, , sizes", older, **numbers)
