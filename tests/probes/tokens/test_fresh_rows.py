"""Rows that no training has touched are told from the others by their values."""

import pytest
import torch

from ftlab.probes.tokens.fresh_rows import fresh_rows

WIDTH = 64


def drawn(rows, std=1.0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, WIDTH, generator=generator) * std


def test_rows_at_the_mean_stand_out_also_in_bf16():
    old = drawn(60) + drawn(1, 2.0, seed=1)
    weight = torch.cat([old, old.mean(0).expand(3, -1) + drawn(3, 1e-5)])
    for dtype in (torch.float32, torch.bfloat16):
        assert fresh_rows(weight.to(dtype), [0.02]) == {"mean": [60, 61, 62]}


def test_rows_of_zero_are_told_apart():
    weight = drawn(60)
    weight[[3, 4]] = 0
    assert fresh_rows(weight, [0.02]) == {"zero": [3, 4]}


@pytest.mark.parametrize(("std", "found"), [(0.02, [60, 61, 62]), (0.03, [])])
def test_the_last_rows_were_drawn_where_their_deviation_says_so(std, found):
    weight = torch.cat([drawn(60), drawn(3, std, seed=1)])
    assert fresh_rows(weight, [0.02]).get("drawn", []) == found


def test_where_all_rows_look_drawn_none_stands_out():
    assert fresh_rows(drawn(60, 0.02), [0.02]) == {}


def test_few_older_rows_may_look_drawn_and_not_many():
    old = drawn(60)
    for count, found in ((5, [60, 61, 62]), (9, [])):
        old[:count] = drawn(count, 0.02, seed=2)
        weight = torch.cat([old, drawn(3, 0.02, seed=1)])
        assert fresh_rows(weight, [0.02]).get("drawn", []) == found


def test_a_table_that_is_mostly_zero_says_nothing():
    weight = torch.zeros(60, WIDTH)
    weight[:10] = drawn(10)
    assert fresh_rows(weight, [0.02]) == {}


def test_rows_are_read_in_parts(monkeypatch):
    weight = torch.cat([drawn(60), drawn(60).mean(0, keepdim=True)])
    whole = fresh_rows(weight, [0.02])
    monkeypatch.setattr("ftlab.probes.tokens.fresh_rows.ROWS", 7)
    assert fresh_rows(weight, [0.02]) == whole == {"mean": [60]}
