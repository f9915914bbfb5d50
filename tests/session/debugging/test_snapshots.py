"""A snapshot of one process stops another one at the same op, with the same numbers."""

import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

import ftlab
from ftlab.records.errors import (
    AttachError,
    BadValueError,
    NotPausedError,
    RunFolderError,
    SchemaError,
)
from tests.models import batches, tiny_4bit, tiny_llama, tiny_lora
from tests.replay.breakage import Breaking, Setup, log_of_zero, root_at_zero
from tests.session.scenarios import seed, trainer

ROOT = Path(__file__).parents[3]


def bits(tensor):
    return tensor.detach().contiguous().view(-1).view(torch.uint8).tolist()


def debugging(setup, step=None, feed=None, **options):
    return ftlab.debug(
        step or setup.step,
        setup.feed if feed is None else feed,
        model=setup.model,
        optimizer=setup.optimizer,
        **options,
    )


def stop_of(dbg):
    """What must be equal in both processes."""
    report = dbg.where
    return {
        "place": (report.op, report.module, report.phase, report.site.index),
        "step": (report.step, report.micro_batch, report.kind, report.what),
        "loss": float(report.loss).hex(),
        "tensor": bits(dbg.tensor),
        "inputs": [bits(tensor) for tensor in dbg.inputs],
        "parameters": report.parameters,
    }


def without_index(found):
    """Leave out how many operations came before: another step may do more or less."""
    return {**found, "place": found["place"][:3]}


def taken(dbg, folder, **options):
    """Run to the anomaly and take a snapshot of it."""
    report = dbg.run()
    assert report.reason == "anomaly", report
    path = dbg.snapshot(folder, **options)
    found = stop_of(dbg)
    dbg.abort()
    return path, found


def shift_random_states():
    seed()
    random.random()
    np.random.rand(7)
    torch.rand(13)


# -- another process

OTHER = """
    import json, sys
    import torch
    torch.set_num_threads(1)
    import ftlab
    from tests.replay.breakage import Setup, root_at_zero
    from tests.session.debugging.test_snapshots import stop_of
    torch.manual_seed(99)
    torch.rand(5)
    setup = Setup(root_at_zero, lora={"lora_dropout": 0.3})
    setup.breaking.broken = True
    with ftlab.open_snapshot(sys.argv[1]).debug(setup.model) as dbg:
        dbg.run()
        print(json.dumps(stop_of(dbg)))
"""


@pytest.mark.slow
def test_another_process_stops_at_the_same_op_with_the_same_bits(tmp_path):
    shift_random_states()
    setup = Setup(root_at_zero, lora={"lora_dropout": 0.3})
    with debugging(setup) as dbg:
        folder, expected = taken(dbg, tmp_path / "s")
    assert expected["place"][2] == "backward"
    program = textwrap.dedent(OTHER)
    result = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    assert found == json.loads(json.dumps(expected))


# -- in this process, with models built anew


def breaks_at(step, breaking):
    from transformers import TrainerCallback

    class Breaks(TrainerCallback):
        def on_step_begin(self, args, state, control, **options):
            breaking.broken = state.global_step == step

    return Breaks()


@pytest.mark.parametrize(
    "settings", [{}, {"gradient_accumulation_steps": 2, "max_steps": 3}, {"bf16": True}]
)
def test_a_step_of_a_trainer_is_made_again_without_the_trainer(settings, tmp_path):
    def broken(built):
        mlp = built.base_model.model.model.layers[1].mlp
        mlp.act_fn = Breaking(mlp.act_fn, root_at_zero)
        return mlp.act_fn

    built = trainer(**settings)
    built.add_callback(breaks_at(1, broken(built.model)))
    with ftlab.debug(built) as dbg:
        folder, expected = taken(dbg, tmp_path / "s")
    model = tiny_lora(lora_dropout=0.2)
    broken(model).broken = True
    shift_random_states()
    with ftlab.open_snapshot(folder).debug(model) as dbg:
        dbg.run()
        assert without_index(stop_of(dbg)) == without_index(expected)


def gradients(model):
    return {n: bits(p.grad) for n, p in model.named_parameters() if p.requires_grad}


