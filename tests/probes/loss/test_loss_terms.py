import pytest
import torch
from torch.nn import functional

from ftlab.probes.loss.loss_terms import terms_of

LABELS = torch.tensor([[0, 1, 2], [2, 1, 0]])


def scores():
    return torch.nn.Linear(5, 4)(torch.ones(2, 3, 5))


def entropy_of(logits):
    return functional.cross_entropy(logits.flatten(0, 1), LABELS.flatten())


@pytest.mark.parametrize(
    ("made", "factor", "op"),
    [
        (lambda x: x, 1.0, ""),
        (lambda x: x / 0.5, 2.0, "div"),
        (lambda x: x * 4.0, 4.0, "mul"),
        (lambda x: (x.double() / 0.5).float() * 0.25, 0.5, "div"),
        (lambda x: torch.tanh(x / 30) * 30, 1.0, ""),
        (lambda x: x * torch.nn.Parameter(torch.tensor(9.0)), 1.0, ""),
    ],
)
def test_constants_on_the_logits_are_multiplied(made, factor, op):
    (term,) = terms_of([entropy_of(made(scores()))])
    assert term.factor == pytest.approx(factor)
    assert term.factor_op == op
    assert term.normalised


@pytest.mark.parametrize(
    ("made", "of"),
    [
        (lambda x: x.softmax(-1), "softmax"),
        (lambda x: x.sigmoid()[..., :4], "sigmoid"),
        (lambda x: x.log_softmax(-1), "view"),
        (lambda x: x.softmax(-1).log(), "log"),
    ],
)
def test_what_made_the_logits_is_named(made, of):
    (term,) = terms_of([entropy_of(made(scores()))])
    assert term.of in (of, "addmm")


def test_the_positions_that_are_used_are_known():
    logits = scores()
    loss = functional.cross_entropy(
        logits[:, 1:].reshape(-1, 4), LABELS[:, 1:].reshape(-1)
    )
    (term,) = terms_of([loss])
    assert (term.start, term.length, term.chosen) == (1, 3, False)


def test_positions_that_were_picked_are_known_to_be():
    logits, labels = scores().flatten(0, 1), LABELS.flatten()
    picked = labels != 1
    loss = functional.cross_entropy(logits[picked], labels[picked])
    (term,) = terms_of([loss])
    assert term.chosen


def test_each_term_of_a_sum_is_found():
    one, two = entropy_of(scores()), entropy_of(scores() / 0.1)
    assert sorted(t.factor for t in terms_of([one + 0.5 * two])) == [1.0, 10.0]


def test_smoothing_and_a_divergence_are_terms_of_their_own():
    logits = scores().flatten(0, 1)
    smoothed = functional.cross_entropy(logits, LABELS.flatten(), label_smoothing=0.9)
    wanted = torch.full((6, 4), 0.25)
    apart = functional.kl_div((logits / 2).softmax(-1), wanted, reduction="batchmean")
    found = {term.op: term for term in terms_of([smoothed + apart])}
    assert sorted(found) == ["cross_entropy", "kl_div", "label_smoothing"]
    assert found["label_smoothing"].smoothing == pytest.approx(0.9)
    assert found["kl_div"].of == "softmax"


def test_a_loss_without_such_a_term_has_none():
    assert terms_of([scores().square().mean()]) == []
    assert terms_of([torch.ones(())]) == []
