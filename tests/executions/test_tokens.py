"""Tokens of two executions that are the same."""

import pytest
import torch

from ftlab.executions.tokens import Grid, Meeting

WHOLE = {"input_ids": torch.arange(8).view(2, 4)}
LEFT = WHOLE | {"attention_mask": torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])}


def pairs(grid):
    return list(zip(grid.rows.tolist(), grid.positions.tolist(), strict=True))


def test_tokens_of_padding_are_left_out():
    assert pairs(Grid.of(LEFT)) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    embedded = {"inputs_embeds": torch.zeros(1, 2, 3), "attention_mask": None}
    assert pairs(Grid.of(embedded)) == [(0, 0), (0, 1)]
    four = LEFT | {"attention_mask": torch.ones(2, 1, 4, 4)}
    assert len(pairs(Grid.of(four))) == 8


@pytest.mark.parametrize(
    "batch", [torch.ones(2), {}, {"input_ids": torch.ones(3)}, {"input_ids": [[1]]}]
)
def test_a_batch_without_tokens_has_no_grid(batch):
    assert Grid.of(batch) is None


@pytest.mark.parametrize("batch", [WHOLE, LEFT], ids=["whole", "padded"])
def test_cells_are_found_and_put_back_however_tokens_are_laid_out(batch):
    grid = Grid.of(batch)
    ids = batch["input_ids"]
    laid = {
        "rows": torch.stack((ids, ids + 100), -1),
        "flat": ids.reshape(-1, 1),
        "positions": torch.arange(4)[None, :, None],
    }
    wanted = [row * 4 + position for row, position in pairs(grid)]
    for layout, tensor in laid.items():
        assert grid.layout(tensor) == layout
        cells = grid.cells(tensor, layout)
        at = [w % 4 for w in wanted] if layout == "positions" else wanted
        assert cells[:, 0].tolist() == at
        put = grid.put(tensor, layout, cells + 50)
        assert grid.cells(put, layout).tolist() == (cells + 50).tolist()
        assert grid.put(tensor, layout, cells).tolist() == tensor.tolist()
    assert grid.layout(torch.arange(4)) == "positions"
    assert grid.put(torch.arange(4), "positions", torch.zeros(len(wanted))).sum() == 0
    assert grid.layout(torch.zeros(3, 4)) is None


def row_alone():
    grid = Grid.of(LEFT)
    mine = grid.rows == 1
    there = Grid(grid.shape, grid.rows[mine], grid.positions[mine])
    here = Grid((1, 2), torch.zeros(2, dtype=torch.long), torch.arange(2))
    return Meeting(here, there, moved=True)


def test_a_row_alone_meets_its_tokens_behind_padding():
    meeting = row_alone()
    alone, batch = torch.tensor([[6, 7]]), LEFT["input_ids"]
    assert [side.tolist() for side in meeting.cells(alone, batch)] == [[[6], [7]]] * 2
    put = meeting.forced(alone + 10, batch)
    assert put.tolist() == [[0, 1, 2, 3], [4, 5, 16, 17]]
    assert batch[1, 2] == 6


def test_tokens_are_found_behind_attention_heads():
    meeting = row_alone()
    alone, batch = torch.rand(1, 3, 2, 5), torch.rand(2, 3, 4, 5)
    batch[1:, :, 2:] = alone
    assert meeting.cells(alone, batch) is None
    a, b = meeting.cells(alone, batch, heads=True)
    assert a.shape == (2, 15)
    assert torch.equal(a, b)


def test_what_is_no_token_is_one_cell_where_nothing_has_moved():
    weight = torch.rand(3, 3)
    still = Meeting(Grid.of(WHOLE), Grid.of(WHOLE))
    assert still.cells(weight, weight)[0].shape == (1, 9)
    assert Meeting(None, None).cells(weight, weight[:2]) is None
    assert row_alone().cells(weight, weight + 1) is None
    assert row_alone().cells(weight, weight)[0].shape == (1, 9)  # a constant
    assert torch.equal(row_alone().forced(weight + 1, weight), weight)
    assert row_alone().forced(torch.tensor(1.0), torch.tensor(2.0)) == 1


def test_masks_of_two_kinds_are_not_compared():
    still = Meeting(None, None)
    ones = torch.ones(2)
    assert still.cells(ones, ones.bool()) is None
    assert still.forced(ones.bool(), ones) is ones
    assert still.forced(ones, ones.double() + 1).dtype == torch.float64
