import math

import numpy as np
import pytest
import torch
from peft import AdaLoraConfig, IA3Config, LoraConfig, get_peft_model
from peft.tuners.lora.layer import LoraLayer

from ftlab.probes.adapter.adapters import LARGE_RANK_INTERVAL, Adapters
from ftlab.probes.adapter.spectrum import effective_rank, singular_values
from tests.models import tiny_4bit, tiny_llama, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def trained_like(model, seed=3, size=0.05):
    """Give every LoRA weight random values, as training would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(noise * size)
    return model


def measure(model, probe=None, step=0):
    """Rows of the probe by row name."""
    bench = Bench(model)
    rows = rows_of(finished((probe or Adapters()).on_gradients(bench.moment(step))))
    names = {row: name for (_, name), row in bench.names.items()}
    return {names[row]: values for row, values in rows.items()}, bench.metas


def oracle(delta):
    """Norm and effective rank by the full product and its SVD in float64."""
    singular = np.linalg.svd(delta.double().flatten(1).numpy(), compute_uv=False)
    shares = singular[singular > singular.max() * 1e-14] / singular.sum()
    return math.sqrt((singular**2).sum()), math.exp(-(shares * np.log(shares)).sum())


def layers(model):
    for path, module in model.named_modules():
        if isinstance(module, LoraLayer):
            yield path, module


def check_against_delta_weight(model, adapter="default", dtype=None):
    rows, metas = measure(model)
    seen = 0
    for path, layer in layers(model):
        row = rows[f"{path} [{adapter}]"]
        norm, rank = oracle(layer.get_delta_weight(adapter).detach())
        assert row["ba_l2"] == pytest.approx(norm, rel=dtype or 1e-5)
        assert row["effective_rank"] == pytest.approx(rank, rel=dtype or 1e-5)
        delta = layer.get_delta_weight(adapter).detach().double().flatten(1)
        energy = torch.linalg.svdvals(delta) ** 2
        held = energy.cumsum(0) / energy.sum()
        assert row["rank_90"] == int((held < 0.9).sum()) + 1
        cuts = [name for name in row if name.startswith("beyond_")]
        assert len(cuts) == math.ceil(math.log2(layer.r[adapter]))
        for name in cuts:
            lost = energy[int(name.removeprefix("beyond_")) :].sum() / energy.sum()
            assert row[name] == pytest.approx(float(lost), rel=dtype or 1e-4, abs=1e-9)
        assert row["scaling"] == pytest.approx(layer.scaling[adapter])
        seen += 1
    assert seen == len(rows)
    return rows, metas


def test_matches_the_full_product_on_linear_layers():
    model = trained_like(tiny_lora())
    rows, metas = check_against_delta_weight(model)
    assert len(rows) == 6
    path, layer = next(layers(model))
    row, meta = rows[f"{path} [default]"], metas[f"{path} [default]"]
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    assert row["a_l2"] == pytest.approx(a.detach().double().norm().item())
    assert row["b_l2"] == pytest.approx(b.detach().double().norm().item())
    base = layer.get_base_layer().weight.detach().double().norm().item()
    assert row["base_l2"] == pytest.approx(base)
    assert row["ratio"] == pytest.approx(row["ba_l2"] / base)
    assert "magnitude_l2" not in row
    assert meta["role"] == "lora_pair"
    assert (meta["a"], meta["b"]) == (0, 1)
    assert (meta["r"], meta["alpha"], meta["scaling"]) == (4, 8.0, 2.0)
    assert meta["module"] == path
    assert meta["layer"] == "layers.0"
    assert not meta["quantized"]


def test_a_fresh_adapter_has_norm_zero_and_rank_zero():
    rows, _ = measure(tiny_lora())
    for row in rows.values():
        assert row["ba_l2"] == row["b_l2"] == row["effective_rank"] == row["ratio"] == 0
        assert row["a_l2"] > 0


def test_keeps_singular_values_that_a_float32_gram_matrix_loses():
    model = tiny_lora(r=48, target_modules=["q_proj"])
    path, layer = next(layers(model))
    a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    generator = torch.Generator().manual_seed(0)
    columns = torch.linalg.qr(torch.randn(b.shape, generator=generator))[0]
    lines = torch.linalg.qr(torch.randn(a.mT.shape, generator=generator))[0].mT
    sizes = torch.tensor([1.0] + [1e-4] * 47)
    with torch.no_grad():
        b.copy_(columns)
        turn = torch.linalg.qr(torch.randn(48, 48, generator=generator))[0]
        a.copy_(turn @ (sizes[:, None] * lines))
    a, b = a.detach(), b.detach()
    _, expected = oracle(b.double() @ a.double())
    row = measure(model)[0][f"{path} [default]"]
    assert row["effective_rank"] - 1 == pytest.approx(expected - 1, rel=1e-3)
    grams = ((f.mT @ f).double().numpy()[None] for f in (a.mT, b))
    low = effective_rank(singular_values(*grams))
    assert low[0] - 1 != pytest.approx(expected - 1, rel=1e-2)


def test_tiny_factors_do_not_vanish():
    model = trained_like(tiny_lora(), size=1e-17)
    rows, _ = measure(model)
    for row in rows.values():
        assert row["effective_rank"] > 3
        assert row["b_l2"] > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_measures_half_precision_adapters_in_float64(dtype):
    model = trained_like(tiny_lora()).to(dtype)
    rows, _ = measure(model)
    for path, layer in layers(model):
        a, b = layer.lora_A["default"].weight, layer.lora_B["default"].weight
        delta = layer.scaling["default"] * b.detach().double() @ a.detach().double()
        norm, rank = oracle(delta)
        assert rows[f"{path} [default]"]["ba_l2"] == pytest.approx(norm, rel=1e-6)
        assert rows[f"{path} [default]"]["effective_rank"] == pytest.approx(rank)


def test_rslora_scales_by_the_root_of_the_rank():
    model = trained_like(tiny_lora(use_rslora=True))
    rows, metas = check_against_delta_weight(model)
    assert {row["scaling"] for row in rows.values()} == {4.0}
    assert all(meta["use_rslora"] for meta in metas.values())


def test_dora_adds_the_norm_of_its_magnitude():
    model = trained_like(tiny_lora(use_dora=True))
    rows, metas = check_against_delta_weight(model)
    for path, layer in layers(model):
        vector = layer.lora_magnitude_vector["default"].weight.detach().double()
        assert rows[f"{path} [default]"]["magnitude_l2"] == pytest.approx(
            vector.norm().item()
        )
    assert all(meta["use_dora"] for meta in metas.values())


def test_measures_two_adapters_and_one_added_later():
    model = trained_like(tiny_lora())
    probe = Adapters()
    assert len(measure(model, probe)[0]) == 6
    model.add_adapter("late", LoraConfig(r=2, target_modules=["q_proj"]))
    trained_like(model, seed=4)
    rows, metas = measure(model, probe, step=16)
    assert len(rows) == 8
    path, layer = next(layers(model))
    norm, rank = oracle(layer.get_delta_weight("late").detach())
    row = rows[f"{path} [late]"]
    assert row["ba_l2"] == pytest.approx(norm, rel=1e-5)
    assert row["effective_rank"] == pytest.approx(rank, rel=1e-5)
    assert not metas[f"{path} [late]"]["active"]
    assert metas[f"{path} [late]"]["a"] == -1
    assert metas[f"{path} [default]"]["active"]


def test_embedding_pairs_are_matrices_too():
    model = trained_like(tiny_lora(target_modules=["embed_tokens"], r=3))
    rows, _ = check_against_delta_weight(model)
    assert len(rows) == 1


@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_kernels_count_as_input(groups):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv1d(4, 6, 3), torch.nn.Flatten(), torch.nn.Linear(12, 2)
    )
    net = torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, groups=groups), net)
    config = LoraConfig(r=2, target_modules=["0", "1.0"])
    model = trained_like(get_peft_model(net, config))
    rows, _ = measure(model)
    for path, layer in layers(model):
        a = layer.lora_A["default"].weight.detach().double().flatten(1)
        b = layer.lora_B["default"].weight.detach().double().flatten(1)
        if b.shape[1] == a.shape[0]:
            delta = b @ a
        else:
            delta = torch.cat(
                [up @ down for up, down in zip(b.chunk(2), a.chunk(2), strict=True)]
            )
        norm, rank = oracle(delta * layer.scaling["default"])
        row = rows[f"{path} [default]"]
        assert row["ba_l2"] == pytest.approx(norm, rel=1e-6)
        assert row["base_l2"] == pytest.approx(
            layer.get_base_layer().weight.detach().double().norm().item()
        )
        if b.shape[1] == a.shape[0]:
            assert row["effective_rank"] == pytest.approx(rank, rel=1e-6)


def test_a_4bit_base_is_measured_through_its_codes(tmp_path):
    import bitsandbytes as bnb

    model = trained_like(tiny_lora(tiny_4bit(tmp_path)))
    rows, metas = measure(model)
    for path, layer in layers(model):
        weight = layer.get_base_layer().weight
        whole = bnb.functional.dequantize_4bit(weight.data, weight.quant_state)
        assert rows[f"{path} [default]"]["base_l2"] == pytest.approx(
            whole.double().norm().item(), rel=1e-3
        )
    assert all(meta["quantized"] for meta in metas.values())


def test_a_base_on_the_meta_device_leaves_ratio_out():
    model = trained_like(tiny_lora())
    path, layer = next(layers(model))
    layer.get_base_layer().to("meta")
    rows, _ = measure(model)
    assert "base_l2" not in rows[f"{path} [default]"]
    assert "ratio" not in rows[f"{path} [default]"]
    assert rows[f"{path} [default]"]["ba_l2"] > 0
    others = [row for name, row in rows.items() if not name.startswith(path)]
    assert all("ratio" in row for row in others)


def test_merging_changes_the_base_norm_and_disabling_changes_nothing():
    model = trained_like(tiny_lora())
    probe = Adapters()
    before = measure(model, probe)[0]
    with model.disable_adapter():
        rows, metas = measure(model, probe)
    assert rows == before
    assert not any(meta["active"] for meta in metas.values())
    model.merge_adapter()
    rows, metas = measure(model, probe)
    path, layer = next(layers(model))
    assert rows[f"{path} [default]"]["base_l2"] == pytest.approx(
        layer.get_base_layer().weight.detach().double().norm().item()
    )
    assert rows[f"{path} [default]"] != before[f"{path} [default]"]
    assert all(meta["merged"] for meta in metas.values())


def test_a_trained_base_is_measured_each_time():
    model = trained_like(tiny_lora())
    path, layer = next(layers(model))
    weight = layer.get_base_layer().weight.requires_grad_()
    probe = Adapters()
    measure(model, probe)
    with torch.no_grad():
        weight.mul_(3)
    rows, _ = measure(model, probe)
    assert rows[f"{path} [default]"]["base_l2"] == pytest.approx(
        weight.detach().double().norm().item()
    )


def test_a_non_finite_weight_stays_visible_and_alone():
    model = trained_like(tiny_lora())
    path, layer = next(layers(model))
    with torch.no_grad():
        layer.lora_B["default"].weight[0, 0] = float("nan")
    rows, _ = measure(model)
    sick = rows.pop(f"{path} [default]")
    assert math.isnan(sick["b_l2"])
    assert math.isnan(sick["ba_l2"])
    assert math.isnan(sick["effective_rank"])
    assert all(np.isfinite(list(row.values())).all() for row in rows.values())


def test_saved_modules_and_biases_do_not_disturb():
    model = trained_like(
        tiny_lora(modules_to_save=["lm_head"], bias="lora_only", lora_bias=False)
    )
    check_against_delta_weight(model)


def test_a_large_rank_has_its_spectrum_less_often():
    base = tiny_llama()
    model = trained_like(tiny_lora(base, r=80, target_modules=["down_proj"]))
    probe = Adapters()
    seen = []
    for step in range(LARGE_RANK_INTERVAL + 1):
        rows, _ = measure(model, probe, step)
        assert all(row["ba_l2"] > 0 for row in rows.values())
        seen.append(all("effective_rank" in row for row in rows.values()))
    assert seen == [True] + [False] * (LARGE_RANK_INTERVAL - 1) + [True]
    check_against_delta_weight(model)


def test_adalora_is_named_but_not_measured():
    config = AdaLoraConfig(
        total_step=10, target_modules=["q_proj"], task_type="CAUSAL_LM"
    )
    rows, metas = measure(get_peft_model(tiny_llama(), config))
    assert rows == {}
    assert len(metas) == 2
    assert all(meta["measured"] is False for meta in metas.values())


def test_other_methods_and_plain_models_give_no_rows():
    ia3 = IA3Config(
        target_modules=["k_proj"], feedforward_modules=[], task_type="CAUSAL_LM"
    )
    assert measure(get_peft_model(tiny_llama(), ia3))[0] == {}
    assert measure(tiny_llama())[0] == {}


def test_measuring_changes_neither_weights_nor_random_state():
    model = trained_like(tiny_lora())
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    state = torch.get_rng_state()
    measure(model)
    assert torch.equal(state, torch.get_rng_state())
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])


def test_the_sum_of_active_adapters_is_measured():
    model = trained_like(tiny_lora())
    model.add_adapter("other", LoraConfig(r=3, target_modules=["q_proj"]))
    trained_like(model, seed=4)
    assert not any("together_l2" in row for row in measure(model)[0].values())
    model.base_model.set_adapter(["default", "other"])
    rows, _ = measure(model)
    for path, layer in layers(model):
        names = [name for name in ("default", "other") if name in layer.lora_A]
        total = sum(layer.get_delta_weight(name).detach().double() for name in names)
        for name in names:
            row = rows[f"{path} [{name}]"]
            if len(names) == 1:
                assert "together_l2" not in row
            else:
                norm = torch.linalg.matrix_norm(total).item()
                assert row["together_l2"] == pytest.approx(norm, rel=1e-5)
