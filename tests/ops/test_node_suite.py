"""onnx's node cases of all operators but control flow."""

import onnx
import pytest

from tests.ops.node_suite import file_cases, run_case, run_folder, straight_cases

CASES = 1840
RANDOM = "the standard's own data were drawn by a generator nobody else has"
PILLOW = "decoding images takes Pillow, which is not installed"
FAILING = {
    "test_bernoulli": RANDOM,
    "test_bernoulli_expanded": RANDOM,
    "test_bernoulli_double": RANDOM,
    "test_bernoulli_double_expanded": RANDOM,
    "test_bernoulli_seed": RANDOM,
    "test_bernoulli_seed_expanded": RANDOM,
}
GRADIENT = "Gradient-1 asks for the derivative of the graph around it"
FAILING_FOLDERS = {"test_gradient_of_add": GRADIENT, "test_gradient_of_add_and_mul": GRADIENT}


def has_pillow() -> bool:
    try:
        import PIL  # noqa: F401
    except ImportError:
        return False
    return True


def test_every_case_gives_the_data_of_the_standard():
    cases = straight_cases()
    assert len(cases) >= CASES
    images = {} if has_pillow() else {c.name for c in cases if "image_decoder" in c.name}
    wrong = {}
    for case in cases:
        if case.name in FAILING or case.name in images:
            continue
        found = run_case(case)
        if found:
            wrong[case.name] = found
    assert not wrong


@pytest.mark.parametrize("kind", ["simple", "pytorch-converted", "pytorch-operator"])
def test_models_of_old_opsets_give_their_data(kind):
    wrong = {}
    for name, folder in file_cases(kind).items():
        model = onnx.load(folder / "model.onnx")
        if name in FAILING_FOLDERS:
            continue
        found = run_folder(folder, model)
        if found:
            wrong[name] = found
    assert not wrong
