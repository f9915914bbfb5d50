"""Ways to fine-tune, each built twice from one seed to compare runs bit for bit."""

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parametrizations, parametrize

from tests.models import Rows, batches, tiny_4bit, tiny_llama, tiny_lora

STEPS = 6


@dataclass
class Loop:
    """A hand-written loop: ``step`` trains on one batch and returns its loss."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    step: Callable[[dict[str, torch.Tensor]], torch.Tensor]
    scaler: Any = None


def _adamw(model: torch.nn.Module, **settings: Any) -> torch.optim.AdamW:
    trained = [p for p in model.parameters() if p.requires_grad]
    return torch.optim.AdamW(trained, lr=1e-2, **settings)


def full_fine_tuning() -> Loop:
    model = tiny_llama()
    return _plain(model)


def _plain(model: torch.nn.Module) -> Loop:
    optimizer = _adamw(model)

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step)


def dropout() -> Loop:
    model = tiny_lora(tiny_llama(attention_dropout=0.2), lora_dropout=0.3)
    return _plain(model.train())


def accumulation() -> Loop:
    model = tiny_lora(lora_dropout=0.1).train()
    optimizer = _adamw(model)
    seen = 0

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        nonlocal seen
        loss = model(**batch).loss / 3
        loss.backward()
        seen += 1
        if seen % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return Loop(model, optimizer, step)


def autocast() -> Loop:
    model = tiny_lora(lora_dropout=0.1).train()
    optimizer = _adamw(model)

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step)


def grad_scaler(*, fused: bool = False, unscale: bool = True) -> Loop:
    model = tiny_lora().train()
    optimizer = _adamw(model, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=2)

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(**batch).loss
        scaler.scale(loss).backward()
        if unscale:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return Loop(model, optimizer, step, scaler)


def grad_scaler_fused() -> Loop:
    return grad_scaler(fused=True, unscale=False)


def four_bit() -> Loop:
    with tempfile.TemporaryDirectory() as folder:
        base = tiny_4bit(folder)
    return _plain(tiny_lora(base, lora_dropout=0.1).train())


class DropsWeights(torch.nn.Module):
    """A parametrization that draws each time the weight is asked for."""

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(weight, 0.2)


def parametrized() -> Loop:
    model = tiny_llama()
    for block in model.model.layers:
        parametrizations.spectral_norm(block.mlp.down_proj)
        parametrizations.weight_norm(block.mlp.up_proj)
        parametrize.register_parametrization(
            block.mlp.gate_proj, "weight", DropsWeights(), unsafe=True
        )
    parametrizations.spectral_norm(model.lm_head)
    return _plain(model)


def checkpointing(*, reentrant: bool = False) -> Loop:
    base = tiny_llama(attention_dropout=0.1)
    base.gradient_checkpointing_enable({"use_reentrant": reentrant})
    base.enable_input_require_grads()
    return _plain(tiny_lora(base, lora_dropout=0.1).train())


def checkpointing_reentrant() -> Loop:
    return checkpointing(reentrant=True)


def compiled(backend: str = "aot_eager") -> Loop:
    model = tiny_llama()
    optimizer = _adamw(model)
    torch._dynamo.reset()
    quick = torch.compile(model, backend=backend)

    def step(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        optimizer.zero_grad()
        loss = quick(**batch).loss
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Loop(model, optimizer, step)


def trainer(model: Any = None, **overrides: Any) -> Any:
    from transformers import Trainer, TrainingArguments

    settings = {
        "output_dir": tempfile.mkdtemp(),
        "use_cpu": True,
        "report_to": [],
        "max_steps": STEPS,
        "per_device_train_batch_size": 2,
        "learning_rate": 1e-2,
        "logging_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
        "seed": 0,
    }
    return Trainer(
        model=tiny_lora(lora_dropout=0.2) if model is None else model,
        args=TrainingArguments(**(settings | overrides)),
        train_dataset=Rows(),
        eval_dataset=Rows(8, seed=1),
    )


def sft_trainer() -> Any:
    import trl
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    seed()
    words = Tokenizer(models.WordLevel({f"t{i}": i for i in range(128)}, "t3"))
    built = trl.SFTTrainer(
        model=tiny_lora(lora_dropout=0.1),
        args=trl.SFTConfig(
            output_dir=tempfile.mkdtemp(),
            use_cpu=True,
            bf16=False,
            report_to=[],
            max_steps=3,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            gradient_checkpointing=False,
            logging_steps=3,
            save_strategy="no",
            disable_tqdm=True,
            max_length=16,
        ),
        train_dataset=Dataset.from_list(
            [
                {"input_ids": [4 + number, *b["input_ids"][0].tolist()]}
                for number, b in enumerate(batches(16, 1))
            ]
        ),
        processing_class=PreTrainedTokenizerFast(
            tokenizer_object=words, eos_token="t2", pad_token="t0"
        ),
    )
    seed()
    return built


LOOPS: dict[str, Callable[[], Loop]] = {
    make.__name__: make
    for make in (
        full_fine_tuning,
        dropout,
        accumulation,
        autocast,
        grad_scaler,
        grad_scaler_fused,
        four_bit,
        checkpointing,
        checkpointing_reentrant,
        parametrized,
    )
}
TRAINERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulation": {"gradient_accumulation_steps": 3, "max_steps": 3},
    "bf16": {"bf16": True},
    "checkpointing": {
        "gradient_checkpointing": True,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
    },
}


def interrupts_at(step: int, dbg: Any) -> Any:
    """Return a callback of a Trainer that interrupts it at this step."""
    from transformers import TrainerCallback

    class Interrupts(TrainerCallback):
        def on_step_begin(self, args, state, control, **options):
            if state.global_step == step:
                dbg.interrupt()

    return Interrupts()


def seed() -> None:
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def feed(count: int = STEPS) -> list[dict[str, torch.Tensor]]:
    return list(batches(count))


def state_of(model: Any, optimizer: Any, losses: list[float]) -> dict[str, Any]:
    """Everything that must be bit-equal, as plain bytes and numbers."""
    weights = {name: _bytes(value) for name, value in model.state_dict().items()}
    moments = {
        f"{index}.{name}": _bytes(value) if torch.is_tensor(value) else value
        for index, each in enumerate(optimizer.state.values())
        for name, value in each.items()
    }
    return {
        "losses": losses,
        "weights": weights,
        "moments": moments,
        "torch": _bytes(torch.get_rng_state()),
        "python": random.getstate(),
        "numpy": [np.asarray(part).tolist() for part in np.random.get_state()],
    }


def _bytes(tensor: torch.Tensor) -> bytes:
    return (
        tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    )