def test_accumulated_gradients_are_kept_and_added_to(tmp_path):
    setup = Setup(root_at_zero, lora={"lora_dropout": 0.2})

    def micro(batch):
        setup.loss(batch).backward()

    with debugging(setup, micro, setup.feed[:3]) as dbg:
        dbg.run()
        folder, expected = dbg.snapshot(tmp_path / "s"), stop_of(dbg)
        assert expected["step"][:2] == (0, 2)
        assert dbg.resume().state == "finished"
    added = gradients(setup.model)
    other = Setup(root_at_zero, lora={"lora_dropout": 0.2})
    other.breaking.broken = True
    with ftlab.open_snapshot(folder).debug(other.model) as dbg:
        dbg.run()
        assert stop_of(dbg) == expected
        dbg.abort()
        torch.rand(3)
        dbg.run()
        assert stop_of(dbg) == expected
        assert dbg.resume().state == "finished"
    assert gradients(other.model) == added


def test_the_own_step_gets_the_batch_and_its_generators(tmp_path):
    def own(setup, generator):
        def step(batch):
            setup.optimizer.zero_grad()
            logits = setup.model(input_ids=batch["input_ids"]).logits
            noise = torch.rand(logits.shape, generator=generator)
            hole = torch.tensor(0.0 if len(batch["note"]) > 3 else 1.0)
            loss = (logits.square() * noise).mean() / hole
            loss.backward()
            setup.optimizer.step()
            return loss.detach()

        return step

    feed = [{**b, "note": "x" * (i + 2)} for i, b in enumerate(batches(4))]
    first = Setup(lambda x: x)
    step = own(first, torch.Generator().manual_seed(1))
    with debugging(first, step, feed) as dbg:
        folder, expected = taken(dbg, tmp_path / "s")
    second = Setup(lambda x: x)
    step = own(second, torch.Generator().manual_seed(2))
    snapshot = ftlab.open_snapshot(folder)
    assert len(snapshot.batch["note"]) > 3
    with snapshot.debug(second.model, step, second.optimizer) as dbg:
        dbg.run()
        assert stop_of(dbg) == expected
        moments = second.optimizer.state
        assert len(moments) == len(first.optimizer.state)
        for mine, theirs in zip(
            moments.values(), first.optimizer.state.values(), strict=True
        ):
            assert torch.equal(mine["exp_avg"], theirs["exp_avg"])
            assert torch.equal(mine["step"], theirs["step"])


def half_precision():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1).half()
    return model, torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.5)


def rate_of_batch(model, optimizer, *, inside):
    def step(batch):
        optimizer.zero_grad()
        model(batch["x"].half()).sum().backward()
        optimizer.param_groups[0]["lr"] = float(batch["lr"])
        if inside:
            optimizer.step()

    return step


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_a_stop_within_an_optimizers_step_is_made_again(inside, own, tmp_path):
    model, optimizer = half_precision()
    step = rate_of_batch(model, optimizer, inside=inside)
    values = [(0.5, 1.0), (3e4, 4.0)]
    batches = [{"x": torch.full((1, 2), x), "lr": lr} for x, lr in values]

    def feed():
        for batch in batches:
            yield batch
            if not inside:
                optimizer.step()

    with ftlab.debug(step, feed(), model=model, optimizer=optimizer) as dbg:
        report = dbg.run()
        assert (report.phase, report.step) == ("optimizer", 1 if inside else 0)
        folder = dbg.snapshot(tmp_path / "s")
        place, tensor = (report.op, report.site.index, report.name), bits(dbg.tensor)
        dbg.abort()
    other, rebuilt = half_precision()
    snapshot = ftlab.open_snapshot(folder)
    with pytest.raises(BadValueError, match="pass optimizer=SGD"):
        snapshot.debug(other)
    step = rate_of_batch(other, rebuilt, inside=inside) if own else None
    if own and not inside:
        with pytest.raises(BadValueError, match="between two calls"):
            snapshot.debug(other, step, rebuilt)
        return
    with snapshot.debug(other, step, rebuilt) as dbg:
        again = dbg.run()
        assert (again.op, again.site.index, again.name) == place
        assert bits(dbg.tensor) == tensor
        assert rebuilt.param_groups[0]["lr"] == 4.0


