import json

import numpy as np
import pytest

from ftlab.records.token_row import Piece, TokenBatch, TokenRow, Turn
from ftlab.views.tokens.token_codes import LONGEST, size_of, window
from ftlab.views.tokens.tokens import TokenView
from ftlab.views.tokens.tokens_summary import summarise_tokens, visible

FAMILY = "👩‍👩‍👧"


def row(length, distinct, seed=0):
    made = np.random.default_rng(seed)
    ids = made.integers(0, distinct, length)
    turns = tuple(
        Turn(at, min(length, at + 50), f"role {at % 3}", at // 50, "text")
        for at in range(0, length, 50)
    )
    return TokenRow(
        ids,
        np.ones(length, np.int64),
        ids,
        made.integers(0, 9, length),
        made.random(length).astype(np.float32),
        made.integers(0, 4, length).astype(np.int32),
        made.random(length).astype(np.float32),
        turns,
    )


def sent(widget):
    return len(json.dumps(widget.spec)) + sum(map(size_of, widget.windows.values()))


def vocabulary(size, text="piece"):
    return {at: Piece(f"<{text}{at}>", f"{text}{at}") for at in range(size)}


@pytest.mark.parametrize(
    ("lengths", "distinct", "text"),
    [
        ((8_000,), 3_000, "piece"),
        ((100_000,), 50_000, "a long piece of a vocabulary " * 20),
        ((500,) * 2_000, 200, "piece"),
    ],
)
def test_what_is_sent_stays_small(lengths, distinct, text):
    rows = tuple(row(length, distinct) for length in lengths)
    widget = TokenView(TokenBatch(rows, vocabulary(distinct, text))).widget()
    assert sent(widget) < 300_000
    assert "0 0" in widget.windows


def test_a_window_holds_what_the_row_holds():
    one = row(300, 40)
    summary = summarise_tokens(TokenBatch((one,), vocabulary(40)))
    made = window(summary, 0, 100)
    head = made["head"]
    ids = [head["pieces"][at][0] for at in np.frombuffer(made["index"], "<u2")]
    assert ids == one.ids[100:].tolist()
    assert np.frombuffer(made["positions"], "<i4").tolist() == (
        one.positions[100:].tolist()
    )
    assert np.frombuffer(made["segments"], "<i2").tolist() == (
        one.segments[100:].tolist()
    )
    assert np.allclose(np.frombuffer(made["losses"], "<f4"), one.losses[100:])
    assert np.allclose(np.frombuffer(made["weights"], "<f4"), one.weights[100:])
    assert head["turns"][0] == [100, 150, "role 1", 2, "text"]
    assert "labels" not in made


def test_labels_that_are_not_their_own_tokens_are_sent():
    ids = np.array([1, 2, 3])
    one = TokenRow(ids, labels=np.array([-100, 3, 1]))
    made = window(summarise_tokens(TokenBatch((one,), vocabulary(4))), 0, 0)
    pieces = made["head"]["pieces"]
    labels = [pieces[at][0] for at in np.frombuffer(made["labels"], "<u2")]
    assert labels[1:] == [3, 1]


def test_questions_that_make_no_sense_are_left_alone():
    widget = TokenView(TokenBatch((row(9, 4),), vocabulary(4))).widget()
    for asked in (
        None,
        {},
        {"row": 1, "start": 0},
        {"row": 0, "start": 9},
        {"row": -1, "start": 0},
    ):
        widget._hear(None, asked, [])
        assert not widget.answer
    widget._hear(None, {"row": 0, "start": 4}, [])
    assert widget.answer["head"]["stop"] == 9


def test_emoji_and_joined_letters_stay_whole_and_hidden_marks_are_seen():
    assert visible(FAMILY) == FAMILY
    assert visible("می‌خواهم") == "می‌خواهم"
    assert visible("a\u200db") == r"a\u200db"
    assert visible("\u202eabc") == r"\u202eabc"
    assert visible("\x1b[31m") == r"\x1b[31m"


def test_a_character_of_several_tokens_is_shown_whole_at_its_first():
    pieces = {1: Piece("ðŁ", ""), 2: Piece("ĺĢ", "")}
    one = TokenRow(np.array([1, 2, 1]), texts={0: "😀", 1: "", 2: "\ufffd"})
    table = TokenView(TokenBatch((one,), pieces)).table()
    assert table["text"].tolist() == ["😀", "⋯", "ðŁ"]


def test_a_piece_without_end_is_cut():
    batch = TokenBatch((row(3, 1),), {0: Piece("x" * 10**6, "y" * 10**6)})
    made = window(summarise_tokens(batch), 0, 0)
    assert len(made["head"]["pieces"][0][1]) == LONGEST


def test_the_table_says_turn_segment_weight_and_loss():
    one = row(60, 5)
    table = TokenView(TokenBatch((one,), vocabulary(5))).table()
    assert table["role"].tolist() == ["role 0"] * 50 + ["role 2"] * 10
    assert table["message"].tolist() == [0] * 50 + [1] * 10
    assert np.allclose(table["weight"], one.weights)
    assert np.allclose(table["loss"], one.losses)
    assert table["segment"].tolist() == one.segments.tolist()
    assert table["position_id"].tolist() == one.positions.tolist()


@pytest.mark.parametrize(("rows", "length"), [(1, 5), (16, 40), (20, 8_000)])
def test_the_figure_draws_turns_and_documents(rows, length):
    made = tuple(row(length, 5, seed) for seed in range(rows))
    figure = TokenView(TokenBatch(made, vocabulary(5))).figure()
    figure.canvas.draw()
    assert len(figure.axes[0].get_yticks()) == min(16, rows)
