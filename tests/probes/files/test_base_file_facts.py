"""The names in a model's own folder against those of the model."""

from typing import Any

from ftlab.faults.builders.saved import taught
from ftlab.faults.builders.tiny import base, lora
from ftlab.probes.files.base_file_facts import base_file_facts


def reloaded(model: Any, path: Any) -> Any:
    model.save_pretrained(path)
    return type(model).from_pretrained(path)


def test_a_model_that_was_saved_as_it_is_was_read(tmp_path):
    assert base_file_facts(reloaded(base(), tmp_path)) == {}
    assert base_file_facts(lora(reloaded(base(), tmp_path))) == {}


def test_a_model_without_a_folder_is_compared_with_nothing():
    assert base_file_facts(lora()) == {}


def test_a_model_that_was_saved_with_its_adapter_was_not_read(tmp_path):
    found = base_file_facts(lora(reloaded(taught().get_base_model(), tmp_path)))
    assert (found["lost"], found["folder"]) == (4, tmp_path.name)
    assert found["example"].endswith("q_proj.base_layer.weight")
    assert all(name.endswith("base_layer.weight") for name in found["names"])


def test_whoever_put_the_values_in_by_hand_has_them(tmp_path):
    first = taught()
    model = reloaded(first.get_base_model(), tmp_path)
    own = dict(first.get_base_model().named_parameters())
    for name, parameter in model.named_parameters():
        wanted = own.get(name, own.get(name.replace("proj.", "proj.base_layer.")))
        parameter.data.copy_(wanted.data)
    assert base_file_facts(model) == {}
