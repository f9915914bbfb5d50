import pytest
import torch
from torch.nn import functional
from transformers.trainer_pt_utils import LabelSmoother

from ftlab.probes.loss.loss_shapes import divergence_of, smoothing_of

LABELS = torch.tensor([0, 1, 2, -100])
SHARE = 0.3
WANTED = torch.full((4, 5), 0.2)


def logits():
    return torch.randn(4, 5, requires_grad=True) * 1


def logs():
    return logits().log_softmax(-1)


def entropy(scores=None, **settings):
    scores = logits() if scores is None else scores
    settings = {"label_smoothing": SHARE} | settings
    return functional.cross_entropy(scores, LABELS, **settings)


def classes_first():
    scores = logits().unsqueeze(0).transpose(1, 2)
    return functional.cross_entropy(scores, LABELS[None], label_smoothing=SHARE)


def by_the_trainer():
    return LabelSmoother(SHARE)({"logits": logits()[None]}, LABELS[None])


def of(other, scores=None):
    scores = logs() if scores is None else scores
    return (1 - SHARE) * functional.nll_loss(scores, LABELS) + SHARE * other(scores)


@pytest.mark.parametrize(
    "loss",
    [
        entropy,
        lambda: entropy(reduction="sum"),
        classes_first,
        by_the_trainer,
        lambda: of(lambda logs: -logs.mean(-1).mean()),
        lambda: of(lambda logs: -logs.sum(-1).mean() / 5),
    ],
)
def test_smoothing_is_read_however_it_is_written(loss):
    share, classes = smoothing_of(loss().grad_fn)
    assert (share, classes) == (pytest.approx(SHARE), 5)


@pytest.mark.parametrize(
    "loss",
    [
        lambda: entropy(label_smoothing=0.0),
        lambda: of(lambda logs: -(logs * WANTED).sum(-1).mean()),
        lambda: of(lambda logs: -(WANTED * logs).sum(-1).mean()),
        lambda: of(lambda _: -logs().mean(-1).mean()),
        lambda: of(lambda logs: -logs.mean(0).sum()),
        lambda: entropy(label_smoothing=0.0) + 0.3 * -logs().mean(-1).mean(),
    ],
)
def test_another_second_term_is_no_smoothing(loss):
    assert smoothing_of(loss().grad_fn) is None


@pytest.mark.parametrize(
    "loss",
    [
        lambda: functional.kl_div(logs(), WANTED, reduction="sum"),
        lambda: functional.kl_div(logits(), WANTED, reduction="none").sum(-1).mean(),
        lambda: (functional.kl_div(logs(), WANTED, reduction="none") * WANTED).mean(),
    ],
)
def test_a_divergence_is_known_by_its_difference(loss):
    assert divergence_of(loss().grad_fn)._saved_self.shape == (4, 5)


@pytest.mark.parametrize(
    "loss",
    [
        lambda: (WANTED * (1 - logits().softmax(-1))).sum(),
        lambda: (WANTED - WANTED * logits()).square().sum(),
        lambda: (logits() - WANTED * logits()).sum(),
        lambda: functional.kl_div(logs(), logs(), reduction="sum", log_target=True),
    ],
)
def test_other_products_are_no_divergence(loss):
    assert divergence_of(loss().grad_fn) is None
