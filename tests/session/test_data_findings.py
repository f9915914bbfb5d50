"""A scan of a dataset as an event, and as findings."""

import json
from dataclasses import replace

import ftlab
from ftlab.records.data_scan import Spot
from ftlab.records.scanned_rows import FoundRows, ScannedRows
from ftlab.rules.engine import Engine
from ftlab.runlog.codec import event_from_json, to_json
from ftlab.runlog.run import Run
from ftlab.session.data_findings import dataset_event, findings_of
from tests.runs import only

KNOWN = ScannedRows("rows", 50, {"text": 50}, (FoundRows("duplicate-row", 9),))


def test_the_findings_are_those_of_the_rules():
    finding = only(findings_of(KNOWN), threshold=0.01)
    assert (finding.code, finding.evidence["reason"]) == ("DAT061", "duplicate-row")
    assert finding.healthy == "below 1 % of the rows"


def test_the_last_look_counts():
    run = Run()
    run.append(dataset_event(KNOWN))
    run.append(dataset_event(ScannedRows("rows", 41)))
    assert Engine().check(run).findings == ()


def test_a_report_has_findings_with_a_page_each():
    rows = [
        {"prompt": f"{n}?", "completion": "" if n == 3 else "It."} for n in range(9)
    ]
    finding = only(ftlab.data(rows).findings, place="data row 3 completion")
    assert ftlab.explain(finding.code).name == finding.name


def test_an_event_survives_the_log():
    spots = (Spot(3, "row 3", "text", 4, "U+200B", "a\\u200bb"),)
    known = replace(
        KNOWN, found=(FoundRows("leaked-evaluation-row", 1, spots, (1, 9)),)
    )
    read = event_from_json(json.loads(json.dumps(to_json(dataset_event(known)))))
    assert read.kind == "dataset"
    assert ScannedRows.from_json(read.detail) == known
