"""What an experiment is tried on."""

import pytest
import torch

from ftlab.executions.side import NotApplicableError
from ftlab.experiments.live import Live
from tests.experiments.set_ups import llama, lora, masked_lm, padded


def live(model, batch, **more):
    return Live(model, batch, lambda each: model(**each).loss, **more)


def test_logits_are_those_without_labels_and_leave_the_dice():
    model = llama(attention_dropout=0.5).train()
    before = torch.get_rng_state()
    logits = live(model, padded()).logits(padded())
    assert logits.shape == (4, 12, 128)
    assert not logits.requires_grad
    assert torch.equal(torch.get_rng_state(), before)


def test_it_runs_in_the_precision_of_the_training():
    def half():
        return torch.autocast("cpu", torch.bfloat16)

    step = live(llama(), padded(), autocast=half)
    assert step.logits(padded()).dtype == torch.bfloat16
    assert step.side().call().logits.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("model", "causal"), [(llama(), True), (lora(), True), (masked_lm()[0], False)]
)
def test_a_causal_model_is_known_by_its_class(model, causal):
    assert live(model, padded()).is_causal() == causal


def test_what_is_not_there_is_not_applicable():
    step = live(torch.nn.Linear(2, 1), {"input": torch.ones(3, 2)})
    with pytest.raises(NotApplicableError, match=r"no input_ids of shape"):
        step.rows()
    with pytest.raises(NotApplicableError, match="Linear returns no logits by token"):
        step.logits(step.batch)
