"""How large the gradient is where the loss meets the model."""

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.probes.loss.output_gradients import OutputGradients
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import StepRecord


def largest(loss_of, micro=1, probe=None):
    model, records = lora(), []
    optimizer = adamw(model)
    with Recorder(Subject(model, [optimizer]), [OutputGradients()], records.append):
        for batch in batches()[:micro]:
            loss_of(model(**batch)).backward()
        optimizer.step()
    assert not model._forward_hooks
    (row,) = (each.values for each in records if isinstance(each, StepRecord))
    return row.get("output_grad")


def test_the_gradient_of_the_logits_is_measured():
    expected = []
    for batch in batches()[:2]:
        output = lora()(**batch)
        expected.append(torch.autograd.grad(output.loss, output.logits)[0].abs().max())
    assert largest(lambda output: output.loss) == pytest.approx(expected[0].item())
    assert largest(lambda output: output.loss, 2) == pytest.approx(max(expected).item())


def test_what_the_loss_multiplies_by_zero_is_zero_there():
    assert largest(lambda output: (output.logits * torch.zeros(1)).mean()) == 0.0


def test_a_gradient_that_never_comes_to_an_output_is_not_known():
    elsewhere = torch.zeros(1, requires_grad=True)
    assert largest(lambda _: elsewhere.sum()) is None
