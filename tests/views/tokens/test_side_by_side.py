import numpy as np

from ftlab.records.token_row import Piece, TokenRow, Turn
from ftlab.views.tokens.side_by_side import SideBySideView

WORDS = ["<u>", "Hi", "<a>", "Yes", "</s>", "<think>", "<script>"]
PIECES = {at: Piece(word, word) for at, word in enumerate(WORDS)}


def turns(*ends):
    kinds = (
        ("user", 0, "header"),
        ("user", 0, "text"),
        ("assistant", 1, "header"),
        ("assistant", 1, "text"),
        ("assistant", 1, "end"),
    )
    starts = (0, *ends[:-1])
    return tuple(
        Turn(start, end, *kind)
        for start, end, kind in zip(starts, ends, kinds, strict=False)
    )


def three():
    return {
        "a": TokenRow(np.array([0, 1, 2, 3, 4]), turns=turns(1, 2, 3, 4, 5)),
        "b": TokenRow(np.array([0, 1, 2, 5, 3]), turns=turns(1, 2, 4, 5)),
        "c": TokenRow(np.array([0, 1, 2, 3, 4]), turns=turns(1, 2, 3, 4, 5)),
    }


def test_columns_by_template_and_the_first_difference():
    said = repr(SideBySideView(three(), PIECES)).splitlines()
    assert said[0] == "Tokens: one conversation, 3 rows side by side"
    assert said[4].split() == ["a", "b", "c"]
    assert said[7].split() == [
        "≠",
        "assistant",
        "1,",
        "header",
        "<a>",
        "<a><think>",
        "<a>",
    ]
    assert said[9].split() == ["≠", "assistant", "1,", "end", "</s>", "-", "</s>"]
    assert 'first difference at position 3: a has "<u>Hi<a>Yes</s>"' in said[10]
    assert said[11] == "c has the same tokens as a"


def test_the_table_says_which_stretches_are_the_same():
    table = SideBySideView(three(), PIECES).table()
    assert table["same"].tolist() == [True, True, False, True, False]
    assert table["b"].tolist() == ["<u>", "Hi", "<a><think>", "Yes", None]


def test_a_serving_prompt_that_training_does_not_begin_with():
    rows = {"training": three()["a"], "serving": TokenRow(np.array([0, 1, 2]))}
    view = SideBySideView(rows, PIECES, serving=True)
    assert repr(view).endswith("training begins with all of serving")
    rows["serving"] = TokenRow(np.array([0, 1, 2, 5]))
    view = SideBySideView(rows, PIECES, serving=True)
    assert "first difference at position 3" in repr(view)


def test_names_and_texts_are_never_markup():
    rows = {"<script>a": TokenRow(np.array([6]), turns=turns(1)), "b": three()["a"]}
    page = SideBySideView(rows, PIECES).widget().value
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.count("≠ first difference") == 1


def prompt(*ids):
    opening = Turn(2, len(ids), "assistant", -1, "generation prompt")
    asked = three()["a"].turns[:2]
    return TokenRow(np.array(ids), turns=(*asked, opening))


def test_a_prompt_is_beside_the_opening_of_the_answer_that_it_asks_for():
    rows = {"training": three()["a"], "serving": prompt(0, 1, 2)}
    view = SideBySideView(rows, PIECES, serving=True)
    table = view.table().set_index("stretch")
    assert table.loc["assistant 1, header", "serving"] == "<a>"
    assert "assistant, generation prompt" not in table.index
    assert table["same"].all()
    assert "≠" not in repr(view)
    assert "≠" not in view.widget().value


def test_a_prompt_that_opens_the_answer_in_another_way_is_marked_there():
    rows = {"training": three()["a"], "serving": prompt(0, 1, 2, 5)}
    view = SideBySideView(rows, PIECES, serving=True)
    table = view.table()
    assert table.loc[~table["same"], "stretch"].tolist() == ["assistant 1, header"]
    assert view.widget().value.count("≠") == 1
