"""The account of trained weights in files."""

import gc

import pytest
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict

from ftlab.faults.builders.saved import taught
from ftlab.faults.builders.tiny import adamw, batches, lora, trainable
from ftlab.probes.files.saved_files import WrittenFiles
from ftlab.probes.subject import Subject
from tests.models import update


def trained(model=None, optimizer=None, steps=2):
    """Train a little; return a function that tells of a file, and the account."""
    model = lora() if model is None else model
    optimizer = (optimizer or adamw)(model)
    files = WrittenFiles()
    for batch in batches()[:steps]:
        update(model(**batch).loss, optimizer)
        files.weights_updated(model, [optimizer])

    def write(content, taken=True):
        return files.written(model, [optimizer], content, taken=taken)

    return model, optimizer, files, write


def part(model, text):
    return {name: each for name, each in model.state_dict().items() if text in name}


def test_the_whole_state_lacks_nothing():
    model, _, _, write = trained()
    found = write(model.state_dict())
    assert (found["has"], found["of"], found["left"]) == (8, 8, [])
    assert found["whole"] == len(list(model.parameters()))


def test_half_of_each_pair_tears_the_adapter():
    model, _, files, write = trained()
    found = write(part(model, "lora_A"))
    assert (found["has"], found["left_count"], found["torn"]) == (4, 4, ["default"])
    assert all(".lora_B." in name for name in found["left"])
    assert files.latest() == found


def test_weights_that_are_made_anew_when_they_are_named_have_names():
    base = torch.nn.Sequential(torch.nn.MultiheadAttention(8, 2))
    model = get_peft_model(base, LoraConfig(target_modules=["0"]))
    files = WrittenFiles()
    files.weights_updated(model, [adamw(model)])
    found = files.written(model, [], model.state_dict(), taken=True)
    assert found == {}


def test_files_are_counted_together():
    model, _, _, write = trained()
    write(part(model, "lora_A"))
    assert write(part(model, "lora_B"))["left"] == []


def test_what_an_optimizer_has_moved_that_is_gone_is_missing_too():
    model, files = lora(), WrittenFiles()
    subject, (batch, *_) = Subject(model), batches()
    for side in ("lora_A", "lora_B"):
        held = [each for name, each in model.named_parameters() if side in name]
        optimizer = torch.optim.AdamW(held)
        subject.add_optimizer(optimizer)
        model(**batch).loss.backward()
        optimizer.step()
        files.weights_updated(model, subject.optimizers)
        del optimizer
        gc.collect()
    content = part(model, "lora_A")
    found = files.written(model, subject.optimizers, content, taken=True)
    assert (found["has"], found["of"], found["left_count"]) == (4, 8, 4)


def test_a_factor_that_is_not_trained_need_not_be_written():
    model = lora()
    for name, parameter in model.named_parameters():
        if "lora_A" in name:
            parameter.requires_grad_(False)
    model, _, _, write = trained(model)
    assert write(part(model, "lora_B"))["left"] == []


def test_an_empty_dict_counts_after_a_state_dict():
    _, _, _, write = trained()
    assert write({}, taken=False) == {}
    found = write({})
    assert (found["empty"], found["has"], found["left_count"]) == (True, 0, 8)


def test_moments_are_known_until_the_next_update():
    model, optimizer, files, write = trained()
    assert write(optimizer.state_dict())["moments"]
    assert write(part(model, "lora_A"))["moments"]
    files.weights_updated(model, [optimizer])
    assert files.latest() == {}
    assert not write(part(model, "lora_A"))["moments"]


def test_another_adapters_file_holds_nothing_that_was_trained():
    model = lora()
    model.add_adapter("other", model.peft_config["default"])
    model.set_adapter("default")
    model, _, _, write = trained(model)
    state = get_peft_model_state_dict(model, adapter_name="other")
    found = write({key: tensor.clone() for key, tensor in state.items()})
    assert (found["has"], found["others"], found["torn"]) == (0, ["other"], [])


def test_plain_sgd_is_told_by_its_writes():
    def plain(model):
        return torch.optim.SGD(trainable(model), lr=0.1)

    model, _, _, write = trained(optimizer=plain)
    assert write(part(model, "lora_A"))["left_count"] == 4


@pytest.mark.parametrize("fill", [torch.nn.utils.parameters_to_vector, list])
def test_weights_in_other_clothes_may_be_what_is_missing(fill):
    model, _, _, write = trained()
    write(fill([p.detach() + 1 for p in trainable(model)]))
    assert write(part(model, "lora_A"))["left"] == []


def test_a_base_with_the_adapter_added_by_hand_holds_what_was_trained():
    model, optimizer, _, write = trained()
    base = {
        name.replace(".base_layer", ""): each.clone()
        for name, each in model.state_dict().items()
        if "lora_" not in name
    }
    write(optimizer.state_dict())
    assert write(base)["left_count"] == 8
    for name in base:
        if "q_proj" in name:
            base[name] += 1.0
    assert write(base) == {}


def test_what_is_written_before_an_update_is_no_matter():
    model = taught()
    files = WrittenFiles()
    assert files.written(model, [adamw(model)], model.state_dict(), taken=True) == {}


def test_what_is_no_matter_of_this_model_is_not_told():
    _, _, files, write = trained()
    assert write({"loss": [1.0], "mean": torch.zeros(3)}) == {}
    assert write(lora().state_dict())["has"] == 8  # a copy, as far as names tell
    assert files.latest()


def test_nothing_is_told_once_the_model_has_saved_itself():
    model, _, files, write = trained()
    write(part(model, "lora_A"))
    files.saved_by_model()
    assert write(part(model, "lora_A")) == {} == files.latest()
