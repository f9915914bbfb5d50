"""Trainers of TRL whose losses are made of log-probabilities, not of logits."""

import tempfile
from typing import Any

import torch

import ftlab
from ftlab.session.debugging.debugger import Debugger
from tests.models import tiny_lora
from tests.session.scenarios import seed


def dpo_trainer(**settings: Any) -> Any:
    """Three pairs of answers of different lengths in each batch."""
    import trl
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    seed()
    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(128)}, "t3"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    drawn = torch.Generator().manual_seed(0)

    def text(length: int) -> str:
        ids = torch.randint(4, 128, (length,), generator=drawn).tolist()
        return " ".join(f"t{i}" for i in ids)

    rows = [
        {
            "prompt": text(4),
            "chosen": " " + text(3 + index % 5),
            "rejected": " " + text(2 + index % 4),
        }
        for index in range(12)
    ]
    arguments = {
        "output_dir": tempfile.mkdtemp(),
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "max_steps": 4,
        "per_device_train_batch_size": 3,
        "gradient_checkpointing": False,
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "learning_rate": 1e-2,
    }
    return trl.DPOTrainer(
        model=tiny_lora(),
        args=trl.DPOConfig(**(arguments | settings)),
        train_dataset=Dataset.from_list(rows),
        processing_class=PreTrainedTokenizerFast(
            tokenizer_object=words, eos_token="t2", pad_token="t0"
        ),
    )


def paused(built: Any, at: int = 2) -> Debugger:
    """Make a debugger that stops ``built`` at the end of call ``at`` of its step."""
    step, calls = built.training_step, []

    def training_step(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        if len(calls) == at + 1:
            dbg.interrupt()
        return step(*args, **kwargs)

    built.training_step = training_step
    dbg = ftlab.debug(built)
    return dbg
