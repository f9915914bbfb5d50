"""Trainings that checkpoints are made of: real models, optimizers and trainers."""

import warnings
from collections.abc import Callable
from typing import Any

import torch

from tests.models import Rows, batches, tiny_4bit, tiny_llama, tiny_lora
from tests.versions import older_than

EXACT = not older_than("transformers", "5")
"""Before, a Trainer that resumes within its second epoch draws that in another order.

It does so from its own checkpoints as well.
"""


class Loop:
    """A hand-written loop, with dropout where the model has any."""

    def __init__(self, model: Any, **settings: Any) -> None:
        self.model = model
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-2, **settings)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 2, gamma=0.7)

    def train(self, first: int, last: int) -> list[float]:
        return [self.step(batch) for batch in list(batches(last))[first:]]

    def step(self, batch: Any, factor: float = 1.0) -> float:
        self.optimizer.zero_grad()
        loss = self.model(**batch).loss * factor
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    @property
    def parts(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer, "scheduler": self.scheduler}

    def state(self) -> list[Any]:
        """Everything that training changes, as text of its bits."""
        weights = dict(self.model.named_parameters())
        moments = [
            (name, state[name].tolist())
            for state in self.optimizer.state.values()
            for name in state
        ]
        return [
            {n: p.float().tolist() for n, p in weights.items() if p.requires_grad},
            moments,
            self.scheduler.state_dict(),
            torch.get_rng_state().tolist(),
        ]


def four_bits(folder: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tiny_lora(tiny_4bit(folder / "base"), lora_dropout=0.1)


def lora(_: Any) -> Any:
    return tiny_lora(lora_dropout=0.1)


def tied(_: Any) -> Any:
    return tiny_llama(tie_word_embeddings=True, attention_dropout=0.1)


def half(_: Any) -> Any:
    return tiny_llama().bfloat16()


def beside(_: Any) -> Any:
    """LoRA, and a weight of the base that trains and is in no adapter's file."""
    model = tiny_lora()
    model.base_model.model.model.norm.weight.requires_grad_(True)
    return model


MODELS: dict[str, Callable[[Any], Any]] = {
    "lora": lora,
    "qlora": four_bits,
    "tied": tied,
    "half": half,
    "beside": beside,
}


def loop(kind: str, folder: Any) -> Loop:
    torch.manual_seed(0)
    made = Loop(MODELS[kind](folder))
    made.model.train()
    torch.manual_seed(1)
    return made


def trainer(folder: Any, kind: Any = None, **settings: Any) -> Any:
    from transformers import Trainer, TrainingArguments

    arguments = {
        "max_steps": 8,
        "per_device_train_batch_size": 4,
        "gradient_accumulation_steps": 2,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "cosine",
        "use_cpu": True,
        "report_to": [],
        "logging_steps": 1,
        "disable_tqdm": True,
        "save_strategy": "no",
    }
    args = TrainingArguments(output_dir=str(folder / "out"), **(arguments | settings))
    model = tiny_lora(lora_dropout=0.1)
    return (kind or Trainer)(model=model, args=args, train_dataset=Rows(24))


def state_of(made: Any) -> list[Any]:
    """Everything that a trainer's training changes."""
    named = made.model.named_parameters()
    states = getattr(made.optimizer, "optimizer", made.optimizer).state.values()
    return [
        {name: p.tolist() for name, p in named if p.requires_grad},
        [[v.tolist() for v in state.values()] for state in states],
        made.lr_scheduler.state_dict(),
        [row["loss"] for row in made.state.log_history if "loss" in row],
        torch.get_rng_state().tolist(),
    ]
