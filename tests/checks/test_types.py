"""The types that each version of If, Loop and Scan allows: the table against onnx's schemas."""

import pytest

from treadle import ops
from treadle.checks import RULES
from treadle.checks.types import allowed

WORDS = {"tensor": "tensor({})", "seq": "seq(tensor({}))", "optional": "optional(tensor({}))",
         "optional of seq": "optional(seq(tensor({})))"}  # fmt: skip
VERSIONS = [
    (operator, version)
    for operator in ("If", "Loop", "Scan")
    for version in ops.known_operators("")[operator]
]


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
def test_the_table_is_the_schemas(operator, version):
    schema = ops.schema("", operator, version)
    table = {WORDS[form].format(ops.element_word(d)) for form, d in allowed(operator, version)}
    assert table == schema.outputs[0].types


def test_new_element_types_never_come_as_optional_of_seq():
    late = {dtype for form, dtype in allowed("Loop", 25) if form == "optional of seq"}
    assert len(late) == 16


def test_every_rule_has_a_code_of_its_own_and_a_title():
    assert len(RULES) == len({rule.title for rule in RULES.values()})
    assert all(rule.code == code and rule.title for code, rule in RULES.items())
