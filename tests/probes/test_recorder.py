"""Attaching, detaching, and what must survive both."""

import copy
import gc
import io
import pickle
import weakref

import pytest
import torch

import ftlab.probes.taps.rebinding as rebinding
import ftlab.probes.taps.shared as shared
from ftlab.probes.loss.loss_inputs import LossInputs
from ftlab.probes.probe import Probe, Reading
from ftlab.probes.tensors.gradients import Gradients
from ftlab.probes.tensors.weights import Weights
from ftlab.records.errors import BadValueError, FtlabWarning
from ftlab.records.event import Event
from ftlab.records.handle import CallbackHandle
from ftlab.records.names import NameRecord
from ftlab.records.step import StepRecord
from tests.models import Rows, batches, tiny_lora, update
from tests.probes.recording import Recording


def loop(count=1):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def train(model, optimizer, steps=1):
    for _ in range(steps):
        update(model(torch.ones(2, 4)).sum(), optimizer)


class Fails(Probe):
    """Raises at one moment."""

    name = "fails"
    removed = 0

    def __init__(self, moment):
        setattr(self, moment, self.fail)
        self._moment = moment

    def attach(self, subject):
        def remove():
            Fails.removed += 1

        return [CallbackHandle(remove)]

    def fail(self, *_):
        raise ValueError("the probe's own fault")

    def on_gradients(self, moment):
        return ()

    def before_update(self, moment):
        return ()

    def after_update(self, moment):
        return ()

    def on_close(self, moment):
        return {}

    def on_batch(self, moment, inputs):
        return ()

    def on_unfinished(self, step):
        return ()


class FailsLate(Probe):
    name = "fails-late"

    def on_gradients(self, moment):
        def finish(values):
            raise ValueError("cannot finish")

        return [Reading(torch.zeros(1), finish)]


def untouched():
    from torch.nn.modules import module
    from torch.optim import optimizer

    return (
        torch.Tensor.backward,
        torch.autograd.backward,
        torch.nn.utils.clip_grad_norm_,
        torch.nn.utils.clip_grad.clip_grad_norm_,
        torch.optim.Optimizer.zero_grad,
        torch.nn.Module.zero_grad,
        torch.optim.lr_scheduler.LRScheduler.step,
        torch.amp.GradScaler.step,
        dict(optimizer._global_optimizer_pre_hooks),
        dict(optimizer._global_optimizer_post_hooks),
        dict(module._global_parameter_registration_hooks),
    )


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_everything_comes_off(error):
    before = untouched()
    model, optimizer = loop()
    recording = Recording(model, optimizer)
    with recording:
        assert untouched() != before
        train(model, optimizer)
        if error is not None:
            with pytest.raises(error):
                _raise_within_forward(model, error)
    recording.recorder.detach()
    assert untouched() == before
    assert not model._forward_pre_hooks
    assert len(recording.steps) == 1


def _raise_within_forward(model, error):
    def fail(*_):
        raise error

    hook = model.register_forward_hook(fail)
    try:
        model(torch.ones(2, 4))
    finally:
        hook.remove()


def test_attaching_fails_whole_or_not_at_all(monkeypatch):
    before = untouched()
    model, optimizer = loop()
    recording = Recording(model, optimizer)
    with monkeypatch.context() as broken:
        broken.setattr(shared, "tap_clip", _fail)
        with pytest.raises(ZeroDivisionError):
            recording.__enter__()
    assert untouched() == before
    with recording:
        train(model, optimizer)
    assert len(recording.steps) == 1


def _fail(*_):
    raise ZeroDivisionError


def test_detaching_in_another_order_than_attaching_leaves_nothing():
    before = untouched()
    model, optimizer = loop()
    other, others = loop()
    one, two = Recording(other, others), Recording(model, optimizer)
    one.__enter__()
    two.__enter__()
    one.__exit__()
    train(model, optimizer)
    two.__exit__()
    assert untouched() == before
    assert (len(one.steps), len(two.steps)) == (0, 1)


