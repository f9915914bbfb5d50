"""Automatic responses: what the user chose happens, is told, and nothing else."""

from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, TrainingStoppedError
from tests.replay.breakage import Setup
from tests.session.debugging.test_debug import debugging, same
from tests.session.scenarios import seed, trainer


def words(dbg: Any) -> list[str]:
    return [event.message for event in dbg.events]


def trained(setup: Setup, without: int | None = None) -> dict[str, torch.Tensor]:
    for number, batch in enumerate(setup.feed):
        if number != without:
            setup.step(batch)
    return setup.weights()


def test_nothing_responds_by_default():
    with debugging(Setup()) as dbg:
        assert dbg.run().reason == "anomaly"
        assert dbg.events == []
        assert repr(dbg.responses) == "no automatic responses; respond(to, by) sets one"


def test_a_skipped_batch_leaves_no_trace():
    skipped, plain = Setup(), Setup()
    with debugging(skipped) as dbg:
        response = dbg.respond("anomaly", "skip batch")
        assert dbg.run().state == "finished"
        assert dbg.result[2] is None
    assert same(skipped.weights(), trained(plain, without=2))
    assert skipped.optimizer.state_dict()["state"][0]["step"] == 3
    assert words(dbg) == ["response: non-finite loss: batch skipped"]
    assert (dbg.events[0].step, dbg.events[0].detail["by"]) == (2, "skip batch")
    assert response.given == 1


def test_a_response_is_in_the_log_of_a_watched_run(tmp_path):
    setup = Setup()
    with (
        ftlab.watch(setup.model, setup.optimizer, run_dir=tmp_path / "run"),
        debugging(setup) as dbg,
    ):
        dbg.respond("non-finite loss", "skip batch")
        dbg.run()
    kept = [event.message for event in ftlab.open_run(tmp_path / "run").run.events]
    assert "response: non-finite loss: batch skipped" in kept


@pytest.mark.parametrize("first", ["stop", "skip batch"])
def test_the_third_loss_in_a_row_stops_with_an_exception(first):
    setup = Setup()
    bad = setup.feed[2]
    setup.feed = [setup.feed[0], bad, bad, setup.feed[1], bad, bad, bad, setup.feed[3]]
    step, losses = setup.step, []

    def counted(batch):
        setup.bad = next((i for i, b in enumerate(setup.feed) if b is batch), 0)
        if batch is not bad:
            setup.bad = len(setup.feed) - 1
        losses.append(step(batch))

    with debugging(setup, counted) as dbg:
        if first == "skip batch":
            dbg.respond("anomaly", "skip batch")
        dbg.respond("non-finite loss", "stop", times=3)
        if first == "stop":
            dbg.respond("anomaly", "skip batch")
        with pytest.raises(TrainingStoppedError, match="non-finite loss"):
            dbg.run()
        before = setup.weights()
    assert dbg.state == "failed"
    assert [w.rpartition(": ")[2] for w in words(dbg)] == ["batch skipped"] * 4 + [
        "stopped"
    ]
    assert all(weight.isfinite().all() for weight in before.values())


def test_roll_back_puts_weights_and_optimizer_state_back():
    rolled, plain = Setup(), Setup()
    with debugging(rolled) as dbg:
        dbg.respond("anomaly", "roll back", steps=2)
        assert dbg.run().state == "finished"
    plain.step(plain.feed[3])
    assert same(rolled.weights(), plain.weights())
    first, second = (s.optimizer.state_dict()["state"] for s in (rolled, plain))
    assert all(torch.equal(first[i]["exp_avg"], second[i]["exp_avg"]) for i in first)
    assert words(dbg) == [
        "response: non-finite loss: rolled back by 2 of 2 optimizer steps"
    ]


def test_a_snapshot_is_written_and_training_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with debugging(Setup()) as dbg:
        dbg.respond("anomaly", "snapshot")
        assert dbg.run().state == "finished"
    assert (tmp_path / "snapshots" / "step-000002").is_dir()
    assert words(dbg)[0].endswith("snapshot in snapshots/step-000002")
    assert "aten.log" in repr(ftlab.open_snapshot("snapshots/step-000002"))


def test_a_step_can_be_taken_a_snapshot_of_without_an_anomaly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved, plain = Setup(lambda x: x), Setup(lambda x: x)
    with debugging(saved) as dbg:
        dbg.respond("step", "snapshot", at=range(1, 4, 2))
        assert dbg.run().state == "finished"
    assert sorted(each.name for each in (tmp_path / "snapshots").iterdir()) == [
        "step-000001",
        "step-000003",
    ]
    assert same(saved.weights(), trained(plain))


def test_time_pauses_the_run():
    with debugging(Setup(lambda x: x)) as dbg:
        dbg.respond("time", "pause", seconds=1e-6)
        assert dbg.run().reason == "response"
        assert dbg.resume().reason == "response"


