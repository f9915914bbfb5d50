"""Trainers: TRL's buffers are kept apart, and what cannot be replayed is refused."""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers

import ftlab
from ftlab.records.errors import NotReplayableError
from ftlab.session.integrations.trainer_step import refuse_trainer
from tests.models import Rows, tiny_lora
from tests.session.integrations.trl_trainers import KINDS, make
from tests.session.scenarios import interrupts_at, seed, sft_trainer, state_of


def outcome(built: Any) -> tuple[Any, Any]:
    """Return the logged numbers that do not measure time, and the state."""
    timed = ("runtime", "per_second", "time")
    log = [
        {k: repr(v) for k, v in row.items() if not any(each in k for each in timed)}
        for row in built.state.log_history
    ]
    return log, state_of(built.model, built.optimizer, [])


def test_metrics_of_trl_count_a_replayed_step_once():
    plain, paused = sft_trainer(), sft_trainer()
    seed()
    plain.train()
    seed()
    with ftlab.debug(paused) as dbg:
        paused.add_callback(interrupts_at(1, dbg))
        assert dbg.run().reason == "interrupt"
        dbg.back(count=20)
        dbg.back("module", 2)
        assert dbg.resume().state == "finished"
    assert "num_tokens" in paused.state.log_history[0]
    assert outcome(paused) == outcome(plain)


QUICK = ("KTO", "GRPO")
EACH = [
    pytest.param(name, at, marks=() if name in QUICK else pytest.mark.slow)
    for name in KINDS
    for at in (0, 1)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "at"), EACH)
def test_a_step_of_trl_executed_again_leaves_what_it_left_at_first(name, at):
    plain = make(name)
    plain.train()
    assert outcome(replayed(make(name), at)) == outcome(plain)


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("kind", ["Trainer", "Seq2SeqTrainer"])
def test_a_step_of_transformers_executed_again_leaves_what_it_left(kind, at, tmp_path):
    plain, paused = (_of_transformers(kind, tmp_path / name) for name in "ab")
    plain.train()
    seed()
    assert outcome(replayed(paused, at)) == outcome(plain)


def _of_transformers(kind, folder):
    import transformers

    seed()
    arguments = transformers.Seq2SeqTrainingArguments(
        str(folder),
        use_cpu=True,
        report_to=[],
        max_steps=3,
        logging_steps=1,
        save_strategy="no",
        disable_tqdm=True,
    )
    built = getattr(transformers, kind)(
        model=tiny_lora(lora_dropout=0.2), args=arguments, train_dataset=Rows()
    )
    seed()
    return built


def replayed(built: Any, at: int) -> Any:
    """Train ``built`` with a pause in a step, and moves back within it."""
    with ftlab.debug(built) as dbg:
        built.add_callback(interrupts_at(at, dbg))
        assert dbg.run().reason == "interrupt"
        dbg.back(count=20)
        dbg.back("module", 2)
        assert dbg.resume().state == "finished"
    return built


@pytest.mark.skipif(
    version("trl").startswith("0."), reason="the table lists the trainers of TRL 1"
)
def test_every_trainer_of_trl_is_tested_or_named():
    module = importlib.import_module("ftlab.session.integrations.trainer_step")
    named = module.__doc__.replace("-", "")
    kinds = {kind.removesuffix("Trainer") for kind in trainers_of_trl()}
    assert {kind for kind in kinds if kind not in named} == set()
    untested = kinds - {kind for _, kind, *_ in KINDS.values()} - {"SFT"}
    if version("trl").startswith("1.16"):
        assert untested == {"AsyncGRPO", "AsyncDistillation", "ServerDistillation"}


def trainers_of_trl():
    """List the classes by the names of their files; to import all takes long."""
    folder = Path(importlib.util.find_spec("trl").submodule_search_locations[0])
    files = [*folder.glob("trainer/*_trainer.py"), *folder.glob("experimental/*/*.py")]
    for file in files:
        for found in re.finditer(r"^class (\w+Trainer)\(", file.read_text(), re.M):
            if not found[1].startswith("_"):
                yield found[1]