def test_modules_are_looked_through_once_when_it_begins_and_once_when_it_ends(
    monkeypatch,
):
    looks, replace_all = [], rebinding._replace_all

    def counted(pairs):
        looks.append(len(pairs))
        replace_all(pairs)

    monkeypatch.setattr(rebinding, "_replace_all", counted)
    model, optimizer = loop()
    with Recording(model, optimizer, probes=[LossInputs(), Gradients()]):
        assert len(looks) == 1
    assert len(looks) == 2


def test_attaching_again_goes_on_counting():
    model, optimizer = loop()
    recording = Recording(model, optimizer, first_step=5)
    for _ in range(2):
        with recording:
            train(model, optimizer, steps=2)
    assert [step.step for step in recording.steps] == [5, 6, 7, 8]


@pytest.mark.parametrize(
    "moment", ["on_batch", "on_gradients", "before_update", "after_update", "on_close"]
)
def test_a_failing_probe_is_named_once_and_taken_off(moment):
    model, optimizer = loop()
    probe = Fails(moment)
    removed = Fails.removed
    recording = Recording(model, optimizer, probes=[Gradients(), probe])
    said = f"'fails' failed in {moment} of step 0"
    with pytest.warns(FtlabWarning, match=said) as warned, recording:
        train(model, optimizer, steps=3)
    assert len([each for each in warned if each.category is FtlabWarning]) == 1
    assert Fails.removed == removed + 1
    assert len(recording.steps) == 3
    assert set(recording.column(2)) == {"weight", "bias"}


def test_a_probe_that_cannot_finish_is_taken_off():
    model, optimizer = loop()
    recording = Recording(model, optimizer, probes=[Gradients(), FailsLate()])
    said = "'fails-late' failed with its on_gradients"
    with pytest.warns(FtlabWarning, match=said), recording:
        train(model, optimizer, steps=3)
    assert len(recording.steps) == 3


def test_a_failure_of_our_own_ends_watching_and_not_training():
    model, optimizer = loop()
    recording = Recording(model, optimizer)
    weight = model.weight.detach().clone()
    said = "stopped watching at step 0"
    with pytest.warns(FtlabWarning, match=said) as warned, recording:  # noqa: PT031
        recording.recorder._loop._steps.measure = _fail
        train(model, optimizer, steps=2)
    assert len([each for each in warned if each.category is FtlabWarning]) == 1
    assert not torch.equal(model.weight, weight)


def test_names_come_before_their_values_and_the_row_comes_last():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        train(model, optimizer, steps=2)
    kinds = [type(record) for record in recording.records]
    assert kinds[:2] == [NameRecord, NameRecord]
    assert kinds[-1] is StepRecord


def test_a_step_is_delivered_when_the_next_one_begins():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        train(model, optimizer)
        assert recording.steps == []
        model(torch.ones(2, 4))
        assert len(recording.steps) == 1


def test_weights_come_on_schedule():
    model, optimizer = loop()
    with Recording(model, optimizer, probes=[Weights(16)]) as recording:
        norms = []
        for _ in range(9):
            norms.append(model.weight.detach().norm().item())
            train(model, optimizer)
    for step in (0, 3, 8):
        assert recording.column(step, "weight_l2")["weight"] == pytest.approx(
            norms[step]
        )
    assert recording.column(5, "weight_l2") == {}


def test_a_deleted_model_is_not_kept_alive():
    model, optimizer = loop()
    gone = weakref.ref(model)
    with Recording(model, optimizer) as recording:
        train(model, optimizer)
        del model, optimizer
        gc.collect()
        assert gone() is None
    assert len(recording.steps) == 1


def test_two_probes_of_one_name_are_refused():
    model, optimizer = loop()
    with pytest.raises(BadValueError, match="'gradients'"):
        Recording(model, optimizer, probes=[Gradients(), Gradients()])


def test_copies_and_pickles_of_a_watched_model_carry_nothing_of_ours():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        train(model, optimizer)
        buffer = io.BytesIO()
        torch.save(model, buffer)
        data = pickle.dumps(model)
        for each in (copy.deepcopy(model), pickle.loads(data)):
            train(each, torch.optim.SGD(each.parameters(), lr=0.1))
        copy.deepcopy(optimizer)
        pickle.dumps(optimizer)
    assert b"ftlab" not in data
    assert b"ftlab" not in buffer.getvalue()
    assert len(recording.steps) == 1


