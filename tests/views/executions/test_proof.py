"""A proof as text, table, picture and page."""

import pytest

import ftlab
from ftlab.records.errors import UnknownNameError
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome
from ftlab.views.executions.proof import ProofView
from ftlab.views.view import png

HOLDS = Outcome("EXP004", "row-order", "order changes nothing", "holds", "1.1 x")
BROKEN = Outcome(
    "EXP005",
    "reported-loss",
    "the loss is <the> mean",
    "broken",
    "the loss is 3, and <b>not</b> $2$",
    "Something is counted.",
    "Count it once.",
    (Place("call", "loss"),),
    {"reported": 3.0},
)
AWAY = Outcome("EXP001", "row-alone", "alone", "does not apply", "the batch is one row")
UNKNOWN = Outcome("EXP010", "attention-kind", "same", "cannot be decided", "it raised")


def view(*outcomes, **more):
    return ProofView(outcomes or (AWAY, HOLDS, UNKNOWN, BROKEN), **more)


def test_text_says_what_is_broken_first_and_what_to_do():
    assert repr(view(title="Proof of Trainer")) == (
        "Proof of Trainer: 1 broken, 1 holds, 1 cannot be decided, 1 does not apply\n"
        "x reported-loss: the loss is 3, and <b>not</b> $2$\n"
        "    because: Something is counted.\n"
        "    try: Count it once.\n"
        "+ row-order: 1.1 x\n"
        "? attention-kind cannot be decided: it raised\n"
        "- row-alone does not apply: the batch is one row"
    )


def test_long_words_are_wrapped_below_each_other():
    long = Outcome("EXP004", "row-order", "same", "broken", "so " * 60, "why " * 60)
    _, *lines = repr(view(long)).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line[:5] for line in lines[:2]] == ["x row", "    s"]
    assert lines[-1].startswith("      why")


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ((HOLDS, HOLDS), "2 hold"),
        ((AWAY, AWAY, HOLDS), "1 holds, 2 do not apply"),
        ((UNKNOWN,), "1 cannot be decided"),
    ],
)
def test_the_headline_counts(outcomes, words):
    assert view(*outcomes).headline() == words


def test_nothing_that_was_tried_is_said_so():
    assert ProofView(()).headline() == "nothing was tried"


def test_it_is_a_sequence_by_place_name_and_code():
    proof = view()
    assert (len(proof), next(iter(proof)), proof[-1]) == (4, AWAY, BROKEN)
    assert proof["row-order"] is proof["EXP004"] is HOLDS
    assert list(proof[1:3]) == [HOLDS, UNKNOWN]
    with pytest.raises(UnknownNameError, match=r"no experiment 'row-ordr'.*row-order"):
        proof["row-ordr"]


def test_only_what_is_broken_is_a_finding():
    proof = view()
    assert not proof.ok
    assert proof.broken == (BROKEN,)
    (finding,) = proof.findings
    assert (finding.code, finding.places[0].name) == ("EXP005", "loss")
    assert view(HOLDS, UNKNOWN, AWAY).ok


def test_the_table_has_a_row_for_each():
    table = view().table()
    assert list(table["state"]) == [
        "broken",
        "holds",
        "cannot be decided",
        "does not apply",
    ]
    assert table.iloc[0]["fix"] == "Count it once."


def test_the_picture_and_the_page_escape_what_was_said():
    proof = view()
    assert png(proof.figure()).startswith(b"\x89PNG")
    with ftlab.options.scoped(widgets="static"):
        data, _ = proof._repr_mimebundle_()
    assert data["text/plain"].startswith("Proof: 1 broken")
    page = proof._make_widget().value
    assert "<b>not</b>" not in page
    assert "&lt;b&gt;not&lt;/b&gt;" in page
    assert page.count(" open>") == 1
    assert page.index("reported-loss") < page.index("row-order")


def test_what_compares_no_modules_has_no_difference():
    with pytest.raises(UnknownNameError, match="row-order compares no modules"):
        view().diff("row-order")
