"""`ftlab.memory`: a step's memory predicted and measured, its lives, and who holds."""

import gc

import pytest
import torch

import ftlab
from ftlab.records.memory import BEFORE
from tests.laboratory.memory.models import base, rows
from tests.models import batches, tiny_llama, tiny_lora

HELD = {}
"""A name of a user's module."""


@pytest.fixture
def named():
    yield HELD
    HELD.clear()
    gc.collect()


@pytest.fixture(scope="module")
def found():
    return ftlab.memory(base("llama"), rows())


def test_predicts_and_measures(found):
    assert abs(found.error) < 0.01
    text = str(found)
    assert "measured at its peak, in backward; " in text
    assert "predicted (+0.0 %)" in text
    table = found.table().set_index("what")
    assert table.loc["activations", "measured"] > table.loc["weights", "measured"]
    assert table.loc["allocator's peak", "measured"] > 0


def test_text_is_the_same_twice(found):
    again = ftlab.memory(base("llama"), rows())
    assert str(again) == str(found)
    assert str(again.lifetimes) == str(found.lifetimes)


def test_lives_add_up_to_what_is_alive(found):
    step = found.measured
    for index in (0, step.peak_at, step.phases[2]):
        there = sum(e.bytes for e in step.lives if e.born <= index <= e.died)
        assert there == step.live()[index]
    assert sum(step.at_peak().values()) == step.peak


def test_logits_and_their_copies_are_known(found):
    made = [e for e in found.measured.lives if e.category == "logits and loss"]
    whole = 4 * 8 * 96 * 512
    assert {e.bytes for e in made} <= {whole, 4 * 8 * 95 * 512}
    assert any(e.module == "lm_head" for e in made)
    assert any("loss_utils.py" in e.line for e in made)


def test_a_life_says_who_made_it_and_what_became_of_it(found):
    step = found.measured
    gate = next(e for e in step.lives if e.module == "model.layers.1.mlp.gate_proj")
    assert gate.op == "aten.mm.default"
    assert "modeling_llama.py" in gate.line
    assert gate.category == "activations"
    assert gate.stage(gate.born) == "bound"
    assert (
        gate.stage(gate.last_read + 1)
        == ("reused", "evicted")[gate.died == gate.last_read]
    )
    assert gate.stage(gate.died + 1) == "evicted"
    weights = [e for e in step.lives if e.category == "weights"]
    assert {e.born for e in weights} == {BEFORE}


def test_largest_at_the_peak_is_drawn_and_listed(found):
    lives = found.lifetimes
    table = lives.table()
    assert table["bytes"].is_monotonic_decreasing
    assert table["bytes"].sum() == found.measured.peak
    (axis,) = lives.figure().axes
    assert any("peak" in each.get_text() for each in axis.texts)
    assert [each.get_text().strip() for each in axis.texts[1:]] == [
        "forward",
        "backward",
        "update",
    ]


def test_a_watch_hears_nothing_of_it(tmp_path):
    model = tiny_lora()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    rows_ = list(batches(2))
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for batch in rows_:
            model(**batch).loss.backward()
            ftlab.memory(model, batch)
            optimizer.step()
            optimizer.zero_grad()
    assert len(watch.run.steps) == 2


def test_what_cannot_be_rehearsed_is_measured_and_said():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)

        def forward(self, x):
            h = self.inner(x)
            return {"loss": h.sum() * float(h.detach().numpy().mean())}

    found = ftlab.memory(Odd(), {"x": torch.ones(2, 4)})
    assert found.predicted is None
    assert found.measured.peak > 0
    assert "not predicted: Odd does not run without values" in str(found)
    with pytest.raises(ftlab.memory.__globals__["BadValueError"], match="real batch"):
        ftlab.memory(Odd(), (2, 4))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"batch": (0, 8)}, r"batch=\(0, 8\): pass \(rows, length\)"),
        ({}, "batch=None"),
        ({"batch": (2, 8), "optimizer": "adan"}, "optimizer='adan'.*adamw"),
        ({"batch": (2, 8), "dtype": "int8"}, "dtype='int8'"),
        ({"batch": {"input_ids": torch.ones(1, 8, dtype=int)}}, "no labels"),
        ({"batch": {"words": 3}}, "cannot be trained on this batch"),
    ],
)
def test_what_was_wrong_is_said(given, said):
    with pytest.raises(ValueError, match=said):
        ftlab.memory(tiny_llama(), **given)


def test_nothing_is_measured_on_the_meta_device():
    with torch.device("meta"):
        model = tiny_llama()
    assert ftlab.memory(model, (2, 8), dtype="bfloat16").predicted.peak > 0
    with pytest.raises(ValueError, match="meta device"):
        ftlab.memory(model, next(batches(1)))


def hold(named):
    """Hold a model, its optimizer, a batch, graphs, and another model's parameters."""
    named["model"] = model = tiny_lora()
    trained = [p for p in model.parameters() if p.requires_grad]
    named["optimizer"] = optimizer = torch.optim.AdamW(trained)
    named["batch"] = batch = next(batches(1))
    model(**batch).loss.backward()
    optimizer.step()
    named["losses"] = [model(**batch).loss for _ in range(2)]
    named["trials"] = [list(tiny_llama().parameters())]
    whole = sum(e.nbytes for e in (*model.parameters(), *model.buffers()))
    return whole, sum(p.nbytes for p in trained), len(trained)


def test_who_holds_what_by_owner(named):
    whole, trained, count = hold(named)
    held = {(e.owner, e.path): e.bytes for e in ftlab.memory().holdings.held}

    def at(owner, name):
        return held[owner, f"{__name__}.HELD{name}"]

    assert at("weights", "['model']") == whole
    assert at("gradients", "['model']") == trained
    assert at("optimizer state", "['optimizer']") == 2 * trained + 4 * count
    gone = sum(p.nbytes for p in named["trials"][0])
    assert at("parameters of a model that is gone", "['trials'][...]") == gone
    assert at("graphs", "['losses'][...]") > whole
    assert at("batches", "['batch']['input_ids']") == 8 * 4 * 16


def test_what_no_name_reaches_is_told():
    class Ring:
        pass

    gc.collect()
    gc.disable()
    try:
        ring = Ring()
        ring.itself, ring.tensor = ring, torch.zeros(2**25)  # the largest of all
        del ring
        found = ftlab.memory()
    finally:
        gc.enable()
        gc.collect()
    lost = [e for e in found.holdings.held if e.owner == "reached by no name"]
    (ours,) = (each for each in lost if "Ring" in each.path)  # pytest keeps some too
    assert ours.bytes == 2**27
    assert "garbage" in ours.path
    assert found.holdings.process.rss > 2**22


def test_weights_that_are_lazy_are_passed_over():
    lazy = torch.nn.LazyLinear(4)
    assert repr(ftlab.memory()).startswith("Memory now")
    assert lazy.has_uninitialized_params()
