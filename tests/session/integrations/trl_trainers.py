"""A tiny trainer of every kind that the installed TRL has, made offline."""

import importlib
import tempfile
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.models import batches, tiny_lora
from tests.session.scenarios import seed

TINY = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "pad_token_id": 0,
}
GENERATING = {"max_completion_length": 6}
GROUPS = GENERATING | {"num_generations": 2}
SHORT = {"max_length": 16}


def make(name: str) -> Any:
    """Build the trainer that ``KINDS`` has under ``name``; skip where there is none."""
    module, kind, settings, arguments = KINDS[name]
    try:
        found = importlib.import_module(module)
        trainer = getattr(found, f"{kind}Trainer")
        config = getattr(found, f"{kind}Config", None) or importlib.import_module(
            "trl"
        ).__getattribute__(f"{kind}Config")
    except (ImportError, AttributeError):
        pytest.skip(f"this TRL has no {kind}Trainer in {module}")
    seed()
    made = {"processing_class": tokenizer(), **arguments()}
    built = trainer(args=config(**common(), **settings), **made)
    seed()
    return built


def common() -> dict[str, Any]:
    return {
        "output_dir": tempfile.mkdtemp(),
        "use_cpu": True,
        "bf16": False,
        "report_to": [],
        "max_steps": 3,
        "per_device_train_batch_size": 2,
        "logging_steps": 3,
        "save_strategy": "no",
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "learning_rate": 1e-3,
    }


def tokenizer(*, by_bytes: bool = False) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(128)}, "t3"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    if by_bytes:
        words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        words.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words,
        bos_token="t1",
        eos_token="t2",
        pad_token="t0",
        model_input_names=["input_ids", "attention_mask"],
    )
    made.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    return made


def llama(*, in_folder: bool = False, scores: bool = False) -> Any:
    """Make a plain model; one in a folder can be loaded once more by its name."""
    from transformers import (
        LlamaConfig,
        LlamaForCausalLM,
        LlamaForSequenceClassification,
    )

    torch.manual_seed(0)
    if scores:
        return LlamaForSequenceClassification(LlamaConfig(**TINY, num_labels=1))
    model = LlamaForCausalLM(LlamaConfig(**TINY))
    if in_folder:
        folder = tempfile.mkdtemp()
        model.save_pretrained(folder)
        tokenizer().save_pretrained(folder)
        model.config._name_or_path = model.name_or_path = folder
    return model


def rows(row: Callable[[Any], dict[str, Any]]) -> Any:
    from datasets import Dataset

    texts = [
        [f"t{i}" for i in each["input_ids"][0].tolist()] for each in batches(16, 1)
    ]
    return Dataset.from_list([row(words) for words in texts])


def prompts() -> Any:
    return rows(lambda w: {"prompt": " ".join(w[:6])})


def preferences() -> Any:
    return rows(
        lambda w: {
            "prompt": " ".join(w[:5]),
            "chosen": " ".join(w[5:9]),
            "rejected": " ".join(w[9:12]),
        }
    )


def references() -> Any:
    return preferences().map(lambda row: {"reference": row["chosen"][::-1]})


def ratings() -> Any:
    return rows(
        lambda w: {
            "prompt": " ".join(w[:6]),
            "completion": " ".join(w[6:10]),
            "label": len(w[0]) % 2 == 0,
        }
    )


def messages() -> Any:
    return rows(
        lambda w: {
            "messages": [
                {"role": "user", "content": " ".join(w[:6])},
                {"role": "assistant", "content": " ".join(w[6:10])},
            ]
        }
    )


def hints() -> Any:
    return rows(
        lambda w: {"prompt": " ".join(w[:6]), "privileged_context": " ".join(w[6:9])}
    )


def reward(completions: list[str], **_: Any) -> list[float]:
    return [float(len(each) % 7) for each in completions]


def _lora(data: Callable[[], Any], **more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {
        "model": tiny_lora(lora_dropout=0.1),
        "train_dataset": data(),
        **more,
    }


def _plain(
    data: Callable[[], Any], *others: str, **more: Any
) -> Callable[[], dict[str, Any]]:
    def arguments() -> dict[str, Any]:
        models = {name: llama(in_folder=True) for name in ("model", *others)}
        return {"train_dataset": data(), **models, **more}

    return arguments


def _scores() -> dict[str, Any]:
    return {"model": llama(scores=True), "train_dataset": preferences()}


def _by_bytes() -> dict[str, Any]:
    made = _plain(messages, "teacher_model")()
    return {**made, "processing_class": tokenizer(by_bytes=True)}


Kind = tuple[str, str, dict[str, Any], Callable[[], dict[str, Any]]]
_NEW = "trl.experimental."
KINDS: dict[str, Kind] = {
    "KTO": ("trl", "KTO", SHORT, _lora(ratings)),
    "Reward": ("trl", "Reward", SHORT, _scores),
    "DPO": ("trl", "DPO", SHORT, _lora(preferences)),
    "GRPO": (
        "trl",
        "GRPO",
        GROUPS | {"steps_per_generation": 2},
        _lora(prompts, reward_funcs=reward),
    ),
    "RLOO": ("trl", "RLOO", GROUPS, _lora(prompts, reward_funcs=reward)),
    "Distillation": (
        "trl",
        "Distillation",
        GENERATING,
        _plain(prompts, "teacher_model"),
    ),
    "ORPO": (f"{_NEW}orpo", "ORPO", SHORT, _lora(preferences)),
    "CPO": (f"{_NEW}cpo", "CPO", SHORT, _lora(preferences)),
    "TPO": (f"{_NEW}tpo", "TPO", {"max_length": 24}, _lora(references)),
    "BEMA": (
        f"{_NEW}bema_for_ref_model.dpo_trainer",
        "DPO",
        SHORT,
        _plain(preferences, "ref_model"),
    ),
    "GMPO": (f"{_NEW}gmpo", "GMPO", GROUPS, _lora(prompts, reward_funcs=reward)),
    "A2PO": (f"{_NEW}a2po", "A2PO", GENERATING, _plain(prompts, reward_funcs=reward)),
    "OnlineDPO": (
        f"{_NEW}online_dpo",
        "OnlineDPO",
        {"max_new_tokens": 6, "max_length": 32},
        _plain(prompts, "ref_model", reward_funcs=reward),
    ),
    "GKD": (
        f"{_NEW}gkd",
        "GKD",
        {"max_length": 24, "max_new_tokens": 4, "lmbda": 0.7},
        _plain(messages, "teacher_model"),
    ),
    "GOLD": (
        f"{_NEW}gold",
        "GOLD",
        {
            "max_length": 24,
            "max_completion_length": 4,
            "lmbda": 0.7,
            "use_uld_loss": False,
        },
        _by_bytes,
    ),
    "SDFT": (f"{_NEW}sdft", "SDFT", GROUPS, _plain(hints)),
    "SDPO": (f"{_NEW}sdpo", "SDPO", GROUPS, _plain(prompts, reward_funcs=reward)),
    "IWOPD": (f"{_NEW}iw_opd", "IWOPD", GENERATING, _plain(messages, "teacher_model")),
}
"""Module, class, settings and arguments of each kind, by name."""
