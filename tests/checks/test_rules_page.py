"""docs/rules.md: every rule with an invalid model, its findings, and the corrected model.

`pytest tests/checks/test_rules_page.py --update-golden` writes it anew.
"""

from collections.abc import Callable

import pytest

from treadle.checks import RULES, examples
from treadle.report import explain_rule, rules_page
from treadle.report.rules import found_in, runtimes_of


def test_every_rule_has_an_example_and_every_example_a_rule() -> None:
    assert set(examples()) == set(RULES)


@pytest.mark.parametrize("code", RULES)
def test_the_bad_example_has_the_finding_and_the_good_one_has_none(code: str) -> None:
    example, portable = examples()[code], runtimes_of(code)
    bad = [finding.code for finding in found_in(example.bad, portable)]
    assert code in bad
    errors = {found.code for found in found_in(example.bad) if found.severity == "error"}
    assert errors <= {code, "CF705", "CF701"}, "an example shows one thing"
    good = found_in(example.good, portable)
    assert code not in {finding.code for finding in good}
    assert not [str(finding) for finding in good if finding.severity == "error"]


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_a_description(code: str) -> None:
    rule = RULES[code]
    assert rule.clause or code in ("CF001", "CF002", "CF003"), "what of the standard it rests on"
    words = explain_rule(code)
    assert words.startswith(f"{code} {rule.severity}")
    assert rule.clause in words


def test_the_rules_page_is_up_to_date(page: Callable[[str, str], None]) -> None:
    page("rules.md", rules_page())
