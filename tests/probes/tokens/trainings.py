"""Trainings of each kind of collator, built anew from one seed each time."""

import random
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

from tests.models import tiny_llama
from tests.probes.tokens import vocabularies

GENERATION = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] + '<|im_end|>' }}"
    "{% endgeneration %}{% else %}{{ m['content'] + '<|im_end|>' }}{% endif %}"
    "{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WORDS = ("prime", "number", "Größe", "日本", "Привет", "brown fox", "one", "🙂")


def seed() -> None:
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)


def talks(count: int = 12) -> list[dict[str, Any]]:
    made = []
    for at in range(count):
        question = " ".join(WORDS[(at + k) % 8] for k in range(1 + at % 5))
        answer = " ".join(WORDS[(at * 3 + k) % 8] for k in range(2 + at % 4))
        made.append(
            {
                "messages": [
                    {"role": "user", "content": question},
                    {"role": "assistant", "content": answer},
                ]
            }
        )
    return made


def tokenised() -> list[dict[str, Any]]:
    tokenizer = vocabularies.byte_level()
    texts = [each["messages"][1]["content"] for each in talks()]
    return [{"input_ids": tokenizer(text)["input_ids"]} for text in texts]


class OwnCollator:
    """Counts its calls, draws from generators of its own, and drops tokens by them."""

    def __init__(self) -> None:
        self.calls = 0
        self.seen: list[int] = []
        self.random = random.Random(1)
        self.numpy = np.random.default_rng(1)
        self.torch = torch.Generator().manual_seed(1)

    def __call__(self, rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        self.calls += 1
        self.seen.append(len(rows))
        length = max(len(row["input_ids"]) for row in rows)
        ids = torch.zeros(len(rows), length, dtype=torch.long)
        labels = torch.full_like(ids, -100)
        for at, row in enumerate(rows):
            own = torch.tensor(row["input_ids"])
            ids[at, : len(own)] = labels[at, : len(own)] = own
        drop = torch.rand(ids.shape, generator=self.torch) < 0.2
        drop |= torch.tensor(self.numpy.random(ids.shape) < 0.1)
        labels[drop] = -100
        labels[:, self.random.randrange(length)] = -100
        labels[:, np.random.randint(length)] = -100
        labels[:, random.randrange(length)] = -100
        mask = (torch.arange(length) < (ids != 0).sum(1, keepdim=True)).long()
        return {"input_ids": ids, "labels": labels, "attention_mask": mask}


class Stream(torch.utils.data.IterableDataset):
    """Rows in an order that it draws, anew in each epoch."""

    def __init__(self) -> None:
        self.rows = tokenised()
        self.epoch = 0
        self.random = random.Random(5)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        rows = list(self.rows)
        self.random.shuffle(rows)
        yield from rows[self.epoch :]


def _arguments(kind: Any = TrainingArguments, **settings: Any) -> Any:
    given = {
        "output_dir": tempfile.mkdtemp(),
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "max_steps": 4,
        "per_device_train_batch_size": 2,
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "learning_rate": 1e-2,
    }
    return kind(**given | settings)


def _model() -> torch.nn.Module:
    return tiny_llama(vocab_size=512, max_position_embeddings=1024)


def plain(collator: Any = None, rows: Any = None, **settings: Any) -> Trainer:
    seed()
    tokenizer = vocabularies.byte_level()
    return Trainer(
        model=_model(),
        args=_arguments(**settings),
        train_dataset=rows if rows is not None else Dataset.from_list(tokenised()),
        data_collator=collator or OwnCollator(),
        processing_class=tokenizer,
    )


def masked() -> Trainer:
    tokenizer = vocabularies.byte_level()
    return plain(DataCollatorForLanguageModeling(tokenizer, mlm=False))


def masked_at_random() -> Trainer:
    tokenizer = vocabularies.byte_level()
    tokenizer.mask_token = "<|im_start|>"
    return plain(DataCollatorForLanguageModeling(tokenizer, mlm=True, seed=7))


def sft(rows: Any = None, template: str = GENERATION, **settings: Any) -> Any:
    import trl

    seed()
    tokenizer = vocabularies.byte_level()
    tokenizer.chat_template = template
    return trl.SFTTrainer(
        model=_model(),
        args=_arguments(
            trl.SFTConfig,
            **{"max_length": 48, "gradient_checkpointing": False} | settings,
        ),
        train_dataset=Dataset.from_list(rows or talks()),
        processing_class=tokenizer,
    )


def completions() -> Any:
    rows = [
        {"prompt": each["messages"][:1], "completion": each["messages"][1:]}
        for each in talks()
    ]
    return sft(rows, completion_only_loss=True)


TRAINERS: dict[str, Callable[[], Any]] = {
    "hand-written": plain,
    "language modelling": masked,
    "random masks": masked_at_random,
    "seeded sampler": lambda: plain(data_seed=4),
    "stream": lambda: plain(rows=Stream()),
    "completion only": completions,
    "assistant only": lambda: sft(assistant_only_loss=True),
    "packing bfd": lambda: sft(packing=True, packing_strategy="bfd"),
    "packing wrapped": lambda: sft(packing=True, packing_strategy="wrapped"),
    "padding free": lambda: sft(padding_free=True, max_length=None),
}
