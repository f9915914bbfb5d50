"""Linear-like weights and whether they carry an adapter."""

import pytest
import torch

from ftlab.faults.builders.tiny import fused_experts, gpt2, llama, lora
from ftlab.probes.adapter_config.unadapted import MANY, block_weights


def table(model):
    rows = block_weights(model.base_model.model, "base_model.model")
    return {row["pattern"]: row for row in rows}


def test_shares_are_of_all_matrices_of_the_blocks():
    rows = table(lora())
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1, abs=1e-4)
    query = rows["model.layers.#.self_attn.q_proj"]
    assert (query["kind"], query["count"], query["adapted"]) == ("linear", 2, 2)
    assert query["names"] == []
    up = rows["model.layers.#.mlp.up_proj"]
    assert up["adapted"] == 0
    assert up["names"][1] == "base_model.model.model.layers.1.mlp.up_proj"
    assert up["share"] == pytest.approx(2 * query["share"], abs=1e-4)


def test_head_and_embeddings_are_in_no_block():
    assert not [name for name in table(lora()) if "head" in name or "embed" in name]


def test_transposed_layers_count_too():
    assert len(table(lora(gpt2()))) == 4


def test_experts_are_parameters_of_three_dimensions():
    rows = table(lora(fused_experts(), target_modules=["q_proj"]))
    experts = {name for name, row in rows.items() if row["kind"] == "experts"}
    place = "model.layers.#.mlp.experts"
    assert experts == {f"{place}.gate_up_proj", f"{place}.down_proj"}
    some = rows[f"{place}.down_proj"]
    assert some["names"][0] == f"base_model.model.{place.replace('#', '0')}.down_proj"


def test_adapted_experts_are_seen():
    experts = ["mlp.experts.gate_up_proj"]
    rows = table(
        lora(fused_experts(), target_modules=["q_proj"], target_parameters=experts)
    )
    assert rows["model.layers.#.mlp.experts.gate_up_proj"]["adapted"] == 2
    assert rows["model.layers.#.mlp.experts.down_proj"]["adapted"] == 0


def test_kernels_of_convolutions_are_no_experts():
    blocks = torch.nn.ModuleList(torch.nn.Conv1d(4, 4, 3) for _ in range(2))
    model = torch.nn.ModuleDict({"blocks": blocks})
    assert block_weights(model, "") == []


def test_names_are_cut_at_a_bound():
    model = lora(llama(num_hidden_layers=MANY + 1, hidden_size=16))
    row = table(model)["model.layers.#.mlp.up_proj"]
    assert row["count"] == MANY + 1
    assert len(row["names"]) == MANY
