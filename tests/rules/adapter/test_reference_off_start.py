"""ADP031."""

import copy
import math

import pytest

from ftlab.faults.builders.preferences import log_chance, pairs, preferring
from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.tiny import adamw, base, lora
from ftlab.records.finding import Severity
from ftlab.rules.adapter.reference_off_start import ReferenceOffStart
from ftlab.session.watch import watch
from tests.runs import RunBuilder, found_by, only, reporter


def check(model, before, tmp_path, optimizer=None, steps=6):
    optimizer = optimizer or adamw(model)
    step = preferring(model, optimizer, before)
    with watch(model, optimizer, run_dir=tmp_path / "run") as watching:
        for batch in pairs()[:steps]:
            step(batch)
    return found_by(ReferenceOffStart(), watching.run)


def test_a_copy_is_a_warning_and_with_a_loss_of_log_2_an_error():
    def built(loss, slope=0.1):
        builder = RunBuilder()
        for step in range(4):
            values = {"policy_passes": 1.0, "same_by_copy": 1.0, "outputs_moved": 1.0}
            builder.step(loss=loss + slope * step, values=values)
        builder.facts(model={"class": "Toy", "peft": {}})
        return found_by(ReferenceOffStart(), builder.run)

    finding = only(built(1.0), "warning", reason="copy")
    assert "copy.deepcopy" in finding.fix
    finding = only(built(math.log(2), slope=0.0), "error")
    assert "0.693147 at every step" in finding.message


def test_the_same_object_needs_a_loss_of_no_margin(tmp_path):
    model = lora()
    finding = only(check(model, lambda ids: log_chance(model, ids), tmp_path), "error")
    assert finding.evidence["reason"] == "same-object"
    assert finding.evidence["loss"] == pytest.approx(math.log(2))
    assert "disable_adapter" in finding.fix


def test_the_bare_base_under_a_trained_adapter_is_a_note(tmp_path):
    plain = base()
    path = saved(taught(), owner=plain)
    model = loaded(plain, path, is_trainable=True)

    def off(ids):
        with model.disable_adapter():
            return log_chance(model, ids)

    only(check(model, off, tmp_path), "info", reason="base-under-adapter")


def test_a_run_that_goes_on_with_its_optimizer_keeps_its_reference(tmp_path):
    model = lora()
    optimizer = adamw(model)

    def off(ids):
        with model.disable_adapter():
            return log_chance(model, ids)

    step = preferring(model, optimizer, off)
    for batch in pairs()[:2]:
        step(batch)
    assert check(model, off, tmp_path, optimizer) == ()


def test_a_copy_made_before_training_is_fine(tmp_path):
    model = base()
    kept = copy.deepcopy(model)
    assert check(model, lambda ids: log_chance(kept, ids), tmp_path) == ()


report = reporter(ReferenceOffStart())


def trained(method="pissa"):
    builder = RunBuilder()
    builder.lora("layers.0")
    config = {"peft_type": "LORA", "init_lora_weights": method}
    return builder.facts(model={"peft": {"default": config}})


def forward(state, *, graph):
    return ("forward", "model", {"grad_enabled": graph, **state})


def test_training_alone_is_only_noted():
    builder = trained()
    builder.step(ops=[forward(builder.state(), graph=True)])
    finding = only(report(builder).findings, "info")
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
    finding = only(report(builder).findings, "warning")
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
