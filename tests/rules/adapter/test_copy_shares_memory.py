"""ADP050: copies that are none."""

from ftlab.records.finding import Place
from ftlab.rules.adapter.copy_shares_memory import CopySharesMemory
from tests.runs import RunBuilder, found_by, only

TENSORS = ["q.lora_B.ref.weight", "q.lora_B.default.weight"]


def check(**model):
    run = RunBuilder().facts(model={"peft": {"default": {}}} | model).step().run
    return found_by(CopySharesMemory(), run)


def adapters(*, trainable=True):
    names = {"adapters": ["default", "ref"], "tensors": TENSORS}
    row = names | {"pairs": 2, "shared": 1, "trainable": trainable}
    return check(start={"shared_adapters": [row]})


def test_is_quiet_on_a_healthy_run():
    assert check(shared_memory={}) == ()


def test_names_the_adapter_that_is_no_copy():
    finding = only(adapters(), "warning", "param q.lora_B.ref.weight")
    assert "default and ref share memory in 1 of 2 layers" in finding.message


def test_what_nobody_trains_may_share():
    assert adapters(trainable=False) == ()


def test_both_sides_are_named_the_frozen_one_first():
    shared = {
        "frozen": {"count": 2, "names": ["slow.weight", "slow.bias"]},
        "trained": {"count": 2, "names": ["fast.weight", "fast.bias"]},
    }
    finding = only(check(shared_memory=shared), "warning", "param slow.weight")
    assert Place("param", "fast.bias") in finding.places
    assert finding.evidence["tensors"] == 2