def huge_gradient() -> tuple[Any, Any]:
    """A loop whose gradient is a thousand times larger in one step."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        (model(batch["x"]) * batch["factor"]).mean().backward()
        optimizer.step()

    feed = [{"x": torch.ones(2, 4), "factor": f} for f in (1.0, 1000.0, 1.0)]
    return ftlab.debug(step, feed, model=model, optimizer=optimizer), model


def test_a_breakpoint_can_be_answered_by_clipping():
    dbg, model = huge_gradient()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    with dbg:
        point = dbg.break_at(parameter="weight", when=lambda g: g.norm() > 100)
        dbg.respond(point, "clip", max_norm=2.5)
        assert dbg.run().state == "finished"
    moved = sum(
        (p.detach() - before[n]).pow(2).sum() for n, p in model.named_parameters()
    ).sqrt()
    norm = 5**0.5  # four ones and the bias
    torch.testing.assert_close(moved, torch.tensor(0.1 * (2 * norm + 2.5)))
    assert words(dbg)[0].endswith("norm 2.24e+03 clipped to 2.5")


def test_clipping_knows_of_the_scale():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    before = model.weight.detach().clone()

    def step(batch):
        scaler.scale(model(batch).sum() * 100).backward()
        scaler.step(optimizer)
        scaler.update()

    with ftlab.debug(step, [torch.ones(1, 4)], model=model, optimizer=optimizer) as dbg:
        point = dbg.break_at(parameter="weight", when=lambda _: True)
        dbg.respond(point, "clip", max_norm=5**0.5)
        assert dbg.run().state == "finished"
    torch.testing.assert_close(before - model.weight.detach(), torch.ones(1, 4))


def test_an_infinite_gradient_cannot_be_clipped_and_pauses():
    with debugging(Setup()) as dbg:
        dbg.respond("anomaly", "clip", max_norm=1.0)
        assert dbg.run().reason == "anomaly"
    assert "cannot be clipped" in words(dbg)[0]


def autocast_step():
    """Return a step with autocast, its model, its optimizer, and the dtypes it saw."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    dtypes = []

    def step(batch):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            out = model(batch)
        dtypes.append(out.dtype)
        out.pow(2).float().mean().backward()
        optimizer.step()

    return step, model, optimizer, dtypes


def test_float32_runs_the_step_again_without_autocast():
    step, model, optimizer, dtypes = autocast_step()
    large = torch.full((1, 4), 1e4)
    feed = [torch.ones(1, 4), large, torch.ones(1, 4), torch.ones(1, 4)]
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.respond("non-finite loss", "float32", steps=2)
        assert dbg.run().state == "finished"
    half, full = torch.float16, torch.float32
    assert dtypes == [half, half, full, full, half]
    assert words(dbg) == ["response: non-finite loss: no autocast up to step 2"]


def test_failed_unscales_in_a_row_lead_to_float32():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=100)
    dtypes = []

    def step(batch):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            out = model(batch)
        dtypes.append(out.dtype)
        loss = out.float().mean()
        scaler.scale(loss * torch.tensor(1e38)).backward()
        scaler.step(optimizer)
        scaler.update()

    feed = [torch.ones(1, 2)] * 6
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.respond("failed unscale", "float32", times=3, steps=2)
        assert dbg.run().state == "finished"
    assert torch.float32 in dtypes
    assert dtypes.index(torch.float32) == 4
    assert words(dbg)[0] == "response: failed unscale: no autocast up to step 5"


def test_a_tokenizer_that_changes_stops_the_run():
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"a": 0, "b": 1, "[UNK]": 2}
    inner = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")
    setup = Setup(lambda x: x)
    step = setup.step

    def adding(batch):
        if batch is setup.feed[2]:
            tokenizer.add_tokens(["c"])
        return step(batch)

    with debugging(setup, adding, tokenizer=tokenizer) as dbg:
        dbg.respond("tokenizer change", "stop")
        with pytest.raises(TrainingStoppedError, match=r"Step 3.*tokenizer change"):
            dbg.run()


def test_a_trainer_goes_on_behind_a_skipped_batch():
    seed()
    made = trainer(max_steps=4, logging_nan_inf_filter=False)
    model = made.model
    calls = []
    plain = made.compute_loss

    def breaking(model, inputs, **options):
        calls.append(1)
        loss = plain(model, inputs, **options)
        return loss * float("nan") if len(calls) == 2 else loss

    made.compute_loss = breaking
    with ftlab.debug(made) as dbg:
        dbg.respond("anomaly", "skip batch")
        assert dbg.run().state == "finished"
    assert made.state.global_step == 4
    assert all(p.isfinite().all() for p in model.parameters())
    assert words(dbg) == ["response: non-finite loss: batch skipped"]


def test_a_broken_update_is_undone():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=0.0)

    def step(batch):
        optimizer.zero_grad()
        (model(batch) * batch).mean().backward()
        optimizer.step()

    feed = [torch.ones(1, 2), torch.ones(1, 2)]
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.respond("anomaly", "skip batch")
        with torch.no_grad():
            model.weight.zero_()
        before = model.weight.detach().clone()
        optimizer.param_groups[0]["lr"] = float("inf")
        assert dbg.run().state == "finished"
    assert torch.equal(model.weight, before)
    assert "non-finite weights or optimizer state: 1 undone" in words(dbg)[0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("anomlay", "pause"), "near ones are 'anomaly'"),
        (("anomaly", "ignore"), "no such option"),
        (("anomaly", "clip"), "needs max_norm="),
        (("time", "snapshot"), "needs seconds="),
        (("step", "snapshot"), "needs at="),
    ],
)
def test_words_that_are_none_are_refused(call, said):
    with debugging(Setup()) as dbg, pytest.raises(BadValueError, match=said):
        dbg.respond(*call)


