"""ADP050."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapters_in_one_memory import AdaptersInOneMemory
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

TENSORS = ["q.lora_B.ref.weight", "q.lora_B.default.weight"]


def check(*shared):
    model = {"peft": {"default": {}}, "start": {"shared_adapters": list(shared)}}
    run = RunBuilder().facts(model=model).run
    return Engine([AdaptersInOneMemory()]).check(run).findings


def row(trainable=True):
    names = {"adapters": ["default", "ref"], "tensors": TENSORS}
    return names | {"pairs": 2, "shared": 1, "trainable": trainable}


def test_is_quiet_on_a_healthy_run():
    outcome = Engine([AdaptersInOneMemory()]).check(healthy_lora().run)
    assert (outcome.findings, outcome.not_checked) == ((), ())


def test_names_the_copy_that_is_none():
    (finding,) = check(row())
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("param", "q.lora_B.ref.weight")
    assert "default and ref share memory in 1 of 2 layers" in finding.message


def test_what_nobody_trains_may_share():
    assert check(row(trainable=False)) == ()
