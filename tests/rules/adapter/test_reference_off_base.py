"""ADP031."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.reference_off_base import ReferenceOffBase
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def report(builder):
    return Engine([ReferenceOffBase()]).check(builder.run)


def trained(method="pissa"):
    builder = RunBuilder()
    builder.lora("layers.0")
    config = {"peft_type": "LORA", "init_lora_weights": method}
    return builder.facts(model={"peft": {"default": config}})


def forward(state, *, graph):
    return ("forward", "model", {"grad_enabled": graph, **state})


def test_is_quiet_on_a_healthy_run():
    assert report(healthy_lora()).findings == ()


def test_training_alone_is_only_noted():
    builder = trained()
    builder.step(ops=[forward(builder.state(), graph=True)])
    (finding,) = report(builder).findings
    assert finding.severity is Severity.INFO
    assert str(finding.place) == "param model.layers.0.q.base_layer.weight"
    assert "config init_lora_weights" in map(str, finding.places)


@pytest.mark.parametrize(
    "meta", [{"disabled_layers": "a,b"}, {"active": "other"}], ids=["off", "other"]
)
def test_a_reference_without_the_adapter_is_a_warning(meta):
    builder = trained()
    on, off = builder.state(), builder.state(**meta)
    builder.step(ops=[forward(on, graph=True)])
    builder.step(ops=[forward(off, graph=False), forward(on, graph=True)])
    (finding,) = report(builder).findings
    assert finding.severity is Severity.WARNING
    assert finding.first_step == 1


def test_an_evaluation_with_the_adapter_is_no_reference():
    builder = trained()
    builder.step(ops=[forward(builder.state(), graph=False)])
    assert report(builder).findings[0].severity is Severity.INFO


def test_training_on_the_residual_is_no_reference():
    builder = trained()
    off = builder.state(disabled_layers="a,b")
    builder.step(ops=[forward(off, graph=True)])
    assert report(builder).findings[0].severity is Severity.INFO


@pytest.mark.parametrize("method", [True, "gaussian", "eva", "orthogonal"])
def test_other_initialisations_leave_the_base_alone(method):
    builder = trained(method)
    builder.step(ops=[forward(builder.state(disabled_layers="a,b"), graph=False)])
    assert report(builder).findings == ()


@pytest.mark.parametrize(("at_zero", "found"), [(0, 1), (4, 0)])
def test_lora_ga_changes_the_base_unless_it_had_no_gradients(at_zero, found):
    builder = RunBuilder()
    builder.lora("layers.0")
    builder.facts(
        model={
            "peft": {"default": {"init_lora_weights": "lora_ga"}},
            "start": {"adapters": {"default": {"zero_b": at_zero}}},
        }
    )
    builder.step(ops=[forward(builder.state(), graph=True)])
    assert len(report(builder).findings) == found