def test_a_trainer_with_accelerate_s_wrappers_is_understood(tmp_path):
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Attach(TrainerCallback):
        def on_train_begin(self, args, state, control, **_):
            self.recording = Recording(trainer.model, trainer.optimizer)
            self.recording.__enter__()

        def on_step_end(self, args, state, control, **_):
            self.recording.recorder.trainer_step = state.global_step

        def on_train_end(self, args, state, control, **_):
            self.recording.__exit__()

    trainer = Trainer(
        tiny_lora(),
        TrainingArguments(
            str(tmp_path),
            max_steps=2,
            gradient_accumulation_steps=2,
            per_device_train_batch_size=2,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Rows(8),
    )
    watching = Attach()
    trainer.add_callback(watching)
    trainer.train()
    recording = watching.recording
    micro = ["forward", "backward"]
    assert recording.ops(1) == [
        *micro,
        *micro,
        "clip",
        "step",
        "scheduler_step",
        "zero_grad",
    ]
    assert [step.micro_batches for step in recording.steps] == [2, 2]
    assert [step.trainer_step for step in recording.steps] == [1, 2]
    assert recording.steps[0].clip_norm == 1.0
    assert len(recording.column(1)) == 12


@pytest.mark.parametrize(
    "when",
    [
        "in place",
        *(pytest.param(w, marks=pytest.mark.slow) for w in ("before", "after")),
    ],
)
def test_a_compiled_model_gives_the_same_records(when):
    torch._dynamo.reset()

    def record(compiled):
        model = tiny_lora()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        called = watched = model
        if compiled and when == "before":
            called = watched = torch.compile(model, backend="aot_eager")
        with Recording(watched, optimizer) as recording:
            if compiled and when == "after":
                called = torch.compile(model, backend="aot_eager")
            elif compiled and when == "in place":
                model.compile(backend="aot_eager")
            for batch in batches(2):
                optimizer.zero_grad()
                called(**batch).loss.backward()
                optimizer.step()
        return recording

    plain, compiled = record(False), record(True)
    assert compiled.losses == plain.losses
    assert compiled.column(1) == plain.column(1)
    assert compiled.ops(1) == plain.ops(1)


def test_nothing_of_ours_breaks_a_full_graph():
    torch._dynamo.reset()
    inner = torch.nn.Linear(4, 4)
    model = torch.nn.Sequential(inner, torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(inner, optimizer) as recording:  # its hook is within the graph
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        for _ in range(2):
            compiled(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    assert len(recording.steps) == 2


def test_what_is_done_after_the_last_step_is_not_lost(tmp_path):
    model = tiny_lora()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (batch,) = batches(1)
    with Recording(model, optimizer) as recording:
        model(**batch).loss.backward()
        optimizer.step()
        model(**batch)  # with a graph: the step before is over
        model.save_pretrained(tmp_path)
    assert recording.ops(0)[-2:] == ["step", "save"]
    assert len(recording.steps) == 1


class Tells(Probe):
    """Tells of each step that is not over when somebody looks."""

    name = "tells"

    def on_unfinished(self, step):
        yield Event("note", step, 0.0, f"step {step}")


def test_what_is_told_of_an_unfinished_step_belongs_to_the_step_before():
    model, optimizer = loop()
    recording = Recording(model, optimizer, probes=[Tells()])
    with recording:
        train(model, optimizer, steps=3)
        model(torch.ones(2, 4))
    told = [each for each in recording.records if isinstance(each, Event)]
    assert [(each.step, each.message) for each in told] == [(2, "step 3")]


def test_a_probe_that_cannot_tell_of_an_unfinished_step_is_taken_off():
    model, optimizer = loop()
    recording = Recording(model, optimizer, probes=[Fails("on_unfinished")])
    said = "'fails' failed in on_unfinished of step 2"
    with pytest.warns(FtlabWarning, match=said), recording:
        train(model, optimizer, steps=3)
    assert len(recording.steps) == 3
