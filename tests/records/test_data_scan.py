"""Records of a scan: lengths and places."""

import json
import random

import numpy as np

from ftlab.records.data_scan import DataIssue, DataScan, Lengths, NearPass, Spot
from ftlab.records.finding import Severity


def test_lengths_are_those_of_the_rows():
    numbers = random.Random(0)
    drawn = sorted(numbers.randrange(1, 300) for _ in range(1000))
    sizes, rows = np.unique(drawn, return_counts=True)
    known = Lengths("tokens", sizes, rows, sum(drawn), limit=200)
    for share in (0.01, 0.5, 0.95, 1.0):
        below = sum(each <= known.quantile(share) for each in drawn)
        assert below >= share * 1000
        assert sum(each < known.quantile(share) for each in drawn) < share * 1000
    assert known.longest == drawn[-1]
    assert known.above == sum(each > 200 for each in drawn)
    assert known.cut == sum(max(each - 200, 0) for each in drawn)


def test_no_rows_have_no_length():
    empty = Lengths("tokens", np.empty(0, np.int64), np.empty(0, np.int64), 0)
    assert (empty.quantile(0.5), empty.longest, empty.above, empty.cut) == (0, 0, 0, 0)


def test_a_place_says_what_it_knows():
    assert repr(Spot(3, "line 4")) == "line 4"
    assert repr(Spot(3, "line 4", "text", says="nothing")) == "line 4, text: nothing"


def test_an_issue_is_values_that_json_holds():
    issue = DataIssue("a", Severity.ERROR, 1, 0.5, "m", "c", "f", (Spot(0, "row 0"),))
    read = json.loads(json.dumps(issue.as_json()))
    assert (read["severity"], read["spots"][0]["place"]) == ("error", "row 0")


def test_the_worst_issue_counts():
    empty = Lengths("tokens", np.empty(0, np.int64), np.empty(0, np.int64), 0)
    scan = DataScan("rows", 0, {}, {}, (), empty)
    assert scan.worst is None
    assert NearPass(100, 1, 1, 0.8, 0.5).speed == 200
    assert NearPass(0, 0, 0, 0.8, 0.0).speed == 0
