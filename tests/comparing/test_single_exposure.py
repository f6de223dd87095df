"""A difference that disappears when all values are exposed is located by exposing one at a time."""

import pytest

import treadle
from treadle.comparing.runtimes import prepared_on
from treadle.comparing.sides import Side, side_of

_HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'
CHAIN = f"""{_HEADER}
g (float x) => (float y) {{
    a = Exp (x)
    b = Neg (a)
    c = Abs (b)
    d = Sqrt (c)
    y = Identity (d)
}}"""


def _fusing(*fused):
    """A runtime whose answer is wrong unless all of these values are exposed."""
    wrong = treadle.load(CHAIN.replace("c = Abs (b)", "c = Exp (b)"))

    def prepare(model):
        names = [value.name.rpartition("/")[2] for value in model.main.results]
        if set(fused) <= set(names):
            return prepared_on(("interp",))(model)
        kept = [name for name in names if name != "y"]
        return prepared_on(("interp",))(treadle.expose(wrong, kept) if kept else wrong)

    return Side("a fusing runtime", side_of(CHAIN, "").model, prepare)


@pytest.mark.parametrize(
    ("fused", "words"),
    [
        (["c"], "the outputs agree once main/c alone is exposed"),
        (["a", "d"], "it arises between main/b and main/c"),
    ],
)
def test_the_value_whose_fusion_makes_the_difference_is_named(fused, words):
    found = treadle.compare(_fusing(*fused), CHAIN, {"x": 1.0})
    assert not found
    assert found.first is None
    assert words in str(found)
