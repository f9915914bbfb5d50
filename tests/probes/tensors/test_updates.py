import math

import pytest
import torch

from ftlab.faults.builders.tiny import trainable
from ftlab.probes.tensors.updates import SAMPLE, Updates, spaced
from tests.models import batches, tiny_llama, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def update(model, optimizer, *, backward=True):
    """Rows by parameter name of one step, and the weights before it."""
    probe, bench = Updates(), Bench(model, optimizer)
    if backward:
        model(**next(batches(1))).loss.backward()
    return probed(probe, bench, optimizer.step)


def probed(probe, bench, act, step=0):
    moment = bench.moment(step)
    before = [p.detach().clone() for p in moment.tensors.parameters]
    assert list(probe.before_update(moment)) == []
    act()
    rows = rows_of(finished(probe.after_update(moment)))
    names = dict(zip(moment.tensors.ids.tolist(), moment.tensors.names, strict=True))
    named = {names[row]: values for row, values in rows.items()}
    return named, dict(zip(moment.tensors.names, before, strict=True))


def test_matches_the_whole_update_of_a_small_tensor():
    model = tiny_lora()
    for parameter in trainable(model):
        torch.nn.init.normal_(parameter, std=0.02)
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3)
    rows, before = update(model, optimizer)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        whole = (parameter.detach().double() - before[name].double()).norm().item()
        assert rows[name]["update_l2"] == pytest.approx(whole, rel=1e-4)
        assert rows[name]["stuck_share"] == 0


def test_scales_the_sample_of_a_large_tensor_to_the_whole():
    model = tiny_llama()
    assert model.lm_head.weight.numel() > SAMPLE
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows, before = update(model, optimizer)
    for name in ("lm_head.weight", "model.layers.0.mlp.up_proj.weight"):
        weight = model.get_parameter(name).detach()
        whole = (weight.double() - before[name].double()).norm().item()
        assert rows[name]["update_l2"] == pytest.approx(whole, rel=0.1)


def test_the_sample_is_of_all_columns():
    places = torch.arange(64 * SAMPLE).reshape(-1, 64)
    sample = spaced(places)
    assert SAMPLE / 2 < len(sample) <= SAMPLE
    assert len((sample % 64).unique()) == 64


def test_counts_bf16_weights_that_an_update_is_too_small_for():
    model = tiny_llama().bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)
    rows, before = update(model, optimizer)
    name = "model.layers.0.self_attn.q_proj.weight"
    weight = model.get_parameter(name)
    moved = weight.grad != 0
    stuck = (moved & (weight == before[name])).sum().item() / moved.sum().item()
    assert rows[name]["stuck_share"] == pytest.approx(stuck)
    assert 0.2 < stuck < 1
    norm = rows["model.norm.weight"]
    assert norm["stuck_share"] == 1
    assert norm["update_l2"] == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_every_dtype_moves_at_a_healthy_rate(dtype):
    model = tiny_lora().to(dtype)
    optimizer = torch.optim.SGD(trainable(model), lr=0.1)
    rows, _ = update(model, optimizer)
    lora_b = [row for name, row in rows.items() if "lora_B" in name]
    assert all(row["stuck_share"] < 0.05 for row in lora_b)
    assert all(row["update_l2"] > 0 for row in lora_b)


def test_a_gradient_of_exact_zeros_gives_nothing_to_count():
    model = tiny_lora()
    rows, _ = update(model, torch.optim.SGD(trainable(model), lr=0.1))
    for name, row in rows.items():
        assert math.isnan(row["stuck_share"]) == ("lora_A" in name)


@pytest.mark.parametrize("lr", [0.0, torch.tensor(0.0)])
def test_a_learning_rate_of_zero_gives_nothing_to_count(lr):
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainable(model), lr=lr, foreach=False)
    rows, _ = update(model, optimizer)
    assert all(math.isnan(row["stuck_share"]) for row in rows.values())
    assert all(row["update_l2"] == 0 for row in rows.values())


def test_a_step_that_a_fused_optimizer_skips_gives_nothing_to_count():
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    probe, bench = Updates(), Bench(model, optimizer)
    results = []

    def look(*_):
        results.append(finished(probe.after_update(bench.moment(step))))

    handle = optimizer.register_step_post_hook(look)
    for step, spoil in enumerate((True, False)):
        scaler.scale(model(**next(batches(1))).loss).backward()
        if spoil:
            trainable(model)[1].grad[0, 0] = math.inf
        probe.before_update(bench.moment(step))
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    handle.remove()
    skipped, healthy = map(rows_of, results)
    assert all(math.isnan(row["stuck_share"]) for row in skipped.values())
    shares = {i: row["stuck_share"] for i, row in healthy.items()}
    for i, name in enumerate(bench.moment().tensors.names):
        assert math.isnan(shares[i]) if "lora_A" in name else shares[i] == 0


