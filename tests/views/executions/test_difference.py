"""Two executions in words, as a table and drawn."""

import numpy as np
import pytest

from ftlab.records.difference import Born, Differences, Row
from ftlab.views.executions.difference import TALLEST, DifferenceView, where
from ftlab.views.view import png

TOKENS = np.array([[0, 0], [0, 1], [1, 3]])


def born(**changes) -> Born:
    values = {
        "module": "layers.1.mlp",
        "phase": "forward",
        "tensor": "what it returns",
        "ratio": 12.34,
        "relative": 0.1,
        "tokens": TOKENS[2:],
        "ops": ("linear", "linear"),
        "lines": ("", "model.py:4 forward"),
        "changes": True,
    }
    return Born(**(values | changes))


ROW = Row("layers.1.mlp", 0, "out", "", "forward", 12.34, 20.0, 0.1)


def found(blocks=2, **changes) -> Differences:
    names = [f"layers.{at}{end}" for at in range(blocks) for end in (".mlp", "")]
    modules = ("embed", *names, "the model")
    values = {
        "sides": ("one", "other"),
        "rows": (ROW, ROW),
        "born": (born(),),
        "outcome": 20.0,
        "equal": False,
        "rest": 0.0,
        "modules": modules,
        "heat": np.full((len(modules), 3), 2.0),
        "tokens": TOKENS,
    }
    return Differences(**(values | changes))


FULL = found(
    born=(
        born(weights=("weight",), also=("layers.2.mlp",)),
        born(
            module="",
            phase="backward",
            ops=("", "SumBackward0"),
            lines=("", ""),
            ratio=float("inf"),
            tokens=TOKENS,
            changes=None,
        ),
        born(
            module="rotary",
            ops=("add", "mul"),
            tokens=TOKENS[:0],
            weights=("a", "b"),
            changes=False,
        ),
    ),
    kl=np.array([0, 0.5, 0.25]),
    greedy=2,
    alone=((), ("x", "y", "z", "u", "v")),
    notes=("a note",),
)


def test_text_says_where_two_executions_part_and_what_that_does():
    assert repr(DifferenceView(FULL)) == (
        "one and other part at layers.1.mlp, operation linear (model.py:4 forward), "
        "in what it returns,\n"
        "  row 1, position 3: 12.3 x the noise floor; its weight differs; likewise in "
        "1 other block\n"
        "  and at the model in backward, operation SumBackward0, which only other has, "
        "in what it\n"
        "    returns, all tokens: differs\n"
        "  with these tensors put right, the outputs are equal\n"
        "  the outputs differ by 20 x the noise floor\n"
        "  next-token distributions: KL up to 0.5 nats (row 0, position 1); first "
        "another likeliest token\n"
        "    at row 1, position 3\n"
        "  without consequence: at rotary, operation add of one, mul of other "
        "(model.py:4 forward), in\n"
        "    what it returns: 12.3 x the noise floor; its a and b differ\n"
        "  only other runs x, y, z and 2 more\n"
        "  a note"
    )


def test_the_headline_is_one_line():
    assert DifferenceView(found()).headline() == (
        "one and other part at layers.1.mlp, operation linear (model.py:4 forward), "
        "in what it returns, row 1, position 3: 12.3 x the noise floor"
    )


def test_what_is_equal_is_said_so_and_what_has_no_consequence_follows():
    same = found(born=(born(changes=False),), equal=True, outcome=float("inf"))
    view = DifferenceView(same)
    assert view.equal
    assert view.born == same.born
    first, second, third = repr(view).splitlines()[:3]
    assert first.endswith("2 tensors of 1 module differ by no more than rounding")
    assert second == "  the outputs differ"
    assert third.startswith("  without consequence: at layers.1.mlp")


def test_outputs_that_stay_different_are_not_said_to_be_put_right():
    assert "put right" in repr(DifferenceView(found()))
    for rest in (1e-3, float("nan")):
        assert "put right" not in repr(DifferenceView(found(rest=rest)))
    backward = found(born=(born(phase="backward"),))
    assert "put right" not in repr(DifferenceView(backward))


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([[0, 0]], "row 0, position 0"),
        ([[1, 2], [1, 5]], "row 1, positions 2-5"),
        ([[at, 1] for at in range(6)], "rows 0, 1, 2 and 3 more, position 1"),
    ],
)
def test_tokens_are_named_by_row_and_position(tokens, words):
    assert where(np.array(tokens), np.zeros((9, 2))) == words


def test_the_table_has_a_row_for_each_tensor():
    table = DifferenceView(FULL).table()
    assert list(table.columns) == [
        "module",
        "call",
        "kind",
        "path",
        "phase",
        "born",
        "carried",
        "relative",
    ]
    assert len(table) == 2
    assert tuple(table.iloc[0]) == tuple(getattr(ROW, name) for name in table.columns)
    assert list(DifferenceView(found(rows=())).table().columns) == list(table.columns)


def labels(figure):
    return [each.get_text() for each in figure.axes[0].get_yticklabels()]


def test_two_blocks_are_drawn_with_all_their_modules():
    figure = DifferenceView(FULL).figure()
    assert png(figure).startswith(b"\x89PNG")
    assert labels(figure) == [*FULL.modules]
    heat, bars = figure.axes[:2]
    assert [each.get_text() for each in heat.get_xticklabels()] == ["row 0", "row 1"]
    rows = {round(bar.get_y() + bar.get_height() / 2) for bar in bars.patches}
    assert rows == {FULL.modules.index("layers.1.mlp"), FULL.modules.index("the model")}


@pytest.mark.parametrize("at", [0, 1, 41, 79])
def test_of_eighty_blocks_some_are_drawn_and_the_birthplace_always(at):
    figure = DifferenceView(found(80, born=(born(module=f"layers.{at}.mlp"),))).figure()
    (image,) = figure.axes[0].get_images()
    assert 28 < image.get_array().shape[0] <= TALLEST
    bars = figure.axes[1].patches
    assert len(bars) == 1
    assert png(figure).startswith(b"\x89PNG")
    assert figure.get_size_inches()[1] < 12


def test_a_comparison_without_tokens_is_drawn_without_a_heatmap():
    nothing = found(modules=(), heat=np.zeros((0, 0)), tokens=np.zeros((0, 2), int))
    assert png(DifferenceView(nothing).figure()).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [r"a$\frac{$", "x\x1b[2J\u202e", "<script>", "$x^{$"])
def test_hostile_names_of_modules_do_nothing(name):
    hostile = found(
        born=(born(module=name, weights=(name,)),),
        modules=(name, "b"),
        heat=np.ones((2, 3)),
        alone=((name,), ()),
    )
    view = DifferenceView(hostile)
    figure = view.figure()
    assert png(figure).startswith(b"\x89PNG")
    for said in (repr(view), view.headline(), figure.get_suptitle(), *labels(figure)):
        assert "\x1b" not in said
        assert "\u202e" not in said
