"""The mask view says, draws and sends what the report holds."""

import base64
import json

import numpy as np
import pytest

from ftlab.records.attention import (
    AttentionReport,
    Documents,
    LayerKind,
    MaskGrid,
    MaskRow,
    PaddingPlan,
    Pair,
)
from ftlab.views.masks.mask_colours import BAD, COARSE, coded, pixels
from ftlab.views.masks.masks import MaskView


def grid(cells=8, cell=4):
    """Two documents that see each other, and two keys of padding at the end."""
    whole = np.tril(np.full((cells, cells), 255, np.uint8))
    other = np.zeros_like(whole)
    half = cells // 2
    other[half:, :half] = whole[half:, :half]
    span = (0, cells * cell)
    return MaskGrid(span, span, (cell, cell), whole - other, {"other sample": other})


def report(*, sure=True, told_by="position ids", piece="Ġa\x1b[2J"):
    made = grid()
    numbers = np.repeat(np.array([0, 1], np.int32), 16)
    numbers[30:] = -1
    row = MaskRow(
        0,
        "full",
        528,
        {"other sample": 256},
        {"other sample": 16},
        {"other sample": Pair(16, 0, piece, "Ġb")},
        {"other sample": 0.94},
        made,
        sure=sure,
    )
    return AttentionReport(
        "LlamaForCausalLM",
        "sdpa",
        32,
        32,
        (Documents(numbers, told_by, sure),),
        (LayerKind("full", (0, 1, 2, 5), True, 0, "somewhere"),),
        (row,),
        plans=(PaddingPlan("this batch", 32, 0.0625, 2.0),),
        remarks=("a remark",),
    )


def test_the_text_is_this():
    assert repr(MaskView(report())).splitlines() == [
        "Attention of LlamaForCausalLM (sdpa): 1 row of 32 x 32",
        "  full (layers 0-2, 5): causal; read from somewhere",
        "  row 0: 2 documents (by position ids), 2 padding",
        "    full: sees another sample: 48.5 % of its pairs, 16 of its tokens, "
        r"first token 16 'Ġa\\x1b[2J' -> token 0 'Ġb'",
        "  padding, this batch: 6.2 % of 32 tokens, 2 times the attention that the "
        "documents need",
        "  a remark",
    ]


def test_documents_that_may_be_none_are_no_fault():
    view = MaskView(report(sure=False, told_by="EOS"))
    assert "if these are documents, 48.5 %" in repr(view)
    assert view.table()["illegal"].iloc[0] == 0
    assert view.table()["told_by"].iloc[0] == "EOS (may be)"
    assert view.table()["fault"].iloc[0] == ""
    assert view.headline() == "0 % of attention illegal"
    seen = pixels(grid(), sure=False)
    assert (seen[6, 1] == seen[6, 6]).all()


def test_the_table_has_shares_and_the_first_place():
    line = MaskView(report()).table().iloc[0]
    assert line["illegal"] == pytest.approx(256 / 528)
    assert line["sees another sample"] == line["illegal"]
    assert (line["fault"], line["query"], line["key"]) == ("sees another sample", 16, 0)
    assert (line["padding"], line["layers"], line["worst"]) == (2, 4, 0.94)
    assert line.index.is_unique


def test_illegal_cells_have_their_colour():
    bad = [int(BAD[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    picture = pixels(grid(), sure=True)
    np.testing.assert_allclose(picture[6, 1], bad)
    assert not np.allclose(picture[1, 1], bad)


def test_the_figure_draws_borders_and_padding():
    axes = MaskView(report()).figure().axes[0]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_xdata()[0]] == [15.5]
    assert len(axes.patches) == 2
    assert axes.get_title(loc="left") == "full: 48.5 % illegal"


def decoded(code):
    runs = np.frombuffer(base64.b64decode(code["runs"]), np.uint8).reshape(-1, 6)
    return np.repeat(runs[:, 1:], runs[:, 0], axis=0).reshape(*code["shape"], 5)


def test_the_code_for_the_browser_is_the_grid():
    made = grid(cells=40)
    planes = decoded(coded(made, sure=True))
    np.testing.assert_array_equal(planes[..., 0], made.seen)
    np.testing.assert_array_equal(planes[..., 2], made.faults["other sample"])
    assert not planes[..., [1, 3, 4]].any()
    same = np.full((40, 40), 7, np.uint8)  # longer than a byte can count
    planes = decoded(coded(MaskGrid((0, 40), (0, 40), (1, 1), same), sure=True))
    np.testing.assert_array_equal(planes[..., 0], same)


def test_a_noisy_grid_is_made_coarser():
    noise = np.random.default_rng(0).integers(0, 256, (256, 256)).astype(np.uint8)
    code = coded(MaskGrid((0, 512), (0, 512), (2, 2), noise), sure=True)
    assert len(base64.b64decode(code["runs"])) <= COARSE
    assert code["cell"] == [8, 8]
    assert code["shape"] == [64, 64]


def test_the_widget_is_small_and_answers():
    asked = []

    def closer(row, kind, part):
        asked.append((row, kind, part))
        return grid(cells=2)

    widget = MaskView(report(), closer).widget()
    sent = json.dumps([widget.spec, widget.grids])
    assert len(sent) < 300_000
    widget._hear(None, {"name": "a", "row": 0, "kind": "full"}, [])
    assert widget.answer["grid"]["shape"] == [8, 8]
    part = [[0, 8], [4, 8]]
    widget._hear(None, {"name": "b", "row": 0, "kind": "full", "part": part}, [])
    assert asked == [(0, "full", ((0, 8), (4, 8)))]
    assert widget.answer["name"] == "b"


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        {},
        {"row": 9, "kind": "full"},
        {"row": "0", "kind": "full"},
        {"row": [], "kind": {}},
        {"row": 0, "kind": "full", "part": 3},
        {"row": 0, "kind": "full", "part": [[0, 99], [0, 9]]},
        {"row": 0, "kind": "full", "part": [[0, "9"], [0, 9]]},
    ],
)
def test_messages_that_make_no_sense_are_left_alone(nonsense):
    widget = MaskView(report(), lambda *_: pytest.fail("asked")).widget()
    widget._hear(None, nonsense, [])
    assert not widget.answer


def test_many_rows_are_sent_as_far_as_there_is_room():
    noise = np.random.default_rng(0).integers(0, 256, (256, 256)).astype(np.uint8)
    one = report()
    rows = [
        MaskRow(
            n, "full", 1, {}, {}, {}, {}, MaskGrid((0, 256), (0, 256), (1, 1), noise)
        )
        for n in range(20)
    ]
    many = AttentionReport(
        "M", "sdpa", 256, 256, one.documents * 20, one.kinds, tuple(rows)
    )
    widget = MaskView(many).widget()
    assert 1 <= len(widget.grids) < 20
    assert len(json.dumps([widget.spec, widget.grids])) < 300_000
