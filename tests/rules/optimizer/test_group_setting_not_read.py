"""OPT026."""

import pytest
import torch

from ftlab.probes.optimizer.optimizer_facts import optimizer_facts
from ftlab.rules.optimizer.group_setting_not_read import GroupSettingNotRead
from tests.runs import RunBuilder, found_by, only


class Reader(torch.optim.AdamW):
    """An optimizer that may read any key."""


def check(rates=(1e-6, 1e-6), steps=3, kind=torch.optim.AdamW, scheduled=False, **own):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    groups = [{"params": model[0].parameters()}, {"params": model[1].parameters()}]
    optimizer = kind([groups[0], groups[1] | own], lr=1e-6)
    if scheduled:
        torch.optim.lr_scheduler.ConstantLR(optimizer, 0.5)
    builder = RunBuilder().facts(optimizers=optimizer_facts(model, [optimizer]))
    builder.steps(steps, lr=rates)
    return found_by(GroupSettingNotRead(), builder.run)


def test_is_quiet_on_a_healthy_run():
    assert check() == ()


def test_a_rate_under_another_librarys_name():
    finding = only(check(learning_rate=1e-2), "warning", "optimizer param_groups[1]")
    assert finding.evidence["key"] == "learning_rate"
    assert "its lr is the default, 1e-06" in finding.message
    assert check(learning_rate=1e-2, steps=1) == ()


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("wd", 0.1, "weight_decay"),
        ("weight_deacy", 0.1, "weight_decay"),
        ("weightDecay", 0.0, "weight_decay"),
        ("epsilon", 1e-6, "eps"),
        ("LR", 1e-2, "lr"),
    ],
)
def test_what_is_meant_is_told(key, value, meant):
    (finding,) = check(**{key: value})
    assert f"its {meant} is the default" in finding.message


@pytest.mark.parametrize(
    "own",
    [
        {"lr_scale": 0.5},
        {"lr_mult": 0.5},
        {"layer_id": 3},
        {"name": "head"},
        {"weight_decay_end": 0.4},
        {"no_weight_decay": 1},
        {"max_momentum": 0.95},
        {"use_muon": True},
        {"learning_rate": 1e-6},  # the same number, kept as a note
        {"learning_rate": 1e-2, "lr": 1e-3},  # the group has a rate of its own
        {"wd": 0.01},
    ],
)
def test_a_key_of_ones_own_is_let_pass(own):
    assert check(**own) == ()


def test_a_loop_that_reads_the_key_itself():
    assert check(rates=(1e-6, 1e-2), learning_rate=1e-2) == ()
    assert len(check(rates=(1e-6, 5e-7), learning_rate=1e-2, scheduled=True)) == 1


def test_an_optimizer_of_ones_own_may_read_any_key():
    assert check(kind=Reader, learning_rate=1e-2) == ()
