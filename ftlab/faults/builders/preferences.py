"""Preference training: rows against others, and a model to stay near to."""

import itertools
from collections.abc import Callable
from typing import Any

import torch

from ftlab.faults.builders.chats import chats, sized
from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.tiny import VOCABULARY, Batch, adamw, batches
from ftlab.faults.builders.trainers import case_of, dataset, quiet, texts
from ftlab.faults.fault import Case, StepFunction
from ftlab.faults.variation import current


def log_chance(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each row."""
    shares = model(input_ids=ids).logits[:, :-1].log_softmax(-1)
    return shares.gather(-1, ids[:, 1:, None]).sum((1, 2))


def pairs() -> list[Batch]:
    """Return batches of rows that follow the rule, and of rows that do not."""
    dice = torch.Generator().manual_seed(1000 * current().seed)
    made = []
    for batch in batches():
        good = batch["input_ids"]
        bad = torch.randint(3, VOCABULARY, good.shape, generator=dice)
        made.append({"good": good, "bad": bad})
    return made


def preferring(
    model: Any, optimizer: Any, before: Callable[[torch.Tensor], torch.Tensor]
) -> StepFunction:
    """Return a loop body that makes good rows likelier than bad ones, by DPO.

    Parameters
    ----------
    before
        Gives the log-probability of each row in the reference.
    """

    def loss_of(batch: Any) -> torch.Tensor:
        ids = torch.cat([batch["good"], batch["bad"]])
        with torch.no_grad():
            kept = before(ids)
        more, less = (log_chance(model, ids) - kept).chunk(2)
        return -torch.nn.functional.logsigmoid(0.1 * (more - less)).mean()

    return loss_step(loss_of, optimizer)


def near_itself(model: Any, called: Any, *, off: bool) -> Case:
    """Make the case of DPO whose reference is the policy's own model.

    Parameters
    ----------
    called
        Gives the reference's logits: the model itself, or the base below the adapter.
    off
        Whether the adapter is switched off for the reference.
    """

    def before(ids: torch.Tensor) -> torch.Tensor:
        if off:
            with model.disable_adapter():
                return log_chance(called, ids)
        return log_chance(called, ids)

    optimizer = adamw(model)
    return Case(model, optimizer, pairs(), preferring(model, optimizer, before))


def rated_texts() -> list[dict[str, str]]:
    """Return beginnings of rows, each with its own end and with another one's."""
    cut = [row.split() for row in texts()]
    return [
        {
            "prompt": " ".join(one[:4]),
            "chosen": " " + " ".join(one[4:]),
            "rejected": " " + " ".join(two[4:]),
        }
        for one, two in itertools.pairwise(cut)
    ]


def rated_answers(opening: str = "") -> list[dict[str, str]]:
    """Return questions, each with its answer and another one's behind an opening."""
    talks = chats()
    return [
        {
            "prompt": f"### Question\n{question['content']}\n### Answer\n",
            "chosen": f"{opening} {answer['content']}",
            "rejected": f"{opening} {other['content']}",
        }
        for (question, answer), (_, other) in zip(
            talks, [*talks[1:], talks[0]], strict=True
        )
    ]


def preferred_by_dpo(made: Any, rows: list[dict[str, str]], **settings: Any) -> Case:
    """Make the case of TRL's DPOTrainer, with a copy of the model as its reference.

    Parameters
    ----------
    made
        The tokenizer.
    """
    from trl import DPOConfig, DPOTrainer

    options = {"max_steps": 6, "beta": 0.1, "gradient_checkpointing": False} | settings
    trainer = DPOTrainer(
        sized(made),
        ref_model=sized(made),
        args=DPOConfig(**quiet() | options),
        train_dataset=dataset(rows),
        processing_class=made,
    )
    return case_of(trainer)
