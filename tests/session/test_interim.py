"""Which feeds are called as they are while code is compiled."""

from __future__ import annotations

import numpy as np
import pytest

from treadle.session import interim


@pytest.mark.parametrize(
    "value", [np.array(["a", "b"], object), [np.array(["a"], object)], [], [[1.0]], 1.0]
)
def test_text_and_what_has_no_dtype_is_looked_at_in_every_call(value: object) -> None:
    class Binder:
        def __call__(self, feed: dict[str, object]) -> None:
            pass

        def known(self, feed: dict[str, object]) -> list[object]:
            return [*feed.values()]

    assert interim.Kind.of(Binder(), {"x": value}) is None
    assert interim.Kind.of(Binder(), {"x": np.zeros(2)}) is not None
