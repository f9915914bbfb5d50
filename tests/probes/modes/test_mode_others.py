"""Other models of the process that have a dropout on."""

import pytest
import torch
from torch import nn

from ftlab.probes.modes.mode_others import other_models


class Own(nn.Dropout):
    pass


def net(dropout=None):
    return nn.Sequential(nn.Linear(2, 2), dropout or nn.Dropout(0.1))


def test_another_model_with_a_dropout_on_is_found_as_a_whole():
    teacher = nn.Sequential(net(Own(0.1)), nn.Linear(2, 2))
    assert any(each is teacher for each in other_models(net()))


@pytest.mark.parametrize(
    "make",
    [
        lambda _: net().eval(),
        lambda _: net(nn.Dropout(0.0)),
        lambda mine: nn.Sequential(mine, nn.Dropout(0.1)),
        lambda _: nn.Dropout(0.1),
    ],
    ids=["off", "drops nothing", "around it", "no weights"],
)
def test_what_drops_nothing_or_is_not_apart_is_left_alone(make):
    mine = net()
    other = make(mine)
    found = other_models(mine)
    assert not any(each is other or each is mine for each in found)


def test_the_model_itself_is_none():
    mine = torch.nn.Sequential(net())
    assert not any(each in (mine, mine[0]) for each in other_models(mine))
