"""Cases that a Trainer trains: of transformers, or of TRL."""

import functools
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from ftlab.faults.builders.tiny import VOCABULARY, batches, rows_of
from ftlab.faults.fault import Case
from ftlab.faults.variation import current

STEPS = 200


def trained(model: Any, *, kind: Any = None, rows: Any = None, **settings: Any) -> Case:
    """Make the case of a Trainer that is about to train ``model``.

    Parameters
    ----------
    kind
        The Trainer's class, transformers' own by default.
    rows
        The dataset; rows of `builders.tiny.batches` by default.
    settings
        TrainingArguments that differ from quiet ones on the CPU, and, as
        ``trainer={...}``, further arguments of the Trainer.
    """
    from transformers import Trainer, TrainingArguments

    further = settings.pop("trainer", {})
    options = TrainingArguments(**(quiet() | settings))
    rows = rows_of(batches(16)) if rows is None else rows
    made = (kind or Trainer)(model, options, train_dataset=rows, **further)
    return case_of(made)


def best_kept(model: Any, every: int, **settings: Any) -> Case:
    """Make the case of a Trainer that loads the best checkpoint at its end.

    It evaluates and saves after ``every`` so many steps.
    """
    further = {"eval_dataset": rows_of(batches(2, seed=3))}
    further |= settings.pop("trainer", {})
    return trained(
        model,
        eval_strategy="steps",
        eval_steps=every,
        save_strategy="steps",
        save_steps=every,
        load_best_model_at_end=True,
        trainer=further,
        **settings,
    )


def chosen_by(
    metric: str, of_loss: Callable[[float], float], model: Any, **settings: Any
) -> Case:
    """Make the case of a Trainer that chooses its best checkpoint by a metric.

    It is computed of the mean loss of each evaluation, which comes every 2 of 8 steps.
    """
    asked = {"metric_for_best_model": metric, "max_steps": 8, "learning_rate": 1e-2}
    further = {"compute_metrics": functools.partial(_measure, metric, of_loss)}
    return best_kept(model, every=2, trainer=further, **(asked | settings))


def _measure(
    metric: str, of_loss: Callable[[float], float], predicted: Any
) -> dict[str, float]:
    logits = torch.as_tensor(predicted.predictions)[:, :-1].flatten(0, 1)
    labels = torch.as_tensor(predicted.label_ids)[:, 1:].flatten()
    loss = torch.nn.functional.cross_entropy(logits.float(), labels)
    return {metric: of_loss(loss.item())}


def resumed(
    make: Callable[[], Any],
    saved: int,
    first: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Case:
    """Make the case of a Trainer that is going to resume from another one's checkpoint.

    Parameters
    ----------
    make
        Makes the model of each of the two.
    saved
        The step of the checkpoint, which is the first Trainer's last one.
    first, settings
        As for `trained`: those of the first Trainer, and of the one that resumes.
    """
    saving = {"save_strategy": "steps", "save_steps": saved, "max_steps": saved}
    before = trained(make(), **(saving | dict(first or {}))).trainer
    before.train()
    model = make()
    checkpoint = folder(model) / f"checkpoint-{saved}"
    shutil.copytree(Path(before.args.output_dir) / checkpoint.name, checkpoint)
    case = trained(model, **settings)
    where = {"resume_from_checkpoint": str(checkpoint)}
    case.trainer.train = functools.partial(case.trainer.train, **where)
    return case


def case_of(trainer: Any) -> Case:
    """Make the case of a Trainer; its folder goes when the Trainer goes."""
    weakref.finalize(trainer, shutil.rmtree, trainer.args.output_dir, True)
    return Case(trainer.model, trainer=trainer)


def end_after(steps: int, trainer: Any) -> None:
    """Let a Trainer end after so many optimizer steps, if it does not end before."""
    from transformers import TrainerCallback

    class Ending(TrainerCallback):
        """Ends a training; one that was resumed makes as many steps as another."""

        _first = 0

        def on_train_begin(self, _: Any, state: Any, __: Any, **___: Any) -> None:
            self._first = state.global_step

        def on_step_end(self, _: Any, state: Any, control: Any, **__: Any) -> None:
            if state.global_step - self._first >= steps:
                control.should_training_stop = True

    trainer.add_callback(Ending())


def quiet() -> dict[str, Any]:
    """Return arguments for a short training on the CPU that prints nothing."""
    return {
        "output_dir": tempfile.mkdtemp(prefix="ftlab-"),
        "max_steps": STEPS,
        "learning_rate": 1e-3,
        "per_device_train_batch_size": 4,
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_strategy": "no",
        "seed": 42 + current().seed,
    }


def words() -> Any:
    """Build a tokenizer whose words are ``w3`` to ``w127``, one token each."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>"]
    table = special + [f"w{number}" for number in range(len(special), VOCABULARY)]
    model = models.WordLevel({word: i for i, word in enumerate(table)}, "<pad>")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("pad_token", "bos_token", "eos_token"), special, strict=True))
    # Without it transformers 4 gives the ids of segments, which no decoder takes.
    inputs = {"model_input_names": ["input_ids", "attention_mask"]}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names, **inputs)


def dataset(rows: list[dict[str, str]]) -> Any:
    """Make a dataset of the kind that TRL wants."""
    from datasets import Dataset

    return Dataset.from_list(rows)


def texts(count: int = 64, length: int = 10) -> list[str]:
    """Return rows of `builders.tiny.batches` as text for the tokenizer `words`."""
    rows = (batch["input_ids"][0].tolist() for batch in batches(count, 1, length))
    return [" ".join(f"w{number}" for number in row) for row in rows]


def seeded() -> torch.Generator:
    """Return a generator of this variation's seed."""
    return torch.Generator().manual_seed(current().seed)


def folder(owner: Any) -> Path:
    """Make a folder that goes when ``owner`` goes."""
    path = tempfile.mkdtemp(prefix="ftlab-")
    weakref.finalize(owner, shutil.rmtree, path, True)
    return Path(path)
