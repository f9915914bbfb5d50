"""OPT009."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.optimizer.group_without_parameters import GroupWithoutParameters
from tests.runs import RunBuilder, found_by, only, places

REST = {"lr": 1e-3, "count": 20, "names": ["layers.0.weight"]}
HEAD = {"lr": 1e-2, "count": 0, "names": []}


def check(*groups, wrapper="OptimizedModule"):
    optimizers = ({"class": "AdamW", "groups": list(groups)},)
    builder = RunBuilder().facts(optimizers=optimizers, model={"wrapped_in": wrapper})
    return found_by(GroupWithoutParameters(), builder.run)


def test_is_quiet_on_a_healthy_run():
    assert check(REST, HEAD | {"count": 1}) == ()


def test_a_group_whose_names_have_the_wrappers_before_them():
    finding = only(check(REST, HEAD), "warning", "optimizer param_groups[1]")
    assert Place("call", "torch.compile") in finding.places
    (finding,) = check(REST, HEAD, wrapper="DistributedDataParallel")
    assert Place("call", "torch.compile") not in finding.places


def test_in_a_bare_model_it_may_be_meant():
    only(check(REST, HEAD, wrapper=""), "info")


@pytest.mark.parametrize(
    "groups",
    [
        (REST, HEAD | {"lr": 1e-3}),  # differs in its weight decay alone
        (REST | {"lr": 1e-4, "initial_lr": 1e-2}, HEAD),  # under a schedule
        (HEAD, HEAD | {"lr": 1e-3}),  # nothing is trained at all
    ],
)
def test_a_group_at_the_others_rate_loses_nothing(groups):
    assert check(*groups) == ()


def test_lora_plus_makes_groups_for_what_there_may_be():
    first = REST | {"names": ["q.lora_A.weight"]}
    second = REST | {"lr": 1.6e-2, "names": ["q.lora_B.weight"]}
    assert check(first, second, HEAD | {"lr": 1e-6}) == ()
    together = REST | {"names": ["q.lora_A.weight", "q.lora_B.weight"]}
    assert len(check(together, HEAD)) == 1


@pytest.mark.parametrize(
    ("decay", "of_empty", "shape", "found"),
    [
        (0.3, 0.0, (8,), 1),
        (0.0, 0.0, (8,), 0),
        (0.3, 0.3, (8,), 0),
        (0.3, 0.0, (8, 8), 0),
    ],
)
def test_a_group_without_decay_that_misses_the_norms_is_noted(
    decay, of_empty, shape, found
):
    rest = REST | {"weight_decay": decay, "names": ["norm.weight"]}
    empty = REST | {"weight_decay": of_empty, "count": 0, "names": []}
    builder = RunBuilder().facts(optimizers=({"groups": [rest, empty]},))
    builder.tensor("norm.weight", shape=shape)
    findings = found_by(GroupWithoutParameters(), builder.run)
    assert len(findings) == found
    for finding in findings:
        assert finding.severity is Severity.INFO
        assert places(finding) == ["optimizer param_groups[1]", "param norm.weight"]
