"""Steps that are measured lightly to keep the budget, and full ones between them."""

import contextlib

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import adamw, batches, llama
from ftlab.probes.budget import FULL, Budget
from ftlab.probes.optimizer.between_updates import BetweenUpdates
from ftlab.probes.optimizer.kept_moments import KeptMoments
from ftlab.probes.own_time import own_time
from ftlab.probes.probe import Probe
from ftlab.probes.recorder import TOGETHER, Recorder
from ftlab.probes.schedule import Full, every
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.subject import Subject
from ftlab.probes.tokens.batch import Batches
from ftlab.probes.tokens.batch_checks import BatchChecks
from ftlab.records.batch_facts import SeenBatches
from ftlab.records.budget import STRIDE
from ftlab.records.event import Event
from ftlab.records.step import StepRecord
from tests.models import tiny_lora


class Chosen(Budget):
    """Measures the steps in full that it is told to."""

    def __init__(self, *full):
        super().__init__(0.02)
        self.chosen = full

    def _decides(self, step, *, before):
        return step in self.chosen or step <= self._wanted


class Called(Probe):
    """Notes when it is called; can wait for a full step."""

    light = False

    def __init__(self):
        self.steps = []

    def on_gradients(self, moment):
        assert moment.full or self.light
        self.steps.append(moment.step)
        return ()


class CalledInLight(Called):
    """Notes when it is called, as users' own probes do."""

    light = True


class InTurn(Called):
    """Notes when it is called; takes turns."""

    light = True

    def __init__(self):
        super().__init__()
        self.schedule = every(1)


def recorded(probes, budget, steps=10, made=None, act=lambda *_: None, model=None):
    """Train; returns the records."""
    model = model or llama()
    optimizer = adamw(model)
    records = []
    with (
        Recorder(Subject(model, [optimizer]), probes, records.append, budget=budget),
        contextlib.suppress(IndexError),
    ):
        for step, batch in enumerate(made or batches(steps)):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
            optimizer = act(step, model, optimizer) or optimizer
    return records


def steps_of(records):
    return [each for each in records if isinstance(each, StepRecord)]


def told(records):
    events = [each for each in records if isinstance(each, Event)]
    return [SeenBatches.from_json(each.detail) for each in events]


def test_only_some_probes_are_called_in_light_steps():
    probe, other, turned = Called(), CalledInLight(), InTurn()
    records = recorded([probe, other, turned], Chosen(0, 1, 4, 5, 6))
    assert probe.steps == [0, 1, 4, 5, 6]
    assert set(turned.steps) <= {*probe.steps}
    assert other.steps == list(range(10))
    assert Probe.light
    light = [each.step for each in steps_of(records) if each.values.get("light")]
    assert light == [2, 3, 7, 8, 9]


def test_a_step_is_full_in_which_other_parameters_are_trained():
    def freeze(step, model, _):
        if step == 4:
            next(model.parameters()).requires_grad_(requires_grad=False)

    probe = Called()
    recorded([probe, CalledInLight()], Chosen(0, 1), act=freeze)
    assert [step for step in probe.steps if step > 1] == [5, 6]


def costing(taken, step=0.1, beyond=0.0, steps=400):
    """Let full steps take ``beyond`` more than the ``taken`` seconds of light ones."""
    now, full = 0.0, []
    budget = Budget(0.02, lambda: now)
    for number in range(steps):
        own = taken + (beyond if budget.is_full(number) else 0.0)
        full += [number] if budget.is_full(number) else []
        own_time.seconds += own
        now += step + own
        budget.end(number)
    return full, budget


def test_full_steps_that_cost_too_much_come_in_twos_at_multiples():
    full, budget = costing(0.0005, beyond=0.008)
    late = [step for step in full if step > 2 * STRIDE]
    assert {step % STRIDE for step in late} == {0, 1}
    assert all(step + 1 in late or step - 1 in late for step in late)
    assert 10 < len(late) < 60
    assert budget.told()[FULL]["steps"] == len(full)
    assert budget.told()[FULL]["ms"] == pytest.approx(8, rel=0.1)


def test_two_runs_of_other_speeds_have_full_steps_in_common():
    slow, fast = (costing(0.0005, beyond=cost)[0] for cost in (0.009, 0.003))
    late = {step for step in slow if step > 2 * STRIDE}
    assert len(late & {*fast}) > len(late) / 3


