"""The page of schema changes is complete."""

from __future__ import annotations

from tools.versions.changes import changes
from tools.versions.changes import page as written
from treadle import ops
from treadle.passes.versions import DOWN, NO_FORM, UP


def test_every_schema_change_has_an_adapter_or_a_reason():
    unknown = [each for each in changes() if "UNKNOWN" in (each.upwards, each.downwards)]
    assert not unknown


def test_every_adapter_is_for_a_version_in_the_standard():
    for op, version in (*DOWN, *UP, *NO_FORM):
        assert ops.schema("", op, version), (op, version)
    assert not NO_FORM.keys() & DOWN.keys()


def test_the_page_of_schema_changes_is_up_to_date(page):
    page("version_changes.md", written())
