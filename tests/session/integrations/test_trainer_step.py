"""Trainers: TRL's buffers are kept apart, and what cannot be replayed is refused."""

from types import SimpleNamespace
from typing import Any

import pytest

import ftlab
from ftlab.records.errors import NotReplayableError
from ftlab.session.integrations.trainer_step import refuse_trainer
from tests.session.scenarios import one_thread, seed, sft_trainer, state_of


@pytest.fixture(autouse=True)
def _single_thread():
    with one_thread():
        yield


def outcome(built: Any) -> tuple[Any, Any]:
    """Return the logged numbers that do not measure time, and the state."""
    log = [
        {k: v for k, v in row.items() if "runtime" not in k and "per_second" not in k}
        for row in built.state.log_history
    ]
    return log, state_of(built.model, built.optimizer, [])


def interrupts_at(step: int, dbg: Any) -> Any:
    from transformers import TrainerCallback

    class Interrupts(TrainerCallback):
        def on_step_begin(self, args, state, control, **options):
            if state.global_step == step:
                dbg.interrupt()

    return Interrupts()


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


class GRPOTrainer:
    """Stands for TRL's: only its name counts, for it is heavy to build."""

    def __init__(self, **arguments: Any) -> None:
        settings = {"optim": "adamw_torch", "world_size": 1, "n_gpu": 0}
        self.args = SimpleNamespace(**(settings | arguments))


class PlainTrainer(GRPOTrainer):
    """Stands for a Trainer whose arguments are what is looked at."""


PlainTrainer.__bases__ = (type("Trainer", (), {"__init__": GRPOTrainer.__init__}),)


@pytest.mark.parametrize(
    ("stand_in", "arguments", "message"),
    [
        (GRPOTrainer, {}, "GRPOTrainer generates text"),
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