def test_bfloat16_stays_bfloat16(tmp_path):
    def built():
        setup = Setup(log_of_zero, base=tiny_llama().bfloat16())
        setup.model.bfloat16()
        return setup

    setup = built()
    with debugging(setup) as dbg:
        folder, expected = taken(dbg, tmp_path / "s")
        assert dbg.where.state == "aborted"
    other = built()
    other.breaking.broken = True
    with ftlab.open_snapshot(folder).debug(other.model) as dbg:
        dbg.run()
        assert stop_of(dbg) == expected
        assert dbg.tensor.dtype == torch.bfloat16
    assert ftlab.open_snapshot(folder).tensor.dtype == torch.bfloat16


@pytest.mark.parametrize("weights", ["trainable", "all"])
def test_a_base_in_four_bits_is_known_by_its_checksum_or_written(weights, tmp_path):
    def built(name, base_seed=0):
        base = tiny_4bit(tmp_path / name, base_seed)
        return Setup(log_of_zero, base=base)

    setup = built("one")
    with debugging(setup) as dbg:
        folder, expected = taken(dbg, tmp_path / "s", weights=weights)
    other = built("two", base_seed=0 if weights == "trainable" else 5)
    other.breaking.broken = True
    with ftlab.open_snapshot(folder).debug(other.model) as dbg:
        dbg.run()
        assert stop_of(dbg) == expected
    if weights == "trainable":
        wrong = built("three", base_seed=5)
        with pytest.raises(AttachError, match="has other values"):
            ftlab.open_snapshot(folder).debug(wrong.model)


def test_a_scaled_step_is_scaled_again(tmp_path):
    setup = Setup(root_at_zero)
    scaler = torch.amp.GradScaler("cpu", init_scale=0.5)

    def step(batch):
        setup.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = setup.loss(batch)
        scaler.scale(loss).backward()
        scaler.step(setup.optimizer)
        scaler.update()

    with debugging(setup, step) as dbg:
        folder, expected = taken(dbg, tmp_path / "s")
    other = Setup(root_at_zero)
    other.breaking.broken = True
    with ftlab.open_snapshot(folder).debug(other.model) as dbg:
        dbg.run()
        assert without_index(stop_of(dbg)) == without_index(expected)


# -- what does not fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with debugging(Setup()) as dbg:
        return taken(dbg, tmp_path_factory.mktemp("snapshot") / "s")[0]


def test_a_wrong_base_is_refused_by_name_and_left_alone(folder):
    wrong = Setup(base=tiny_llama(7))
    before = wrong.weights()
    with pytest.raises(
        AttachError, match=r"embed_tokens\.weight has other values.*more"
    ):
        ftlab.open_snapshot(folder).debug(wrong.model)
    assert all(torch.equal(before[n], p) for n, p in wrong.weights().items())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: tiny_llama(), r"no parameter base_model.*no adapter: wrap it"),
        (lambda: Setup(lora={"r": 8}).model, r"has shape \[8, 64\], in the run .*\[4"),
        (lambda: Setup().model.half(), "has dtype float16, in the run it had float32"),
        (
            lambda: Setup(lora={"target_modules": ["q_proj", "o_proj"]}).model,
            r"no parameter .*v_proj.*knows no parameter .*o_proj",
        ),
    ],
)
def test_a_model_that_does_not_fit_is_refused(build, message, folder):
    with pytest.raises(AttachError, match=message):
        ftlab.open_snapshot(folder).debug(build())


def test_an_optimizer_over_other_parameters_is_refused(folder):
    setup = Setup()
    other = torch.optim.AdamW(list(setup.model.parameters())[:3])
    with pytest.raises(AttachError, match=r"AdamW with \[3\] parameters.*\[12\]"):
        ftlab.open_snapshot(folder).debug(setup.model, setup.step, other)


def test_a_model_without_a_loss_needs_a_step(tmp_path):
    model = torch.nn.Linear(2, 1)
    feed = [{"input": torch.full((1, 2), -9.0)}]
    torch.nn.init.ones_(model.weight)

    def step(batch):
        model(**batch).log().sum().backward()

    with ftlab.debug(step, feed, model=model) as dbg:
        dbg.run()
        folder = dbg.snapshot(tmp_path / "s")
    wide = torch.nn.Linear(2, 1)
    with ftlab.open_snapshot(folder).debug(wide) as dbg:
        assert dbg.run().state == "finished"  # its one output is taken for the loss


