"""What decides how much a fault matters."""

from ftlab.records.data_kind import NEVER
from ftlab.records.data_kinds import KINDS
from ftlab.records.finding import Severity


def test_shares_decide():
    kind = KINDS["roles-out-of-order"]
    assert kind.judge(0.0001) is Severity.INFO
    assert kind.judge(0.01) is Severity.WARNING
    assert kind.judge(0.6) is None
    assert KINDS["unreadable-row"].judge(1e-9) is Severity.ERROR
    assert KINDS["empty-answer"].meant_above == NEVER
