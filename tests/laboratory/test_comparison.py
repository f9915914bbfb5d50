"""`ftlab.compare`: numbers against whole matrices, files, settings."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model

import ftlab
from ftlab.faults.builders.tiny import batches, llama, lora
from ftlab.records.errors import BadValueError
from tests.laboratory.test_anatomy import noisy
from tests.models import update


def drawn(seed: int, **settings: Any) -> Any:
    """Return one base with an adapter that a seed draws."""
    config = LoraConfig(
        **{"target_modules": ["q_proj", "down_proj"], "lora_alpha": 12} | settings
    )
    model = get_peft_model(llama(), config)
    torch.manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data.normal_(0, 0.1)
    return model


def deltas(model: Any) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix("base_model.model."): module.get_delta_weight("default")
        .detach()
        .double()
        for name, module in model.named_modules()
        if hasattr(module, "lora_A")
    }


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"r": 3}, {"use_rslora": True}, {"alpha_pattern": {"q_proj": 40}}],
    ids=["plain", "rank", "rslora", "pattern"],
)
def test_updates_are_compared_as_whole_matrices_would_be(
    tmp_path: Path, saved: bool, settings: dict[str, Any]
) -> None:
    one, other = drawn(1), drawn(2, **settings)
    first, second = deltas(one), deltas(other)
    sides: list[Any] = [one, other]
    if saved:
        for at, model in enumerate((one, other)):
            model.save_pretrained(tmp_path / str(at))
        sides = [tmp_path / "0", str(tmp_path / "1")]
    view = ftlab.compare(*sides)
    found = {m.name: m for m in view.comparison.modules if m.kind == "update"}
    assert set(found) == set(first)
    for name, each in found.items():
        a, b = first[name], second[name]
        assert each.norms == pytest.approx((float(a.norm()), float(b.norm())), rel=1e-5)
        assert each.distance == pytest.approx(float((a - b).norm()), rel=1e-5)
        cosine = float((a * b).sum() / a.norm() / b.norm())
        assert each.cosine == pytest.approx(cosine, abs=1e-5)


def test_a_small_difference_of_large_updates_is_not_lost() -> None:
    one = drawn(1)
    other = copy.deepcopy(one)
    weight = other.base_model.model.model.layers[0].self_attn.q_proj.lora_B
    weight["default"].weight.data[0, 0] += 1e-5
    (found,) = ftlab.compare(one, other).different
    whole = deltas(one)[found.name] - deltas(other)[found.name]
    assert found.distance == pytest.approx(float(whole.norm()), rel=1e-3)
    assert found.cosine == pytest.approx(1)
    assert found.overlap == pytest.approx(1)


def test_whole_models_are_compared_tensor_by_tensor(tmp_path: Path) -> None:
    one, other = llama(), llama()
    other.model.layers[1].mlp.up_proj.weight.data *= 3
    for at, model in enumerate((one, other)):
        model.save_pretrained(tmp_path / str(at))
    view = ftlab.compare(tmp_path / "0", tmp_path / "1")
    (found,) = view.different
    assert (found.place, found.kind) == ("layers.1.mlp.up", "weight")
    assert found.relative == pytest.approx(2 / 3, rel=1e-5)
    assert found.cosine == pytest.approx(1, abs=1e-6)
    assert not view.comparison.settings


def test_a_model_and_its_files_are_equal(tmp_path: Path) -> None:
    model = noisy(lora())
    model.save_pretrained(tmp_path)
    found = ftlab.compare(tmp_path, model).comparison
    updates = [each for each in found.modules if each.kind == "update"]
    assert updates
    assert all(each.distance == 0 for each in updates)
    assert not found.alone[0]
    assert not found.settings


def test_what_one_side_alone_has_and_settings_are_told(tmp_path: Path) -> None:
    drawn(1).save_pretrained(tmp_path / "0")
    drawn(1, target_modules=["q_proj"], use_dora=True).save_pretrained(tmp_path / "1")
    view = ftlab.compare(tmp_path / "0", tmp_path / "1")
    assert {n.split(".")[-3] for n in view.comparison.alone[0]} == {"down_proj"}
    assert all("magnitude" in n for n in view.comparison.alone[1])
    settings = {key: (a, b) for _, key, a, b in view.comparison.settings}
    assert settings["use_dora"] == (False, True)
    assert "use_dora False -> True" in repr(view)


def test_of_several_adapters_the_active_one_is_compared() -> None:
    one, other = drawn(1), drawn(1)
    other.add_adapter("second", LoraConfig(target_modules=["q_proj"]))
    assert not ftlab.compare(one, other).different
    other.set_adapter("second")
    assert ftlab.compare(one, other).different


def test_a_pickle_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "adapter_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(BadValueError, match="save_file") as error:
        ftlab.compare(tmp_path, tmp_path)
    assert "adapter_model.safetensors" in str(error.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [("nowhere", "is no folder"), (3, "must be a torch.nn.Module")],
)
def test_what_is_no_checkpoint_is_refused(given: Any, words: str) -> None:
    with pytest.raises(BadValueError, match=words):
        ftlab.compare(given, given)


def test_both_are_executed_where_a_batch_is_given() -> None:
    one = drawn(1)
    other = copy.deepcopy(one)
    other.base_model.model.model.layers[1].mlp.down_proj.lora_B[
        "default"
    ].weight.data *= 2
    view = ftlab.compare(one, other, batch=batches()[0])
    assert view.difference is not None
    assert view.difference.born[0].module.startswith("model.layers.1.mlp.down_proj")
    assert "executed: " in repr(view)


def test_prompts_need_a_tokenizer() -> None:
    with pytest.raises(BadValueError, match="tokenizer=tokenizer"):
        ftlab.compare(drawn(1), drawn(2), prompts=["hello"])


def test_settings_of_files_are_read_as_json(tmp_path: Path) -> None:
    for at in range(2):
        drawn(1).save_pretrained(tmp_path / str(at))
    file = tmp_path / "1" / "adapter_config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps(config | {"lora_alpha": 99}))
    view = ftlab.compare(tmp_path / "0", tmp_path / "1")
    assert [each[1] for each in view.comparison.settings] == ["lora_alpha"]
    file.write_text(json.dumps(config | {"target_modules": ["q_proj", "down_proj"]}))
    assert not ftlab.compare(tmp_path / "0", tmp_path / "1").comparison.settings
    file.write_text(json.dumps(config | {"target_modules": ["down_proj", "q_proj"]}))
    assert not ftlab.compare(tmp_path / "0", tmp_path / "1").comparison.settings
    file.write_text(json.dumps(config | {"lora_alpha": 99}))
    view = ftlab.compare(tmp_path / "0", tmp_path / "1")
    updates = [m for m in view.different if m.kind == "update"]
    assert updates[0].norms[1] / updates[0].norms[0] == pytest.approx(99 / 12)


def two_adapters() -> Any:
    model = drawn(1)
    model.add_adapter("other", LoraConfig(r=3, target_modules=["q_proj", "down_proj"]))
    torch.manual_seed(3)
    for name, parameter in model.named_parameters():
        if ".other." in name:
            parameter.data.normal_(0, 0.1)
    return model


def test_two_adapters_of_one_model_are_compared() -> None:
    model = two_adapters()
    trained = {name: p.requires_grad for name, p in model.named_parameters()}
    view = ftlab.compare(model, adapters=("default", "other"), batch=batches()[0])
    assert view.comparison.sides == ("default", "other")
    found = {m.name: m for m in view.comparison.modules}
    assert len(found) == 4
    for name, module in model.named_modules():
        if not hasattr(module, "lora_A"):
            continue
        one, other = (
            module.get_delta_weight(each).detach().double()
            for each in ("default", "other")
        )
        (each,) = [m for key, m in found.items() if name.endswith(key)]
        assert each.distance == pytest.approx(float((one - other).norm()), rel=1e-5)
        assert each.ranks == (8, 3)
    assert ("adapter_config.json", "r", 8, 3) in view.comparison.settings
    assert view.difference is not None
    assert "layers.0.self_attn.q_proj" in view.difference.headline()
    assert model.active_adapters == ["default"]
    assert trained == {name: p.requires_grad for name, p in model.named_parameters()}


def test_an_adapter_is_compared_with_itself_and_with_a_folder(tmp_path: Path) -> None:
    model = two_adapters()
    assert ftlab.compare(model, adapters=("other", "other"), batch=batches()[0]).equal
    model.save_pretrained(tmp_path, selected_adapters=["other"])
    again = llama()
    alone = PeftModel.from_pretrained(again, tmp_path / "other", adapter_name="x")
    assert ftlab.compare(model, alone, adapters=("other", "x")).equal


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"adapters": "default"}, "pass a name for each side"),
        ({"adapters": ("default", "nobody")}, "names 'nobody', and b has default"),
        ({}, "has one side"),
    ],
)
def test_adapters_are_named_as_they_are(given: dict[str, Any], words: str) -> None:
    model = two_adapters()
    with pytest.raises(BadValueError, match=words):
        ftlab.compare(model, model if given else None, **given)


def test_runs_are_compared_step_by_step(tmp_path: Path) -> None:
    folders = []
    for rate in (1e-3, 1e-3, 1e-2):
        model = lora()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        with ftlab.watch(model, optimizer, run_dir=tmp_path / str(len(folders))) as w:
            for batch in batches()[:2]:
                update(model(**batch).loss, optimizer)
        folders.append(w.run_dir)
    assert ftlab.compare(folders[0], folders[1]).step == -1
    found = ftlab.compare(ftlab.open_run(folders[0]), folders[2])
    assert found.step == 0
    assert "learning rate" in repr(found)
    for wrong in ({"b": lora()}, {"b": folders[1], "batch": batches()[0]}):
        with pytest.raises(BadValueError, match="compared with a run alone"):
            ftlab.compare(folders[0], **wrong)
