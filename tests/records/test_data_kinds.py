"""The table of faults."""

import re

import pytest

from ftlab.records.data_kinds import KINDS, NEVER
from ftlab.records.finding import Severity


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_says_what_why_and_what_to_do(kind):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.name)
    assert not kind.says.endswith(".")
    assert kind.cause.endswith(".")
    assert kind.fix.endswith(".")
    assert 0 <= kind.warns_from < kind.meant_from


def test_shares_decide():
    kind = KINDS["roles-out-of-order"]
    assert kind.judge(0.0001) is Severity.INFO
    assert kind.judge(0.01) is Severity.WARNING
    assert kind.judge(0.6) is None
    assert KINDS["unreadable-row"].judge(1e-9) is Severity.ERROR
    assert KINDS["empty-answer"].meant_from == NEVER
