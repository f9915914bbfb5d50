"""Watching code that does not know of ftlab."""

import gc

import pytest
import torch

from ftlab.records.errors import AttachError, FtlabWarning, RunFolderError
from ftlab.session.autowatch import Autowatch, find_target
from tests.models import Rows, tiny_llama, tiny_lora, update


class Steps:
    """Hold an optimizer where no variable search looks."""

    def __init__(self, optimizer):
        self._hidden = {"deep": [optimizer]}

    def step(self, loss):
        (optimizer,) = self._hidden["deep"]
        update(loss, optimizer)


def train(steps=4, *, seed=0, hide=False, fail_at=None):
    """Train a small network by hand and return its losses and weights."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
    runner = Steps(torch.optim.AdamW(model.parameters(), lr=0.01))
    _visible = None if hide else runner._hidden["deep"][0]
    losses = []
    for step in range(steps):
        if step == fail_at:
            msg = "boom"
            raise ValueError(msg)
        loss = model(torch.randn(3, 4)).pow(2).mean()
        runner.step(loss)
        losses.append(loss.item())
    return losses, [parameter.detach().clone() for parameter in model.parameters()]


@pytest.fixture
def auto(tmp_path):
    """Make an `Autowatch` that logs under ``tmp_path`` and keeps what it finds."""
    found = []
    made = Autowatch(found.append, run_dir=tmp_path / "run")
    made.found = found
    return made


def trainer(folder, kind=None):
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        str(folder / "out"),
        max_steps=3,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        save_strategy="no",
    )
    return (kind or Trainer)(model=tiny_lora(), args=arguments, train_dataset=Rows(16))


def test_a_loop_in_a_function_is_watched_from_its_first_step(auto):
    with auto:
        losses, _ = train()
    (watch,) = auto.watches
    assert auto.found == [watch]
    assert list(watch.run.steps.step) == [0, 1, 2, 3]
    assert watch.run.steps["loss"] == pytest.approx(losses)
    assert watch.run.steps.known("batch_size").all()
    assert watch.state == "ended"


def test_the_numbers_do_not_change(auto):
    losses, weights = train()
    with auto:
        watched_losses, watched_weights = train()
    assert losses == watched_losses
    assert all(map(torch.equal, weights, watched_weights))


def test_a_hidden_optimizer_is_seen_at_its_first_step(auto):
    with auto:
        losses, _ = train(hide=True)
    (watch,) = auto.watches
    assert watch.run.steps["loss"] == pytest.approx(losses[1:])


def test_namespaces_are_searched_too(tmp_path):
    def loop(model, steps):
        for _ in range(3):
            loss = model(torch.ones(2, 4)).sum()
            steps.step(loss)

    model = torch.nn.Linear(4, 1)
    steps = Steps(torch.optim.SGD(model.parameters(), lr=0.1))
    namespace = {"mine": steps._hidden["deep"][0]}
    with Autowatch(
        lambda _: None, namespaces=[namespace], run_dir=tmp_path / "run"
    ) as auto:
        loop(model, steps)
    assert len(auto.watches[0].run.steps) == 3


def test_an_error_of_the_code_ends_the_watch_and_passes(auto):
    with pytest.raises(ValueError, match="boom"), auto:
        train(fail_at=2)
    (watch,) = auto.watches
    assert watch.state == "ended"
    assert len(watch.run.steps) == 2
    assert "failed: ValueError: boom" in (watch.run_dir / "run.json").read_text()


def test_inference_is_not_watched(auto):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with auto, torch.no_grad():
        model(torch.ones(1, 4))
    assert auto.watches == []
    del optimizer


def test_a_second_model_gets_a_run_of_its_own_when_the_first_is_gone(auto):
    with auto:
        train(2)
        gc.collect()
        train(3, seed=1)
    first, second = auto.watches
    assert (len(first.run.steps), len(second.run.steps)) == (2, 3)
    assert second.run_dir.name == "run-2"


def test_a_display_that_fails_is_a_warning_and_the_watch_goes_on(tmp_path):
    def show(watch):
        msg = "no screen"
        raise OSError(msg)

    with (
        pytest.warns(FtlabWarning, match="Showing the watch failed .*no screen"),
        Autowatch(show, run_dir=tmp_path / "run") as auto,
    ):
        train(2)
    assert len(auto.watches[0].run.steps) == 2


def test_an_existing_run_folder_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "run").mkdir()
    ran = []
    with (
        pytest.raises(RunFolderError, match="exists already"),
        Autowatch(ran.append, run_dir=tmp_path / "run"),
    ):
        ran.append("code")
    assert ran == []


def test_a_trainer_is_watched_when_it_trains(auto, tmp_path):
    made = trainer(tmp_path)
    with auto:
        made.train()
    (watch,) = auto.watches
    assert len(watch.run.steps) == 3
    assert watch.run.steps.known("loss").all()
    assert "train" not in vars(made)


def test_a_train_of_a_subclass_runs_once(auto, tmp_path):
    from transformers import Trainer

    calls = []

    class Mine(Trainer):
        def train(self, *args, **kwargs):
            calls.append("mine")
            return super().train(*args, **kwargs)

    with auto:
        trainer(tmp_path, Mine).train()
    assert calls == ["mine"]
    assert [len(watch.run.steps) for watch in auto.watches] == [3]


def test_two_trainings_are_two_runs(auto, tmp_path):
    made = trainer(tmp_path)
    with auto:
        made.train()
        made.train()
    assert [watch.run_dir.name for watch in auto.watches] == ["run", "run-2"]


def test_a_trainer_that_the_user_watches_is_left_alone(auto, tmp_path):
    from ftlab.session.watch import watch

    made = trainer(tmp_path)
    mine = watch(made, run_dir=tmp_path / "mine")
    with auto:
        made.train()
    mine.detach()
    assert auto.watches == []
    assert len(mine.run.steps) == 3


def test_forward_calls_after_a_trainer_are_no_second_run(auto, tmp_path):
    made = trainer(tmp_path)
    with auto:
        made.train()
        optimizer = made.optimizer
        made.model(torch.ones(1, 4, dtype=torch.long))
    del optimizer
    assert len(auto.watches) == 1


def test_a_compiled_model_is_watched_without_a_warning(auto, recwarn):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(model, backend="aot_eager")
    with auto:
        for _ in range(3):
            update(compiled(torch.ones(2, 4)).sum(), optimizer)
    assert len(auto.watches[0].run.steps) == 3
    assert not [each for each in recwarn if "global hooks" in str(each.message)]


def test_the_target_is_the_one_trainer_or_the_trained_model(tmp_path):
    model = tiny_llama()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    target, keywords = find_target({"model": model, "optimizer": optimizer})
    assert target is model
    assert keywords["optimizer"] == [optimizer]
    made = trainer(tmp_path)
    assert find_target({"t": made, "again": made, "model": model}) == (made, {})


def test_no_target_or_several_trainers_say_what_to_type(tmp_path):
    with pytest.raises(AttachError, match="watch model, optimizer"):
        find_target({"model": tiny_llama()})
    two = {"b": trainer(tmp_path), "a": trainer(tmp_path)}
    with pytest.raises(AttachError, match=r"2 trainers \(a, b\).*watch a"):
        find_target(two)