def test_parameters_without_gradient_or_optimizer_give_nothing_to_count():
    model = tiny_lora()
    held, unheld = trainable(model)[1], trainable(model)[3]
    optimizer = torch.optim.SGD([held, *trainable(model)[4:]], lr=0.1)
    model(**next(batches(1))).loss.backward()
    held.grad = None
    rows, _ = update(model, optimizer, backward=False)
    names = {id(p): name for name, p in model.named_parameters()}
    for parameter in (held, unheld):
        row = rows[names[id(parameter)]]
        assert math.isnan(row["stuck_share"])
        assert row["update_l2"] == 0


def test_sparse_gradients_count_the_rows_that_they_name():
    torch.manual_seed(0)
    table = torch.nn.Embedding(10, 4, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=1e-9)
    table(torch.tensor([1, 1, 7])).sum().backward()
    rows, before = probed(Updates(), Bench(table, optimizer), optimizer.step)
    same = (table.weight == before["weight"])[[1, 7]].double().mean().item()
    assert rows["weight"]["stuck_share"] == pytest.approx(same)
    assert same > 0.9
    optimizer.param_groups[0]["lr"] = 1.0
    rows, before = probed(Updates(), Bench(table, optimizer), optimizer.step)
    assert rows["weight"]["stuck_share"] == 0
    whole = (table.weight.detach() - before["weight"]).norm().item()
    assert rows["weight"]["update_l2"] == pytest.approx(whole)


def test_transposed_and_empty_parameters_are_safe():
    odd = torch.nn.ParameterList(
        [torch.randn(6, 4).mT, torch.zeros(0), torch.tensor(2.0)]
    )
    optimizer = torch.optim.SGD(odd.parameters(), lr=0.5)
    (odd[0].square().sum() + odd[2].square()).backward()
    rows, before = probed(Updates(), Bench(odd, optimizer), optimizer.step)
    assert set(rows) == {"0", "2"}
    for name in rows:
        whole = (odd.get_parameter(name).detach() - before[name]).norm().item()
        assert rows[name]["update_l2"] == pytest.approx(whole)


def test_two_optimizers_share_one_sample():
    model = tiny_lora()
    first = torch.optim.SGD(trainable(model)[:4], lr=0.1)
    second = torch.optim.SGD(trainable(model)[4:], lr=0.1)
    model(**next(batches(1))).loss.backward()
    probe, bench = Updates(), Bench(model, first, second)
    moment = bench.moment()
    results = []
    for optimizer in (first, second):
        probe.before_update(moment)
        optimizer.step()
        results += finished(probe.after_update(moment))
    rows = rows_of(results)
    moved = [rows[i]["update_l2"] > 0 for i, n in enumerate(moment.tensors.names)]
    assert moved == ["lora_B" in name for name in moment.tensors.names]


def test_copies_are_released_when_the_step_is_over():
    model = tiny_lora()
    probe, bench = Updates(), Bench(model, torch.optim.SGD(trainable(model)))
    probe.before_update(bench.moment())
    probe.on_close(bench.moment())
    assert list(probe.after_update(bench.moment())) == []


def decay_shares(kind, decay, **settings):
    model = tiny_llama()
    optimizer = kind(model.parameters(), lr=1e-3, weight_decay=decay, **settings)
    rows, before = update(model, optimizer)
    return rows, before


def test_tells_how_much_of_an_update_weight_decay_is():
    rows, before = decay_shares(torch.optim.AdamW, 10.0)
    name = "model.layers.0.self_attn.q_proj.weight"
    share = 1e-3 * 10 * before[name].norm().item() / rows[name]["update_l2"]
    assert 0.05 < share < 1
    assert rows[name]["decay_share"] == pytest.approx(share, rel=1e-4)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD])
def test_decay_within_the_gradient_has_no_share(kind):
    rows, _ = decay_shares(kind, 0.1)
    assert all(math.isnan(row["decay_share"]) for row in rows.values())
    rows, _ = decay_shares(kind, 0.0)
    assert all(row["decay_share"] == 0 for row in rows.values())


def test_decay_of_what_did_not_move_has_no_share():
    model = tiny_llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    rows, _ = probed(Updates(), Bench(model, optimizer), lambda: None)
    assert all(math.isnan(row["decay_share"]) for row in rows.values())


def test_a_rate_on_the_cpu_is_read_where_it_is_a_tensor():
    rows, _ = decay_shares(torch.optim.AdamW, 10.0)
    model = tiny_llama()
    rate = torch.tensor(1e-3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=10.0)
    again, _ = update(model, optimizer)
    name = "model.layers.0.self_attn.q_proj.weight"
    assert again[name]["decay_share"] == pytest.approx(rows[name]["decay_share"])
