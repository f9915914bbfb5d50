"""The items of a checklist: how they end, and their order."""

import pytest

from ftlab.records.checklist import LAYERS, CheckItem, in_order
from ftlab.records.finding import Severity


def item(layer="data", status="passed", **more):
    return CheckItem(layer, "a check", status, "seen", **more)


def test_there_are_seven_layers():
    assert LAYERS == (
        "data",
        "model",
        "optimizer",
        "device",
        "numerics",
        "logging",
        "rollback",
    )


def test_a_failed_item_is_labelled_by_how_bad_it_is():
    assert item(status="failed", severity=Severity.WARNING).label == "warning"
    assert item(status="not checked").label == "not checked"


def test_an_unknown_end_is_refused():
    with pytest.raises(ValueError, match="cannot end as 'ok'; it is failed"):
        item(status="ok")


def test_items_are_sorted_by_layer_and_then_by_what_matters():
    late = item("rollback", "failed")
    open_ = item("data", "not checked")
    good = item("data")
    mild = item("data", "failed", severity=Severity.WARNING)
    bad = item("data", "failed")
    assert in_order([late, good, open_, mild, bad]) == (bad, mild, open_, good, late)