def test_what_asks_for_full_steps_is_told_them_and_takes_no_turn():
    probe = Called()
    probe.full = Full()
    budget = Chosen(0, 1, 4)
    budget.take([probe])
    assert [step for step in range(6) if probe.full(step)] == [0, 1, 4]
    assert not budget.counts(probe.name)


def test_where_all_fits_all_steps_are_full():
    full, budget = costing(0.0, beyond=0.0005)
    assert full == list(range(400))
    assert FULL not in budget.told()


def test_the_share_is_kept():
    full, _ = costing(0.0005, beyond=0.008, steps=4000)
    late = [step for step in full if step > 2 * STRIDE]
    assert 0.0005 + 0.008 * len(late) / 4000 <= 0.02 * 0.1


def test_a_batch_that_ends_the_run_in_a_light_step_is_told():
    made = batches(6)
    made[4]["input_ids"][1, 3] = 128
    last = told(recorded([BatchChecks()], Chosen(0, 1), made=made))[-1]
    assert (last.step, last.unfinished) == (4, True)
    (each,) = last.oddities
    assert (each.row, each.position, each.value) == (1, 3, 128)


def test_a_batch_that_makes_the_loss_nan_in_a_light_step_is_told():
    made = batches(6)
    made[4]["labels"][:] = -100
    records = recorded([BatchChecks(), Batches()], Chosen(0, 1), made=made)
    last = told(records)[-1]
    assert last.step == 4
    assert [each.kind for each in last.oddities] == ["ignored"]
    light = [each.step for each in steps_of(records) if each.values.get("light")]
    assert light == [2, 3, 4]
    assert [each.values["unlabelled"] for each in steps_of(records)][3:5] == [0, 1]


def test_writes_between_updates_are_seen_in_light_steps():
    def write(step, model, _):
        if step == 4:
            next(model.parameters()).data += 1

    steps = steps_of(recorded([BetweenUpdates()], Chosen(0, 1), act=write))
    written = [each.values.get("weights_written") for each in steps]
    assert written == [None, 0, 0, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("at", [2, 5])
def test_an_optimizer_that_is_made_anew_in_a_light_step_is_counted(at):
    def renew(step, model, _):
        return adamw(model) if step == at else None

    subject = llama()
    records = []
    optimizer = adamw(subject)
    watched = Subject(subject, [optimizer])
    budget = Chosen(0, 1)
    with Recorder(watched, [KeptMoments()], records.append, budget=budget):
        for step, batch in enumerate(batches(8)):
            optimizer.zero_grad()
            subject(**batch).loss.backward()
            optimizer.step()
            if step == at:
                optimizer.state.clear()
    counts = [each.values["moments_begun_anew"] for each in steps_of(records)]
    assert counts == [0.0] * (at + 1) + [1.0] * (7 - at)


def test_records_of_light_steps_come_together_and_in_order():
    model = llama()
    optimizer = adamw(model)
    records, came = [], []
    budget = Chosen(0)
    with Recorder(Subject(model, [optimizer]), [], records.append, budget=budget):
        for batch in batches(2 * TOGETHER + 3):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
            came.append(len(steps_of(records)))
    assert [each.step for each in steps_of(records)] == list(range(2 * TOGETHER + 3))
    assert len(set(came)) < TOGETHER


def test_adapters_that_are_off_for_a_forward_of_a_light_step_are_seen():
    model = tiny_lora()

    def compare(step, *_):
        if step == 4:
            with torch.no_grad(), model.disable_adapter():
                model(**batches(1)[0])

    records = recorded([], Chosen(0, 1), act=compare, model=model)
    entries = [each for each in records if getattr(each, "op", "") == "forward"]
    states = [each.detail["adapter_state"] for each in entries]
    usual, other = states[0], states[5]
    assert states == [usual] * 5 + [other] + [usual] * 5
    assert usual != other


def test_a_step_whose_loss_is_nowhere_is_not_spoilt():
    assert not OpenStep(0).is_spoilt()
    step = OpenStep(0)
    step.add_loss(torch.tensor([torch.nan]))
    assert step.is_spoilt()
    step.add_loss(None)
    assert not step.is_spoilt()


def test_a_watch_of_a_tiny_model_has_light_steps_and_says_so(tmp_path):
    model = tiny_lora()
    optimizer = adamw(model)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for batch in batches(40):
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    light = watch.run.steps["light"]
    assert light[:9].max() != 1
    assert (light[17:] == 1).sum() > 10
    assert f"  {FULL}: measured in " in str(watch.cost)
