"""The part of a loss without a graph, against its value as it was added."""

import pytest
import torch
from torch.nn import functional

import ftlab
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.probes.loss.constant_terms import constant_part
from tests.models import update


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def logits():
    return torch.randn(6, 9, requires_grad=True)


@pytest.fixture
def entropy(logits):
    return functional.cross_entropy(logits, torch.tensor([1, 2, -100, 4, 0, 8]))


SUMS = {
    "a number": lambda loss, term: loss + term.item(),
    "first": lambda loss, term: term.item() + loss,
    "detached": lambda loss, term: loss + term.detach(),
    "taken off": lambda loss, term: loss - -term.detach(),
    "in place": lambda loss, term: loss.clone().add_(term.detach()),
    "with a factor": lambda loss, term: torch.add(loss, term.detach() / 3, alpha=3),
    "squeezed": lambda loss, term: (loss.reshape(1).squeeze(0) + term.item()) * 1,
}


@pytest.mark.parametrize("add", SUMS.values(), ids=SUMS)
def test_the_part_without_a_graph_is_what_was_added(add, entropy, logits):
    term = logits.square().mean()
    value, share = constant_part([add(entropy, term)])
    assert float(value) == pytest.approx(term.item(), rel=1e-5)
    assert float(share) == pytest.approx(term.item() / (entropy + term).item())


def test_it_is_in_the_units_of_what_backward_is_called_on(entropy, logits):
    term = logits.square().mean().detach()
    value, share = constant_part([(entropy + term) / 4])
    assert float(value) == pytest.approx(term.item() / 4, rel=1e-5)
    assert float(share) == pytest.approx(term.item() / (entropy + term).item())


def test_several_cross_entropies_are_all_taken_off(entropy, logits):
    image = logits.reshape(1, 6, 3, 3).movedim(1, 1)
    other = functional.cross_entropy(image, torch.zeros(1, 3, 3, dtype=torch.long))
    summed = functional.cross_entropy(logits, torch.arange(6), reduction="sum")
    value, _ = constant_part([entropy - 2 * other + summed / 6 + 0.25])
    assert float(value) == pytest.approx(0.25, rel=1e-4)


NOTHING = {
    "all have a graph": lambda loss, x: loss + x.square().mean(),
    "alone": lambda loss, _: loss,
    "of another value": lambda loss, x: loss + x.square().mean() + 1.0,
    "unknown": lambda loss, _: loss.exp() + 1.0,
    "half": lambda loss, _: (loss + 1.0).bfloat16(),
    "several numbers": lambda loss, _: loss.reshape(1) + 1.0,
}


@pytest.mark.parametrize("make", NOTHING.values(), ids=NOTHING)
def test_nothing_is_said_where_there_is_none_or_it_cannot_be_read(
    make, entropy, logits
):
    assert constant_part([make(entropy, logits)]) is None


def test_weights_smoothing_rounding_and_several_losses_are_left_out(entropy, logits):
    labels = torch.arange(6)
    weighed = functional.cross_entropy(logits, labels, weight=torch.rand(9))
    smoothed = functional.cross_entropy(logits, labels, label_smoothing=0.1)
    assert constant_part([weighed + 1.0]) is None
    assert constant_part([smoothed + 1.0]) is None
    assert constant_part([entropy + 1.0, entropy]) is None
    rounded = functional.cross_entropy(logits.bfloat16(), labels)
    assert constant_part([rounded.float() + 1.0]) is None
    assert constant_part([logits]) is None


def trained(make, steps=2):
    model = lora()
    optimizer = adamw(model)
    with ftlab.watch(model, optimizer, run_dir=None) as watch:
        for batch in (batches() * steps)[:steps]:
            update(make(model(**batch).loss), optimizer)
    return watch.run.steps


def test_a_run_has_the_term_at_its_first_steps():
    steps = trained(lambda loss: loss + 0.5)
    assert steps["constant_loss"].tolist() == pytest.approx([0.5, 0.5], rel=1e-5)
    share = steps["constant_loss"] / steps["loss"]
    assert steps["constant_share"].tolist() == pytest.approx(share.tolist())


def test_a_run_whose_terms_have_graphs_has_no_such_column():
    assert "constant_loss" not in trained(lambda loss: loss * 2).columns
