"""What `ftlab.prove` says of the gallery's healthy runs: nothing may be told broken.

Each healthy run is built with a seed and in a precision, and every experiment is tried
on its trainer, or on its model and first batch. Runs whose batch the model cannot be
called with by keyword are counted apart. Precisions:

- ``float32``: as the run is
- ``bf16``: the loss under autocast to bfloat16; a trainer gets ``bf16=True``
- ``4bit``: the linear layers below an adapter are put into four bits (NF4) before the
  adapter is built; runs without an adapter, or whose script does not stand it, are
  counted apart

One line for each relation told broken, then a table of experiment by answer.

    python -m benchmarks.healthy_proofs --seeds 0 1 2 --precisions float32 bf16 4bit
"""

import argparse
import contextlib
import io
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch

import ftlab
from ftlab.faults.gradient.flow.healthy_four_bit_base import four_bit
from ftlab.faults.registry import list_healthy
from ftlab.faults.variation import Variation, varied

PRECISIONS = ("float32", "bf16", "4bit")


@contextlib.contextmanager
def built_in(precision: str) -> Iterator[list[str]]:
    """Let what is built within be built in a precision; yields what was changed."""
    from peft import PeftModel
    from transformers import TrainingArguments

    changed: list[str] = []
    init, after = PeftModel.__init__, TrainingArguments.__post_init__

    def quantised(self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        # an adapter on an adapter keeps the base that it has
        if not getattr(model, "is_loaded_in_4bit", False):
            model = four_bit(model)
            changed.append("4bit")
        init(self, model, *args, **kwargs)

    def in_bf16(self: Any) -> None:
        if not self.fp16 and not self.bf16_full_eval:
            self.bf16 = True
        after(self)

    if precision == "4bit":
        PeftModel.__init__ = quantised
    elif precision == "bf16":
        TrainingArguments.__post_init__ = in_bf16
    try:
        yield changed
    finally:
        PeftModel.__init__, TrainingArguments.__post_init__ = init, after


def under_autocast(model: Any, batch: Mapping[str, Any]) -> torch.Tensor:
    """Return the model's own loss under autocast to bfloat16."""
    with torch.autocast("cpu", torch.bfloat16):
        loss: torch.Tensor = model(**batch).loss
    return loss


def proven(case: Any, precision: str, only: list[str] | None) -> Any:
    """Return the proof of a case, ``None`` where it has no batch by keyword."""
    if case.trainer is not None:
        return ftlab.prove(case.trainer, only=only)
    batch = next(iter(case.batches), None)
    if not isinstance(batch, Mapping):
        return None
    loss = under_autocast if precision == "bf16" else None
    return ftlab.prove(
        case.model, optimizer=case.optimizer, batch=batch, loss=loss, only=only
    )


def asked(precision: str, seed: int, runs: Any, only: list[str] | None) -> Counter[str]:
    """Prove runs in one precision; print what is told broken."""
    counts: Counter[str] = Counter()
    silent = io.StringIO()
    for run in runs:
        began = time.time()
        try:
            with contextlib.redirect_stderr(silent), contextlib.redirect_stdout(silent):
                with varied(Variation(seed=seed)), built_in(precision) as changed:
                    case = run.build()
                if precision == "4bit" and not changed:
                    counts["(no adapter)"] += 1
                    continue
                proof = proven(case, precision, only)
        except Exception as error:  # noqa: BLE001  not every script stands a precision
            what = type(error).__name__
            counts["(not built or not called)"] += 1
            print(f"- {run.id}: {what}: {str(error)[:150]!r}", flush=True)
            continue
        if proof is None:
            counts["(no batch by keyword)"] += 1
            continue
        counts["(proven)"] += 1
        for each in proof:
            counts[f"{each.code} {each.name}: {each.state}"] += 1
            if each.state == "broken":
                took = f"{time.time() - began:.1f} s"
                print(f"BROKEN {run.id} | {each.name} | {each.says} | {took}")
            elif each.state == "cannot be decided":
                print(f"undecided {run.id} | {each.name} | {each.says[:160]}")
    return counts


def main() -> None:
    """Prove all healthy runs, or every n-th, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--precisions", nargs="*", default=["float32"])
    parser.add_argument("--only", nargs="*", help="codes or names of experiments")
    parser.add_argument("--part", default="0/1", help="k/n: every n-th run from k on")
    chosen = parser.parse_args()
    unknown = set(chosen.precisions) - set(PRECISIONS)
    if unknown:
        parser.error(f"no precision {sorted(unknown)}; there are {PRECISIONS}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    first, step = (int(part) for part in chosen.part.split("/"))
    runs = list_healthy()[first::step]
    for precision in chosen.precisions:
        for seed in chosen.seeds:
            began = time.time()
            counts = asked(precision, seed, runs, chosen.only)
            took = time.time() - began
            print(f"\n{precision}, seed {seed}, {len(runs)} runs, {took:.0f} s")
            for name in sorted(counts):
                print(f"{counts[name]:6} {name}")
            print(flush=True)


if __name__ == "__main__":
    main()