def test_a_response_can_be_switched_off_and_taken_out():
    with debugging(Setup()) as dbg:
        response = dbg.respond("anomaly", "skip batch")
        response.enabled = False
        assert dbg.run().reason == "anomaly"
        assert "off" in repr(dbg.responses)
        response.remove()
        response.remove()
        assert len(dbg.responses) == 0


# -- what goes wrong under them


def test_float32_lasts_through_a_step_that_is_stopped_in():
    step, model, optimizer, dtypes = autocast_step()
    feed = [torch.full((1, 4), 1e4)] * 3
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.respond("non-finite loss", "float32", steps=10)
        dbg.break_at(step=1)
        assert dbg.run().reason == "breakpoint"
        assert dbg.resume().state == "finished"
    assert set(dtypes[1:]) == {torch.float32}
    assert len(dbg.events) == 1


def two_optimizers(second: float) -> tuple[Any, Any]:
    first, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    both = torch.nn.ModuleList([first, other])
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, other)]

    def step(batch):
        for model, optimizer, factor in zip(
            both, optimizers, (1.0, second), strict=True
        ):
            optimizer.zero_grad()
            (model(batch) * factor).sum().backward()
            optimizer.step()

    feed = [torch.ones(1, 2)]
    return ftlab.debug(step, feed, model=both, optimizer=optimizers), both


def test_what_cannot_be_taken_back_pauses_and_says_why():
    dbg, _ = two_optimizers(float("nan"))
    with dbg:
        dbg.respond("anomaly", "skip batch")
        assert dbg.run().reason == "anomaly"
    assert "cannot be taken back: SGD.step() has already changed" in words(dbg)[0]


def test_a_stop_says_which_weights_are_left():
    dbg, _ = two_optimizers(float("nan"))
    with dbg:
        dbg.respond("anomaly", "stop")
        with pytest.raises(TrainingStoppedError, match="already changed the weights"):
            dbg.run()


def test_a_skipped_update_leaves_no_gradients_for_the_next():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    norms = []

    def step(batch):
        (model(batch["x"]).sum() * batch["factor"]).backward()
        if batch["last"]:
            norms.append(float(model.weight.grad.norm()))
            optimizer.step()
            optimizer.zero_grad()

    x = torch.ones(1, 2)
    feed = [{"x": x, "last": i % 2 == 1, "factor": 1.0} for i in range(4)]
    feed[1]["factor"] = float("inf")
    with ftlab.debug(step, feed, model=model, optimizer=optimizer) as dbg:
        dbg.respond("anomaly", "skip batch")
        assert dbg.run().state == "finished"
    assert norms[-1] == pytest.approx(2 * 2**0.5)


def test_time_counts_from_the_last_response(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    setup = Setup(lambda x: x)
    setup.feed = [*setup.feed, setup.feed[0]]
    step = setup.step

    def slow(batch):
        clock[0] += 10.0
        return step(batch)

    with debugging(setup, slow) as dbg:
        response = dbg.respond("time", "pause", seconds=15)
        assert dbg.run().reason == "response"
        clock[0] += 1000.0  # a night
        assert dbg.resume().state == "paused"
        assert dbg.resume().state == "finished"
        assert response.given == 2
        assert dbg.run().reason == "response"


def test_hits_with_a_calm_step_between_are_not_in_a_row():
    dbg, _ = huge_gradient()
    with dbg:
        point = dbg.break_at(parameter="weight", when=lambda g: g.norm() < 100)
        dbg.respond(point, "stop", times=2)
        dbg.respond(point, "clip", max_norm=1.0)
        assert dbg.run().state == "finished"
    assert len(words(dbg)) == 2


def test_a_place_is_answered_at_each_of_its_stops(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with debugging(Setup(lambda x: x)) as dbg:
        dbg.respond("breakpoint", "snapshot")
        dbg.break_at("mlp.act_fn", step=1, phase="forward")
        assert dbg.run().state == "finished"
    assert len(words(dbg)) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"to": "time", "by": "pause", "seconds": -1}, "a number above 0"),
        ({"to": "anomaly", "by": "clip", "max_norm": "1"}, "a number above 0"),
        ({"to": "anomaly", "by": "roll back", "steps": 1.5}, "a whole number"),
        ({"to": "step", "by": "pause", "at": "3"}, "a step's number, a range"),
        ({"to": 5, "by": "pause"}, "no such option"),
    ],
)
def test_values_that_mean_nothing_are_refused(options, said):
    with debugging(Setup()) as dbg, pytest.raises(BadValueError, match=said):
        dbg.respond(**options)
