"""The rules on runs of a real Trainer."""

import math

import pytest

from ftlab.faults.builders.tiny import lora
from ftlab.faults.fault import Case
from ftlab.records.facts import Facts
from ftlab.rules.engine import Engine
from ftlab.session.score import record
from tests.models import Rows


def train(folder, kind=None, **settings):
    """Record one ``train()`` as a case of one iteration."""
    from transformers import Trainer, TrainingArguments

    model = lora(target_modules="all-linear")
    arguments = {
        "max_steps": 20,
        "learning_rate": 1e-3,
        "per_device_train_batch_size": 4,
        "use_cpu": True,
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_steps": 1,
    }
    options = TrainingArguments(str(folder), **(arguments | settings))
    trainer = (kind or Trainer)(model, options, train_dataset=Rows())
    case = Case(model, None, [None], lambda _: trainer.train().training_loss)
    run = record(case, 1)
    facts = run.facts
    training = {"logging_nan_inf_filter": options.logging_nan_inf_filter}
    optimizers, schedulers = facts.optimizers, facts.schedulers
    run.append(
        Facts(
            run.last_step, facts.versions, facts.model, optimizers, schedulers, training
        )
    )
    return run, trainer


SETTINGS = {
    "plain": {},
    "warm-up and cosine": {"warmup_steps": 5, "lr_scheduler_type": "cosine"},
    "accumulation": {"gradient_accumulation_steps": 3},
    "bf16": {"bf16": True},
    "checkpointing": {
        "gradient_checkpointing": True,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
    },
    "no clipping": {"max_grad_norm": 0.0},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_healthy_trainer_is_quiet(name, tmp_path):
    run, _ = train(tmp_path, **SETTINGS[name])
    report = Engine().check(run)
    assert len(run.steps) == 20
    assert report.findings == ()
    assert report.not_checked == ()


def test_a_nan_that_the_trainers_log_hides_is_found(tmp_path):
    from transformers import Trainer

    class Sick(Trainer):
        calls = 0

        def compute_loss(self, *args, **kwargs):
            self.calls += 1
            loss = super().compute_loss(*args, **kwargs)
            return loss * math.nan if self.calls > 5 else loss

    run, trainer = train(tmp_path, Sick, max_steps=10)
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert all(math.isfinite(loss) for loss in logged)
    assert logged[-1] == 0.0
    (finding,) = [f for f in Engine().check(run).findings if f.code == "NUM001"]
    assert finding.first_step == 5
    assert "logging_nan_inf_filter is true" in finding.message


def test_a_trainer_whose_user_steps_the_scheduler_too_is_found(tmp_path):
    from transformers import Trainer

    class Eager(Trainer):
        def training_step(self, *args, **kwargs):
            loss = super().training_step(*args, **kwargs)
            if self.optimizer.state:
                self.lr_scheduler.step()
            return loss

    run, _ = train(tmp_path, Eager, lr_scheduler_type="linear")
    found = {f.code: f for f in Engine().check(run).findings}
    assert {code: each.follows for code, each in found.items()} == {
        "OPT003": "",
        "OPT011": "OPT003",
    }
    assert found["OPT003"].evidence["kind"] == "several-times"
