"""How far running means in frozen parts have moved."""

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from ftlab.probes.frozen.running_statistics import RunningStatistics
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from tests.models import update


def model(**settings):
    part = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, **settings))
    return nn.Sequential(part.requires_grad_(False), nn.Linear(4, 2))


def followed(net, steps=3):
    """Return the rows of frozen parts, with their shifts at each step."""
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    records = []
    with Recorder(Subject(net, [optimizer]), [RunningStatistics()], records.append):
        for _ in range(steps):
            update(net(torch.randn(8, 4) + 3).square().sum(), optimizer)
    rows = [each for each in records if isinstance(each, NameRecord)]
    parts = {each.name: each.meta["frozen"] for each in rows if each.meta.get("frozen")}
    blocks = [each for each in records if isinstance(each, Block)]
    return parts, [block.values["shifted"].tolist() for block in blocks]


def test_shifts_are_those_of_a_copy_taken_by_hand():
    net = model()
    norm = net[0][1]
    before, deviation = norm.running_mean.clone(), (norm.running_var + norm.eps).sqrt()
    parts, shifts = followed(net)
    assert parts == {"0.1": "0"}
    by_hand = ((norm.running_mean - before).abs() / deviation).mean().item()
    assert len(shifts) == 3
    assert shifts[-1] == [pytest.approx(by_hand)]


@pytest.mark.parametrize(
    "settings", [{"momentum": 0.0}, {"track_running_stats": False}]
)
def test_norms_that_keep_no_average_have_no_row(settings):
    assert followed(model(**settings)) == ({}, [])


def test_norms_in_evaluation_mode_or_beside_what_is_trained_have_no_row():
    still, trained = model(), model()
    still[0].eval()
    trained[0][0].requires_grad_(True)
    assert followed(still) == followed(trained) == ({}, [])


def test_a_model_with_adapters_is_left_to_them():
    net = model()
    wrapped = get_peft_model(net, LoraConfig(target_modules="1", r=2))
    assert followed(wrapped)[0] == {}