def copied(folder, to):
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    return to


def edited(folder, **changes):
    file = folder / "snapshot.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


NAMES = ["batch", "gradients", "optimizer", "rng", "stop", "weights"]


@pytest.mark.parametrize(
    "name", [*(f"{n}.safetensors" for n in NAMES), "snapshot.json"]
)
def test_a_torn_or_missing_file_is_named(name, folder, tmp_path):
    torn = copied(folder, tmp_path / "torn")
    whole = (torn / name).read_bytes()
    for size in (0, 5, len(whole) // 2, len(whole) - 1 - name.endswith("json")):
        (torn / name).write_bytes(whole[:size])
        with pytest.raises(RunFolderError, match=name):
            ftlab.open_snapshot(torn)
    (torn / name).unlink()
    with pytest.raises(RunFolderError, match=name):
        ftlab.open_snapshot(torn)


@pytest.mark.parametrize(
    "changes",
    [
        {"report": 3},
        {"report": {"state": "paused", "site": {"is": "os.system", "of": "id"}}},
        {"weights": {"parameters": [{"names": 3}], "buffers": []}},
        {"weights": []},
        {"optimizers": [{}]},
        {"step": {"rng": {}}},
        {"update": 7},
        {"schema": "new"},
    ],
)
def test_a_manifest_that_says_nonsense_is_named(changes, folder, tmp_path):
    broken = copied(folder, tmp_path / "broken")
    edited(broken, **changes)
    setup = Setup()
    with pytest.raises(RunFolderError, match=r"snapshot\.json"):
        ftlab.open_snapshot(broken).debug(
            setup.model, setup.step, setup.optimizer
        ).close()


def test_a_newer_schema_asks_for_a_newer_ftlab(folder, tmp_path):
    newer = copied(folder, tmp_path / "newer")
    edited(newer, schema=99)
    with pytest.raises(SchemaError, match="schema 99"):
        ftlab.open_snapshot(newer)


# -- what is shown, and where it goes


def test_shows_the_stop_the_batch_and_the_tokens(tmp_path):
    setup = Setup()

    class Words:
        def decode(self, ids):
            return " ".join(f"t{each}" for each in ids)

    with debugging(setup, tokenizer=Words()) as dbg:
        report = dbg.run()
        folder = dbg.snapshot(tmp_path / "s")
        tensor = dbg.tensor
        dbg.abort()
    snapshot = ftlab.open_snapshot(folder)
    assert repr(snapshot).startswith(f"Snapshot '{folder}'\n  weights   12 of 33")
    assert repr(report) in repr(snapshot)
    assert repr(snapshot.report) == repr(report)
    assert torch.equal(snapshot.tensor, tensor)
    assert torch.equal(snapshot.batch["input_ids"], setup.feed[2]["input_ids"])
    token = int(setup.feed[2]["input_ids"][0, 0])
    assert snapshot.tokens[token] == f"t{token}"


def test_the_default_folder_is_new_and_in_that_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with debugging(Setup()) as dbg:
        dbg.run()
        assert dbg.snapshot() == Path("snapshots/step-000002")
        assert dbg.snapshot() == Path("snapshots/step-000002-2")
    setup = Setup()
    watch = ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run")
    with watch, debugging(setup) as dbg:
        dbg.run()
        assert dbg.snapshot() == (
            tmp_path / "run" / "rank-00000" / "snapshots" / "step-000002"
        )


def test_a_snapshot_needs_a_stop(tmp_path):
    with debugging(Setup()) as dbg:
        with pytest.raises(NotPausedError, match=r"the run is new. Call run\(\)"):
            dbg.snapshot(tmp_path / "s")
        dbg.run()
        with pytest.raises(BadValueError, match="'trainable' and 'all'"):
            dbg.snapshot(tmp_path / "s", weights="some")


def test_a_policy_can_take_one(tmp_path):
    taken_at = []

    def policy(report):
        taken_at.append(dbg.snapshot(tmp_path / f"s{len(taken_at)}"))
        return "abort"

    with debugging(Setup(), on_pause=policy) as dbg:
        assert dbg.run().state == "aborted"
    assert ftlab.open_snapshot(taken_at[0]).report.reason == "anomaly"
