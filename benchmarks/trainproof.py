"""Six configurations of a QLoRA run, of which five are broken in one place each.

They are those of trainproof's published runs (github.com/Mormolykos/trainproof,
examples/gallery), small: a Llama of two layers that knows one language of random words
is put into four bits (NF4) and trained with LoRA and transformers' Trainer on another
language, with 512 samples in 120 steps, and others held out.

- ``healthy``: LoRA r=8 at 2e-3, cosine, clipped at 1
- ``lr_hot``: the learning rate times 100
- ``lr_zero``: the learning rate 0
- ``fp16_nan``: float16, learning rate times 100, no clipping
- ``bad_labels``: the labels of each sample shuffled
- ``overfit``: 64 samples in 38 epochs, as many as there

Each is watched with all rules and nothing to compare it with. One line for each seed:
what ftlab says as a warning or worse, and at which step it says so first. *Right* is
silence on ``healthy`` and a finding of one of the expected rules on the others.

    python -m benchmarks.trainproof --seeds 3
"""

import argparse
import functools
import io
import json
import math
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch

from ftlab.faults.builders.tiny import VOCABULARY, Batch, llama
from ftlab.faults.builders.trainers import trained
from ftlab.faults.gradient.flow.healthy_four_bit_base import four_bit
from ftlab.records.finding import Severity
from ftlab.session.scoring.record import Watched, watch_case

EXPECTED: dict[str, frozenset[str]] = {
    "healthy": frozenset(),
    "lr_hot": frozenset({"OPT014", "NUM026"}),
    "lr_zero": frozenset({"OPT001", "OPT005", "OPT013", "NUM003", "ADP001"}),
    "fp16_nan": frozenset({"NUM001", "NUM004", "NUM026", "OPT014"}),
    "bad_labels": frozenset({"NUM026"}),
    "overfit": frozenset({"NUM025"}),
}
"""Rules of which one must speak, as a warning or worse."""

RATE, LENGTH = 2e-3, 24
STEPS = {"overfit": 304}
"""Steps, where they are not 120."""

WAYS, SHARPNESS = 6, 1.5
"""Words that may follow a word, and how unequal their chances are."""


def language(seed: int) -> torch.Tensor:
    """Draw the chances of each word to follow each other one."""
    dice = torch.Generator().manual_seed(seed)
    chances = torch.full((VOCABULARY, VOCABULARY), -math.inf)
    for word in range(VOCABULARY):
        after = torch.randperm(VOCABULARY - 3, generator=dice)[:WAYS] + 3
        chances[word, after] = SHARPNESS * torch.randn(WAYS, generator=dice)
    return chances.softmax(1)


def samples(chances: torch.Tensor, count: int, seed: int) -> list[Batch]:
    """Write sentences of a language."""
    dice = torch.Generator().manual_seed(seed)
    words = [torch.randint(3, VOCABULARY, (count,), generator=dice)]
    while len(words) < LENGTH:
        words.append(torch.multinomial(chances[words[-1]], 1, generator=dice)[:, 0])
    rows = torch.stack(words, 1)
    return [{"input_ids": row, "labels": row.clone()} for row in rows]


@functools.cache
def pretrained(seed: int) -> dict[str, torch.Tensor]:
    """Teach a model the first language; return its weights."""
    torch.manual_seed(seed)
    model = llama(hidden_size=128)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    rows = samples(language(seed), 3200, seed)
    for start in range(0, len(rows), 16):
        ids = torch.stack([row["input_ids"] for row in rows[start : start + 16]])
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    return dict(model.state_dict())


def quantised(seed: int) -> Any:
    """Put LoRA on the pretrained model in four bits."""
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    model = llama(hidden_size=128)
    model.load_state_dict(pretrained(seed))
    model = prepare_model_for_kbit_training(
        four_bit(model), gradient_checkpointing_kwargs={"use_reentrant": False}
    )
    torch.manual_seed(seed)
    config = LoraConfig(
        r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return get_peft_model(model, config)


def shuffled(rows: list[Batch], seed: int) -> list[Batch]:
    """Shuffle the labels of each sample."""
    dice = torch.Generator().manual_seed(seed)
    return [
        row | {"labels": row["labels"][torch.randperm(LENGTH, generator=dice)]}
        for row in rows
    ]


def prepared(name: str, seed: int) -> Any:
    """Make the case of one configuration."""
    # Three words of four are followed by what they are in the language it knows.
    chances, known = language(seed + 100), language(seed)
    chances[VOCABULARY // 4 :] = known[VOCABULARY // 4 :]
    rows = samples(chances, 64 if name == "overfit" else 512, seed + 1)
    held_out = samples(chances, 64, seed + 2)
    if name == "bad_labels":
        rows = shuffled(rows, seed)
    rate = {"lr_hot": 100 * RATE, "lr_zero": 0.0, "fp16_nan": 100 * RATE}
    half = name == "fp16_nan"
    return trained(
        quantised(seed),
        rows=rows,
        max_steps=STEPS.get(name, 120),
        learning_rate=rate.get(name, RATE),
        lr_scheduler_type="cosine",
        warmup_steps=5,
        max_grad_norm=0.0 if half else 1.0,
        bf16=not half,
        fp16=half,
        per_device_train_batch_size=8,
        eval_strategy="steps",
        eval_steps=10,
        logging_strategy="steps",
        logging_steps=10,
        seed=seed,
        trainer={"eval_dataset": held_out},
    )


def watch(name: str, seed: int) -> Watched:
    """Train one configuration, watched."""
    with (
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        return watch_case(prepared(name, seed), STEPS.get(name, 120))


def row_of(name: str, seed: int) -> dict[str, Any]:
    """Judge one run."""
    began = time.perf_counter()
    watched = watch(name, seed)
    loud = {
        each.code: watched.found_at.get(each.code, each.first_step)
        for each in watched.report.findings
        if each.severity >= Severity.WARNING
    }
    expected = EXPECTED[name]
    losses = [float(loss) for loss in watched.run.steps["loss"]]
    evaluations = [e.metrics["eval_loss"] for e in watched.run.evaluations]
    return {
        "configuration": name,
        "seed": seed,
        "says": loud,
        "notes": sorted({e.code for e in watched.report.findings} - set(loud)),
        "right": bool(expected & set(loud)) if expected else not loud,
        "losses": [losses[0], max(losses), losses[-1]] if losses else [],
        "curve": losses[::8],
        "evaluations": evaluations[:: max(1, len(evaluations) // 4)],
        "error": repr(watched.error) if watched.error else "",
        "seconds": time.perf_counter() - began,
    }


def line(row: dict[str, Any]) -> str:
    """Show one run."""
    said = ", ".join(f"{code} (step {at})" for code, at in row["says"].items())
    first, most, last = (f"{loss:.2f}" for loss in row["losses"])
    right = "right" if row["right"] else "WRONG"
    return (
        f"{row['configuration']:11} {row['seed']:4} {right}  {said or 'nothing'};"
        f" loss {first}, at most {most}, at last {last}"
        + (f"; {row['error']}" if row["error"] else "")
    )


def main(show: Callable[[str], None] = print) -> None:
    """Run the configurations and print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(EXPECTED))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for seed in range(42, 42 + options.seeds):
        for name in options.only or EXPECTED:
            rows.append(row_of(name, seed))
            show(line(rows[-1]))
    show(f"{sum(row['right'] for row in rows)} of {len(rows)} runs judged rightly")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
