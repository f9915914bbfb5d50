"""What froze an adapter, and how sure it is that this was not meant."""

import pytest
import torch

from ftlab.faults.builders.saved import loaded, taught
from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.faults.registry import load
from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_frozen import AdapterFrozen
from ftlab.rules.engine import Engine
from ftlab.session.watch import watch
from tests.runs import only, places
from tests.wired import findings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("adapter")
    taught(steps=3).save_pretrained(path)
    return path


def with_open_head(folder):
    model = base()
    model.load_adapter(str(folder))
    model.lm_head.requires_grad_(True)
    return model


def own_loss(model):
    return model(**batches()[0]).loss


def severity_after_one_step(model, tmp_path, loss_of=own_loss):
    optimizer = adamw(model)
    with watch(model, optimizer, run_dir=tmp_path / "run") as watching:
        loss_of(model).backward()
        optimizer.step()
    found = Engine([AdapterFrozen()]).check(watching.run).findings
    return [each.severity for each in found]


def test_the_fix_is_a_call_of_the_api_that_froze_it(folder):
    model = base()
    model.load_adapter(str(folder))
    finding = only(findings(AdapterFrozen(), model), "error")
    assert places(finding)[0] == "call load_adapter"
    assert finding.fix.startswith("model.load_adapter(folder, is_trainable=True)")


def test_a_head_trained_through_it_in_training_mode_is_a_warning(folder, tmp_path):
    model = with_open_head(folder).train()
    assert severity_after_one_step(model, tmp_path) == [Severity.WARNING]


def test_a_probe_in_evaluation_mode_is_a_note(folder, tmp_path):
    model = with_open_head(folder).eval()
    assert severity_after_one_step(model, tmp_path) == [Severity.INFO]


def test_a_head_on_what_a_pass_without_a_graph_left_is_a_note(folder, tmp_path):
    def loss_of(model):
        with torch.no_grad():
            states = model(**batches()[0], output_hidden_states=True).hidden_states
        return model.lm_head(states[-1]).square().mean()

    model = with_open_head(folder).train()
    assert severity_after_one_step(model, tmp_path, loss_of) == [Severity.INFO]


def test_an_adapter_that_is_off_is_left_alone(folder, tmp_path):
    def loss_of(model):
        with model.disable_adapter():
            return own_loss(model)

    model = loaded(base(), folder).train()
    model.get_base_model().lm_head.requires_grad_(True)
    assert severity_after_one_step(model, tmp_path, loss_of) == []


def test_a_part_of_a_block_that_goes_on_alone_is_a_warning(folder, tmp_path):
    model = loaded(base(), folder).train()
    model.get_base_model().model.layers[0].input_layernorm.requires_grad_(True)
    assert severity_after_one_step(model, tmp_path) == [Severity.WARNING]


def test_a_head_of_its_own_that_learns_alone_is_a_warning():
    model = load("loaded-by-the-model").build(False).model
    finding = only(findings(AdapterFrozen(), model), "warning")
    assert "all 8 tensors" in finding.message
    assert "while its modules_to_save learn" in finding.message


@pytest.mark.parametrize("training", [True, False])
def test_an_output_head_that_goes_on_alone_is_no_new_task(folder, tmp_path, training):
    model = loaded(base(), folder).train(training)
    model.get_base_model().lm_head.requires_grad_(True)
    severity = Severity.WARNING if training else Severity.INFO
    assert severity_after_one_step(model, tmp_path) == [severity]


def test_a_head_for_classes_on_a_loaded_adapter_is_a_note(folder, tmp_path):
    fresh = base()
    fresh.lm_head = torch.nn.Linear(fresh.lm_head.in_features, 8)
    model = loaded(fresh, folder).train()
    model.get_base_model().lm_head.requires_grad_(True)

    def loss_of(model):
        return model(input_ids=batches()[0]["input_ids"]).logits.sum()

    assert severity_after_one_step(model, tmp_path, loss_of) == [Severity.INFO]


@pytest.mark.parametrize(
    ("learned", "severity"), [(True, Severity.INFO), (False, Severity.WARNING)]
)
def test_freezing_a_trained_adapter_by_hand_beside_a_head_is_a_note(learned, severity):
    model = lora(modules_to_save=["lm_head"])
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.requires_grad_(False)
        if learned and "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.02)
    only(findings(AdapterFrozen(), model), severity.label)
