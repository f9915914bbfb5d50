"""The checklist's forms: one summary, shown four ways."""

import re

import pytest

from ftlab.records.checklist import LAYERS, CheckItem
from ftlab.records.errors import UnknownNameError
from ftlab.records.finding import Place, Severity
from ftlab.views.findings.checklist import Checklist
from ftlab.views.findings.checklist_html import checklist_html

EVIL = "<script>alert('x')</script> & $x$"

FAILED = CheckItem(
    "data",
    "labels to learn from",
    "failed",
    "all 64 labels are -100",
    {"labels": 6400, "share": 1 / 3, "kind": "int64"},
    cause="The mask is inverted.",
    fix="Turn it round.",
    code="DAT001",
    places=(Place("data", "labels"), Place("step", "3")),
)
OPEN = CheckItem("logging", "log folder", "not checked", "no args", fix="pass args=")
GOOD = CheckItem("model", "forward works", "passed", "it took the batch")
MILD = CheckItem(
    "data", "padding", "failed", "mostly padding", severity=Severity.WARNING
)


def test_text_names_the_failed_layer_first_and_then_says_what_to_do():
    assert repr(Checklist([FAILED, GOOD, OPEN], title="Preflight of Net")) == (
        "Preflight of Net: 1 failed, 1 not checked, 1 passed\n"
        "\n"
        "x data       all 64 labels are -100\n"
        "+ model      1 passed\n"
        "? optimizer  nothing was checked\n"
        "? device     nothing was checked\n"
        "? numerics   nothing was checked\n"
        "? logging    no args\n"
        "? rollback   nothing was checked\n"
        "\n"
        "ERROR data: labels to learn from (DAT001)\n"
        "  what      all 64 labels are -100\n"
        "  why       The mask is inverted.\n"
        "  do        Turn it round.\n"
        "  where     data labels, step 3\n"
        "  measured  labels 6,400, share 0.333, kind int64\n"
        "\n"
        "NOT CHECKED; what is needed to check it:\n"
        "  - pass args= (log folder)"
    )


def test_what_is_noted_stands_apart_with_what_to_do():
    note = CheckItem("model", "tied", "passed", "head and embedding", fix="Untie.")
    checklist = Checklist([GOOD, note])
    assert checklist.ok
    assert checklist.noted == (note,)
    assert repr(checklist).startswith("Checklist: nothing failed, 1 noted, 1 passed\n")
    assert "+ model      1 passed, 1 noted" in repr(checklist)
    assert repr(checklist).endswith(
        "NOTED; a fault only if unintended:\n"
        "  - model: head and embedding\n"
        "    do Untie."
    )
    assert "Untie." in checklist_html(checklist.summary)


def test_what_several_checks_wait_for_is_said_once():
    others = [
        CheckItem("data", f"part {n}", "not checked", "none", fix="pass args=")
        for n in range(3)
    ]
    assert repr(Checklist([*others, OPEN])).endswith(
        "to check it:\n  - pass args= (part 0, part 1 and 2 more)"
    )


def test_it_says_that_nothing_failed_only_where_nothing_did():
    assert repr(Checklist([GOOD])).startswith("Checklist: nothing failed, 1 passed\n")
    assert Checklist([GOOD, OPEN]).ok
    assert not Checklist([MILD]).ok


def test_the_worst_of_a_layer_is_its_headline():
    line = Checklist([MILD, FAILED]).summary.lines[0]
    assert (line.label, line.headline) == (
        "error",
        "all 64 labels are -100 (and 1 more)",
    )


def test_what_passed_beside_what_was_not_checked_is_counted():
    open_ = CheckItem("model", "loss", "not checked", "no batch")
    line = Checklist([GOOD, open_]).summary.lines[1]
    assert (line.status, line.headline) == ("passed", "1 passed, 1 not checked")


def test_it_is_a_sequence_that_knows_its_layers():
    checklist = Checklist([MILD, FAILED, GOOD, OPEN])
    assert list(checklist) == [MILD, FAILED, GOOD, OPEN]
    assert (len(checklist), checklist[2], checklist[1:3]) == (4, GOOD, (FAILED, GOOD))
    assert checklist["data"] == (MILD, FAILED)
    assert checklist.failed == (FAILED, MILD)
    assert (checklist.passed, checklist.not_checked) == ((GOOD,), (OPEN,))


def test_an_unknown_layer_is_answered_with_near_ones():
    with pytest.raises(UnknownNameError, match=r"no layer 'optimiser'.*'optimizer'"):
        Checklist([GOOD])["optimiser"]


def test_table_has_a_row_per_item():
    table = Checklist([FAILED, GOOD]).table()
    assert list(table["status"]) == ["failed", "passed"]
    assert list(table["severity"]) == ["error", ""]
    assert table.loc[0, "place"] == "data labels"
    assert table.loc[0, "evidence"] == "labels 6,400, share 0.333, kind int64"
    assert list(Checklist([]).table().columns) == list(table.columns)


def test_figure_shows_every_layer_and_what_to_do():
    figure = Checklist([FAILED, GOOD, OPEN]).figure()
    drawn = [text.get_text() for text in figure.axes[0].texts]
    marks = "✕✓?????"
    assert [text for text in drawn if text[2:] in LAYERS] == [
        f"{mark} {layer}" for mark, layer in zip(marks, LAYERS, strict=True)
    ]
    assert "do: Turn it round." in drawn
    figure.canvas.draw()


def test_failed_layers_are_unfolded_and_the_others_folded():
    beside = CheckItem("data", "a batch", "passed", "read")
    page = checklist_html(Checklist([FAILED, beside, GOOD, OPEN]).summary)
    assert re.findall(r'<details class="([\w-]+)"( open)?>', page)[:2] == [
        ("ftlab-c-error", " open"),
        ("ftlab-c-passed", ""),
    ]
    assert page.count("<details class") == len(LAYERS)
    assert "<summary>1 more in this layer</summary>" in page
    assert page.count("all 64 labels are -100") == 1
    assert '<dd class="ftlab-c-do">Turn it round.</dd>' in page


def test_all_layers_stand_in_one_line_where_one_failed():
    assert 'class="ftlab-c-all"' in checklist_html(Checklist([FAILED]).summary)
    assert 'class="ftlab-c-all"' not in checklist_html(Checklist([GOOD]).summary)


def test_every_word_is_escaped():
    evil = CheckItem(
        "data",
        EVIL,
        "failed",
        EVIL,
        {EVIL: EVIL},
        EVIL,
        EVIL,
        EVIL,
        (Place("data", EVIL),),
    )
    plain = CheckItem("model", EVIL, "passed", EVIL)
    checklist = Checklist([evil, plain], title=EVIL)
    assert "<script>" not in checklist_html(checklist.summary)
    checklist.figure().canvas.draw()


def test_widget_is_the_page():
    checklist = Checklist([FAILED])
    assert checklist.widget().value == checklist_html(checklist.summary)
    assert "ftlab-checklist" in checklist.widget()._dom_classes
