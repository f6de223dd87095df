"""AffineGrid in every element type, and grids and images without pixels."""

import numpy as np
import pytest

from tests.ops.peer import ours


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("extents", [(3, 4), (2, 3, 4), (1, 2)])
def test_a_grid_has_the_type_of_its_matrices(dtype, aligned, extents, rng):
    axes = len(extents)
    theta = rng.integers(-8, 8, (2, axes, axes + 1)).astype(dtype)
    (found,) = ours("AffineGrid", 20, [theta, np.array([2, 1, *extents])], align_corners=aligned)
    rows = [np.linspace(-1, 1, n) if n > 1 else [-1.0] for n in extents]
    if not aligned:
        rows = [(2 * np.arange(n) + 1) / n - 1 for n in extents]
    columns = [*np.meshgrid(*rows, indexing="ij")[::-1], np.ones(extents)]
    wanted = np.einsum("nij,j...->n...i", theta.astype(np.float64), np.stack(columns))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == np.float16 else 1e-6, atol=1e-6)


def test_a_grid_without_pixels():
    theta = np.ones((2, 2, 3), np.float32)
    (found,) = ours("AffineGrid", 20, [theta, np.array([2, 1, 0, 4])])
    assert found.shape == (2, 0, 4, 2)


@pytest.mark.parametrize("version", [16, 20, 22])
@pytest.mark.parametrize(("images", "rows"), [(0, 3), (2, 0)])
def test_samples_of_no_images_and_at_no_places(version, images, rows):
    x, grid = np.ones((images, 3, 5, 4), np.float32), np.ones((images, rows, 6, 2), np.float32)
    (found,) = ours("GridSample", version, [x, grid])
    assert found.shape == (images, 3, rows, 6)
    assert found.dtype == np.float32
