"""Which losses a scaler has multiplied, by the graphs of the losses."""

import pytest
import torch

from ftlab.probes.precision.scaled_losses import ScaledLosses

SCALER = torch.amp.GradScaler("cpu", init_scale=8.0)


def loss():
    return torch.ones(3, requires_grad=True).exp().mean()


def scaled(losses, outputs, scaler=SCALER):
    result = scaler.scale(outputs)
    losses.add(outputs, result)
    return result


def test_knows_what_a_scaler_has_made_and_what_is_made_of_that():
    losses = ScaledLosses()
    first, second = scaled(losses, [loss(), loss()])
    assert losses.times([first]) == 1
    assert losses.times([first / 4 + second]) == 1


def test_knows_a_loss_whose_scaled_value_was_thrown_away():
    losses, plain = ScaledLosses(), loss() * 2
    scaled(losses, plain)
    assert losses.times([plain]) == 0


def test_knows_a_loss_that_was_never_given_to_a_scaler():
    losses = ScaledLosses()
    plain = loss()
    scaled(losses, loss())
    assert losses.times([plain]) == 0
    losses.forget()
    assert losses.times([loss()]) == 0


def test_knows_a_loss_that_was_scaled_twice():
    losses, other = ScaledLosses(), torch.amp.GradScaler("cpu")
    assert losses.times([scaled(losses, scaled(losses, loss()), other)]) == 2


@pytest.mark.parametrize("factor", [3.0, torch.tensor(3.0)])
def test_cannot_tell_where_the_user_multiplies(factor):
    losses = ScaledLosses()
    scaled(losses, loss())
    assert losses.times([loss() * factor]) is None


def test_cannot_tell_without_a_scaler_or_a_graph():
    losses = ScaledLosses()
    assert losses.times([loss()]) is None
    scaled(losses, loss())
    assert losses.times([torch.ones((), requires_grad=True)]) is None
    assert losses.times([]) is None
