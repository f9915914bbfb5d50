"""The pairs that the benchmark plants changes in, and how it counts."""

import random
from collections import Counter

import pytest
import torch

from benchmarks.planted_pairs import (
    HalfSums,
    _planted,
    batch,
    build,
    plant,
    right_module,
    right_op,
    rounding,
    threads,
)
from ftlab.executions.difference import compare
from ftlab.executions.pairs import Pair
from ftlab.records.difference import Born, Differences


@pytest.mark.parametrize(
    ("family", "extra", "dtype"),
    [("gpt2", "lora", torch.float32), ("qwen", "", torch.bfloat16)],
)
def test_a_planted_change_is_named(family, extra, dtype, capsys):
    draw, count = random.Random(1), Counter()
    models = build(family, dtype, extra, 1), build(family, dtype, extra, 1)
    planted = plant(models[1], dtype, draw)
    _planted(count, models, batch(draw), planted, family)
    assert count == {"planted": 1, "module": 1, "op": 1}
    assert capsys.readouterr().out == ""
    for model in models:
        assert not any(
            m._forward_hooks or m._forward_pre_hooks for m in model.modules()
        )


def test_the_same_by_other_roundings_is_equal():
    draw = random.Random(3)
    model, twin = (build("llama", torch.float32, "", 2) for _ in "ab")
    _, a, b, meeting = rounding(model, twin, batch(draw), draw)
    assert compare(Pair(a, b, ("a", "b"), meeting)).equal


def test_changes_are_drawn_from_a_seed():
    planted = []
    for _ in "ab":
        model = build("llama", torch.float32, "", 0)
        made = plant(model, torch.float32, random.Random(6))
        planted.append((made.kind, made.module))
        for remove in made.remove:
            remove()
    assert planted[0] == planted[1]


def test_sums_in_halves_are_other_roundings_of_the_same():
    layer, x = torch.nn.Linear(65, 5), torch.randn(3, 65)
    with HalfSums():
        halves = layer(x)
    assert torch.allclose(halves, layer(x), atol=1e-6)
    before = torch.get_num_threads()
    with threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before


def test_answers_are_right_or_wrong():
    planted = type("Planted", (), {"module": "a"})
    born = Born("a", "forward", "", 9.0, 0.1, None, ("exp", "mul"), weights=("weight",))
    said = Differences(("a", "b"), born=(born,))
    assert right_module(said, planted)
    assert right_op(said, "mul", "function")
    assert not right_op(said, "add", "function")
    assert right_op(said, "", "weight weight")
    assert not right_op(said, "", "weight bias")
    assert not right_module(Differences(("a", "b")), planted)
    assert not right_op(Differences(("a", "b")), "mul", "function")
