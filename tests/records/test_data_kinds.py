"""The table of faults."""

import re

import pytest

from ftlab.records.data_kinds import KINDS


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_says_what_why_and_what_to_do(kind):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.name)
    assert not kind.says.endswith(".")
    assert kind.cause.endswith(".")
    assert kind.fix.endswith(".")
    assert 0 <= kind.warns_from < kind.meant_above or kind.name == "empty-text"