class Buffered(transformers.Trainer):
    """Makes something at every second step and uses it in two, as GRPO does."""

    step_number = 0
    buffer = None

    def training_step(self, *args, **kwargs):
        if self.step_number % 2 == 0:
            self.buffer = {"noise": [torch.rand(()), torch.rand(())]}
        self.step_number += 1
        return super().training_step(*args, **kwargs)

    def compute_loss(self, *args, **kwargs):
        return super().compute_loss(*args, **kwargs) * self.buffer["noise"].pop()


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_trainer_that_nobody_knows_is_put_back_too(at, tmp_path):
    plain, paused = (
        Buffered(tiny_lora(lora_dropout=0.2), arguments(tmp_path), train_dataset=Rows())
        for _ in range(2)
    )
    seed()
    plain.train()
    seed()
    assert outcome(replayed(paused, at)) == outcome(plain)


def arguments(folder):
    return transformers.TrainingArguments(
        str(folder),
        use_cpu=True,
        report_to=[],
        max_steps=3,
        logging_steps=1,
        save_strategy="no",
        disable_tqdm=True,
    )


class Rollouts:
    """Counts inside of an object, where nobody puts it back."""

    def __init__(self):
        self.served = 0

    def next_factor(self):
        self.served += 1
        return float("nan") if self.served == 2 else 1.0


class Serving(transformers.Trainer):
    rollouts = None

    def compute_loss(self, *args, **kwargs):
        factor = self.rollouts.next_factor()
        return super().compute_loss(*args, **kwargs) * factor


def test_what_a_step_changes_for_good_is_named(tmp_path):
    built = Serving(tiny_lora(), arguments(tmp_path), train_dataset=Rows())
    built.rollouts = Rollouts()
    with ftlab.debug(built) as dbg:
        report = dbg.run()
        assert (report.reason, report.kind) == ("anomaly", "unknown")
        notes = " ".join(report.notes)
        assert "The replay's loss differs from the first run's." in notes
        assert "cannot be restored: the trainer's rollouts (a Rollouts)." in notes
        dbg.abort()


class OwnLoop(transformers.Trainer):
    def train(self):
        for batch in self.get_train_dataloader():
            self.model(**batch).loss.backward()


class Prepares(transformers.Trainer):
    def train(self, *args, **kwargs):
        return super().train(*args, **kwargs)


def test_a_trainer_with_a_loop_of_its_own_is_refused(tmp_path):
    with pytest.raises(
        NotReplayableError, match=r"OwnLoop\.train\(\) is a loop of its"
    ):
        ftlab.debug(OwnLoop(tiny_lora(), arguments(tmp_path), train_dataset=Rows()))
    prepares = Prepares(tiny_lora(), arguments(tmp_path), train_dataset=Rows())
    assert refuse_trainer(prepares) is None


class PlainTrainer:
    """Stands for a Trainer whose arguments are what is looked at."""

    def __init__(self, **arguments: Any) -> None:
        settings = {"optim": "adamw_torch", "world_size": 1, "n_gpu": 0}
        self.args = SimpleNamespace(**(settings | arguments))


@pytest.mark.parametrize(
    ("stand_in", "arguments", "message"),
    [
        (PlainTrainer, {"use_vllm": True}, "use_vllm=True generates text"),
        (PlainTrainer, {"enable_jit_checkpoint": True}, "enable_jit_checkpoint"),
        (PlainTrainer, {"optim": "galore_adamw_layerwise"}, "inside backward"),
        (PlainTrainer, {"world_size": 2}, "2 devices"),
        (PlainTrainer, {"n_gpu": 4}, "4 devices"),
    ],
)
def test_a_step_that_cannot_be_called_again_is_refused(stand_in, arguments, message):
    with pytest.raises(NotReplayableError, match=message):
        refuse_trainer(stand_in(**arguments))


def test_a_plain_trainer_is_accepted():
    assert refuse_trainer(PlainTrainer()) is None
