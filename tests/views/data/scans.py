"""A scan made by hand, for the views of it."""

from dataclasses import replace

import numpy as np

from ftlab.records.data_scan import DataIssue, DataScan, Lengths, NearPass, Spot
from ftlab.records.finding import Severity

SPOTS = tuple(
    Spot(at, f"line {at + 1}", "text", 3, "U+200B", f"<b>{at}</b> $x$")
    for at in range(30)
)
HIDDEN = DataIssue(
    "invisible-character",
    Severity.WARNING,
    40,
    0.04,
    "characters that nobody sees: 40 of 1,000 rows (4 %)",
    "Copied from <pages>.",
    "Take them out.",
    SPOTS,
    code="DAT063",
)
COPIES = DataIssue(
    "duplicate-row",
    Severity.INFO,
    1,
    0.001,
    "exactly what an earlier row says: 1 of 1,000 rows (0.1 %)",
    "Joined twice.",
    "Leave them out.",
    (Spot(7, "line 8", says="the same as line 2"),),
    left_out=True,
    code="DAT061",
)
SIZES = np.arange(1, 101)
LENGTHS = Lengths(
    "tokens", SIZES, np.full(100, 10), 50_500, 80, "max_length", template=True, error=2
)
SCAN = DataScan(
    "rows.jsonl",
    1000,
    {"messages": 990, "text": 10},
    {"user": 990},
    (HIDDEN, COPIES),
    LENGTHS,
    NearPass(999, 4, 1, 0.8, 0.1),
    ("rows of the evaluation data: pass it",),
    seconds=0.5,
)
HEALTHY = replace(SCAN, issues=(), near=None, not_checked=())
