import contextlib
import math

import pytest
import torch

from ftlab.faults.builders.tiny import trainable
from ftlab.probes.recorder import Recorder
from ftlab.probes.standard import standard_probes
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from tests.models import batches, tiny_lora, update
from tests.probes.moments_of import Bench, finished, rows_of


def train(model, steps, *, interval=2, watched=True, accumulate=1, **options):
    """Records of a short training, and its losses."""
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2)
    records, losses = [], []
    recorder = Recorder(
        Subject(model, [optimizer]),
        standard_probes(interval=interval, **options) if watched else [],
        records.append,
    )
    torch.manual_seed(5)
    with recorder:
        for index, batch in enumerate(batches(steps * accumulate)):
            loss = model(**batch).loss / accumulate
            loss.backward()
            losses.append(loss.item())
            if (index + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
    return records, losses


def blocks(records, column):
    """Steps and arrays of one column."""
    found = {}
    for record in records:
        if isinstance(record, Block) and column in record.values:
            found.setdefault(record.step, []).append(record.values[column])
    return found


def test_names_are_unique_and_columns_belong_to_one_probe_of_a_table():
    probes = standard_probes(activations=True)
    assert len({probe.name for probe in probes}) == len(probes)
    columns = [(p.table, column.name) for p in probes for column in p.columns]
    assert len(set(columns)) == len(columns)


@pytest.mark.parametrize("interval", [1, 6])
def test_every_promised_column_arrives_on_its_schedule(interval):
    steps = 7
    model = tiny_lora(use_dora=True)
    records, _ = train(model, steps, interval=interval, activations=True)
    due = {1: list(range(steps)), 6: [0, 1, 2, 3, 4, 6]}[interval]
    seldom = {
        "",
        "casts",
        "frozen",
        "hand_merges",
        "hooks",
        "merges",
        "masked_rows",
        "modes",
        "new_tokens",
        "unregistered",
        "drawn",
        "starts",
        "statistics",
        "teachers",
        "traced",
        "unthawed",
        "vectors",
    }
    later = {"grad_l2_after", "cut", "still_share", "still_steps"}
    # a base in 4 bits, several active adapters and larger ranks have these
    later |= {"base_error", "together_l2", *(f"beyond_{2**i}" for i in range(2, 10))}
    for probe in standard_probes(activations=True):
        for column in probe.columns:
            if probe.table in seldom or column.name in later:
                continue
            each_step = probe.name in {"gradients", "sample_digests"}
            every = list(range(steps)) if each_step else due
            assert sorted(blocks(records, column.name)) == every, column.name


def test_the_step_s_row_holds_batch_time_and_memory():
    records, _ = train(tiny_lora(), 3, accumulate=2)
    rows = [record.values for record in records if isinstance(record, StepRecord)]
    assert len(rows) == 3
    for values in rows:
        assert values["tokens"] == values["labels"] == 2 * 4 * 16
        assert values["padding"] == values["ignored"] == 0
        assert (values["batch_size"], values["sequence"]) == (8, 16)
        assert values["seconds"] > 0
        rate = values["tokens"] / values["seconds"]
        assert values["tokens_per_second"] == pytest.approx(rate)
        assert values["rss"] > 1e6


def test_pairs_name_the_rows_of_their_a_and_b():
    records, _ = train(tiny_lora(), 1)
    names = {r.id: r for r in records if isinstance(r, NameRecord)}
    pairs = [r for r in names.values() if r.table == "adapters"]
    assert len(pairs) == 6
    for pair in pairs:
        a, b = names[pair.meta["a"]], names[pair.meta["b"]]
        assert (a.meta["role"], b.meta["role"]) == ("lora_A", "lora_B")
        assert a.name.startswith(pair.meta["module"])
        assert pair.layer == a.layer == b.layer


def test_a_trained_adapter_grows_from_zero():
    records, _ = train(tiny_lora(), 5)
    found = blocks(records, "ba_l2")
    assert not any(array.any() for array in found[0])
    assert all((array > 0).all() for array in found[4])
    shares = blocks(records, "stuck_share")
    assert all(not (share > 0).any() for arrays in shares.values() for share in arrays)


def test_measuring_changes_neither_losses_nor_weights_nor_random_state():
    plain, watched = tiny_lora(lora_dropout=0.1), tiny_lora(lora_dropout=0.1)
    _, losses = train(plain, 4, watched=False)
    state = torch.get_rng_state()
    _, same = train(watched, 4, interval=1, activations=True)
    assert losses == same
    assert torch.equal(state, torch.get_rng_state())
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_weight_that_is_not_finite_is_recorded_as_it_is():
    model = tiny_lora()
    with torch.no_grad():
        trainable(model)[1][0, 0] = math.nan
    records, _ = train(model, 1)
    assert any(math.isnan(value) for a in blocks(records, "b_l2")[0] for value in a)


@pytest.mark.gpu
def test_no_probe_waits_for_a_gpu():
    model = tiny_lora(use_dora=True, modules_to_save=["lm_head"]).to("cuda")
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-2, fused=True)
    inputs = [{k: v.to("cuda") for k, v in batch.items()} for batch in batches(3)]
    update(model(**inputs[0]).loss, optimizer)
    bench = Bench(model, optimizer)
    readings = []
    for probe in standard_probes(activations=True):
        handles = list(probe.attach(bench.subject))
        moment = bench.moment()
        probe.on_batch(moment, inputs[1])
        model(**inputs[1]).loss.backward()
        torch.cuda.set_sync_debug_mode("error")
        try:
            readings += probe.on_gradients(moment)
            probe.before_update(moment)
            readings += probe.after_update(moment)
            probe.on_close(moment)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        for handle in handles:
            handle.remove()
    assert rows_of(finished(readings))


def test_a_default_device_is_the_user_s_business():
    def measure(default):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        inputs = torch.ones(2, 4)
        records, probes = [], standard_probes(interval=1, activations=True)
        with Recorder(Subject(model, [optimizer]), probes, records.append), default:
            for _ in range(2):
                model(inputs).sum().backward()
                optimizer.step()
        return [
            (each.table, {name: v.tolist() for name, v in each.values.items()})
            for each in records
            if isinstance(each, Block)
        ]

    assert measure(torch.device("meta")) == measure(contextlib.nullcontext())


def test_weights_are_measured_when_updates_are_whatever_a_budget_decides():
    probes = {probe.name: probe for probe in standard_probes()}
    probes["updates"].schedule = lambda step: step == 7
    assert [step for step in range(9) if probes["weights"].schedule(step)] == [7]
