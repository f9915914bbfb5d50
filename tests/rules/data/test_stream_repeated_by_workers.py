"""DAT008."""

from ftlab.records.finding import Place
from ftlab.rules.data.stream_repeated_by_workers import StreamRepeatedByWorkers
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
)

RULE = StreamRepeatedByWorkers()


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_where_nothing_is_odd_and_open_on_an_empty_run(RULE)


def test_dataset_and_workers_are_named():
    (finding,) = found(RULE, (1, odd("repeated", "Stream", value=3, limit=1)))
    assert finding.place == Place("data", "Stream, 3 workers")
    assert "3 times each" in finding.message
