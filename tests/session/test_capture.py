"""Captures and snapshots beside a live model: `ftlab.capture`, `ftlab.diff`."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import batches, llama, lora
from ftlab.records.errors import AttachError, BadValueError

PLACES = ("model.layers.1.mlp.up_proj", "model.layers.0.self_attn.o_proj", "lm_head")


@pytest.fixture
def model() -> Any:
    return llama()


@pytest.mark.parametrize("statistics", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equal_beside_itself_and_another_attention(
    model: Any, tmp_path: Path, statistics: bool, dtype: torch.dtype
) -> None:
    batch = batches()[0]
    model.to(dtype)
    there = ftlab.capture(model, batch, tmp_path / "there", statistics=statistics)
    assert ftlab.diff(there, model).equal
    model.config._attn_implementation = "eager"
    assert ftlab.diff(there, model).equal


@pytest.mark.parametrize("statistics", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_names_the_layer_whose_weight_differs(
    model: Any, tmp_path: Path, statistics: bool, place: str
) -> None:
    batch = batches()[0]
    there = ftlab.capture(model, batch, tmp_path / "there", statistics=statistics)
    model.get_submodule(place).weight.data[3] *= 1.02
    found = ftlab.diff(there, model)
    assert not found.equal
    assert (found.born[0].module, found.born[0].weights) == (place, ("weight",))


def test_statistics_tell_what_differs_in_backward_alone(
    model: Any, tmp_path: Path
) -> None:
    batch = batches()[0]
    there = ftlab.capture(model, batch, tmp_path / "there", statistics=True)
    layer = model.model.layers[1].mlp
    handle = layer.register_full_backward_hook(lambda _m, grads, _o: (grads[0] * 2,))
    found = ftlab.diff(there, model)
    handle.remove()
    assert not found.equal
    assert found.born[0].phase == "backward"
    assert "layers.1" in found.born[0].module


def test_statistics_are_smaller_than_wide_layers(tmp_path: Path) -> None:
    model = llama(hidden_size=512)
    sizes = []
    for statistics in (False, True):
        there = tmp_path / str(statistics)
        ftlab.capture(model, batches()[0], there, statistics=statistics)
        sizes.append(sum(file.stat().st_size for file in there.iterdir()))
    assert sizes[1] < sizes[0] / 5


def test_a_full_folder_is_refused(model: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadValueError, match="not empty"):
        ftlab.capture(model, batches()[0], tmp_path, statistics=True)


@pytest.fixture
def snapshot(tmp_path: Path) -> tuple[Any, Path]:
    """A step whose loss is NaN: the model as it was, and its snapshot."""
    model = lora(llama())
    before = copy.deepcopy(model)
    batch = batches()[0]

    def step(batch: Any) -> None:
        (model(**batch).loss * float("nan")).backward()

    with ftlab.debug(step, [batch], model=model) as dbg:
        dbg.run()
        folder = dbg.snapshot(tmp_path / "nan")
    return before, Path(folder)


def test_a_snapshot_beside_the_model_as_it_was(snapshot: tuple[Any, Path]) -> None:
    model, folder = snapshot
    assert ftlab.diff(folder, model).equal


def test_a_snapshot_beside_a_model_trained_further(snapshot: tuple[Any, Path]) -> None:
    model, folder = snapshot
    name = "base_model.model.model.layers.1.self_attn.q_proj.lora_A.default.weight"
    layer = model.get_submodule(name.removesuffix(".weight").replace("_A", "_B"))
    layer.weight.data += 0.3
    weights = {n: p.detach().clone() for n, p in model.named_parameters()}
    found = ftlab.diff(folder, model)
    assert found.born[0].module.endswith("layers.1.self_attn.q_proj.lora_B.default")
    assert found.born[0].weights == ("weight",)
    assert all(torch.equal(p, weights[n]) for n, p in model.named_parameters())


def test_a_snapshot_of_another_model_is_refused(snapshot: tuple[Any, Path]) -> None:
    _, folder = snapshot
    with pytest.raises(AttachError, match="has no adapter"):
        ftlab.diff(folder, llama())
