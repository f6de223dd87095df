"""Scales that give no extent: the rule of Resize knows nothing then."""

import pytest

import treadle

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


@pytest.mark.parametrize("scale", ["inf", "-inf", "nan", "1e38", "-1.0"])
def test_a_scale_without_an_extent(scale):
    text = f"g (float[2] x) => (float[n] y)\n<float[1] s = {{{scale}}}> {{ y = Resize (x, , s) }}"
    found = treadle.infer(HEAD + text).main.steps[0].results[0].inferred
    assert found.shape == (None,)


def test_a_scale_of_two():
    text = "g (float[3] x) => (float[n] y)\n<float[1] s = {2.0}> { y = Resize (x, , s) }"
    assert treadle.infer(HEAD + text).main.steps[0].results[0].inferred.shape == (6,)
