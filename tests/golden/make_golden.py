"""Makes the golden run of a schema: ``python tests/golden/make_golden.py``.

The stored run is never made anew for a schema that was released: it is what proves that
later versions still read it. Run this only while a new schema is being drawn up.
"""

import itertools
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ftlab.records.event import Event
from ftlab.records.facts import Facts
from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, Column, Evaluation, LedgerEntry, StepRecord
from ftlab.runlog.codec import finding_event
from ftlab.runlog.run import Run
from ftlab.runlog.schema import VERSION
from ftlab.runlog.segment import Limits
from ftlab.runlog.writer import LogWriter

HERE = Path(__file__).parent
FOLDER = HERE / f"schema-{VERSION}"
STEPS = 80
START = 1_763_629_200.0


def names() -> list[NameRecord]:
    """Return the names of the run; the last two appear on the way."""
    weight = {
        "role": "lora_A",
        "adapter": "default",
        "module": "layers.0.q",
        "group": 0,
    }
    pair = {"role": "lora_pair", "adapter": "default", "a": 0, "b": 1, "scaling": 2.0}
    return [
        NameRecord(
            0, "tensors", "layers.0.q.A", "param", "layers.0", (4, 8), meta=weight
        ),
        NameRecord(
            1, "tensors", "layers.0.q.B", "param", "layers.0", (8, 4), "float32"
        ),
        NameRecord(2, "tensors", "head.ü", "param", "head", (8,), "bfloat16"),
        NameRecord(
            3, "adapters", "layers.0.q [default]", "adapter", "layers.0", meta=pair
        ),
        NameRecord(4, "tensors", "layers.1.q.A", "param", "layers.1", since_step=40),
        NameRecord(
            2,
            "tensors",
            "head.ü",
            "param",
            "head",
            (8,),
            trainable=False,
            since_step=60,
        ),
    ]


def facts() -> list[Facts]:
    """Return what was read before the run, and what had changed at step 40."""
    first = Facts(
        versions={"torch": "2.13.0"},
        model={"class": "Tiny", "peft": {"default": {"r": 4}}, "tied": [["a", "b"]]},
        optimizers=({"class": "AdamW", "groups": [{"lr": 0.5, "ids": [0, 1]}]},),
        schedulers=({"class": "LambdaLR", "optimizer_index": 0},),
        training={"gradient_accumulation_steps": 2, "max_steps": STEPS},
    )
    return [first, Facts(step=40, model={"class": "Tiny", "trainable": 4})]


def finding(first: int, last: int) -> Finding:
    """Return a finding whose evidence holds every type it may hold."""
    return Finding(
        code="NUM001",
        name="non-finite-loss",
        severity=Severity.ERROR,
        message=f"The loss is NaN from step {first} on.",
        cause="The cause.",
        fix="The fix.",
        places=(Place("step", str(first)), Place("param", "layers.0.q.A")),
        first_step=first,
        last_step=last,
        evidence={"threshold": 1.5, "seen": float("nan"), "count": 3, "what": "text"},
        healthy="A finite loss.",
    )


def tensors(step: int) -> Iterator[Block]:
    """Yield the rows of the tables at one step."""
    ids = np.array([0, 1, 2] if step < 40 else [0, 1, 2, 4], np.int32)
    lines = ids + np.float32(step) / 16
    has_grad = np.ones(len(ids), np.float32)
    grad = np.where(ids == step % 11, np.inf, lines).astype(np.float32)
    if step >= 60:
        has_grad[2], grad[2] = 0, np.nan
    yield Block("tensors", step, ids, {"has_grad": has_grad, "grad_l2": grad})
    if step % 16 == 0:
        yield Block("tensors", step, ids, {"weight_l2": lines * 4})
        row = np.array([3], np.int32)
        pair = {"ba_l2": np.array([step / 8], np.float32), "ratio": lines[:1] / 2}
        yield Block("adapters", step, row, pair)
    if step % 40 == 0:
        module = {"act_rms": np.array([0.25], np.float32)}
        yield Block("activations", step, np.array([9], np.int32), module)
        mine = {"height": np.array([step], np.float32)}
        yield Block("mine", step, np.array([0], np.int32), mine)


def ledger(step: int) -> list[LedgerEntry]:
    """Return the order of operations of one step."""
    detail = {"max_norm": 1.0, "norm": float("inf")}
    return [
        LedgerEntry(step, 0, "forward", "model", {"mode": "train"}),
        LedgerEntry(step, 1, "backward", "loss", {"micro": 0}),
        LedgerEntry(step, 2, "clip", "", detail),
        LedgerEntry(step, 3, "skip" if step == 5 else "step", "optimizer 0"),
    ]


def row(step: int) -> StepRecord:
    """Return a step's own row: step 5 is skipped, the loss is NaN from step 70 on."""
    values: dict[str, float] = {"tokens": 64.0 + step}
    if step >= 40:
        values["rss"] = 2.0**30
    return StepRecord(
        step,
        START + step,
        loss=None if step == 3 else float("nan") if step >= 70 else 4 / (1 + step),
        lr=(0.5,) if step < 40 else (0.5, 0.25),
        grad_norm=step / 4,
        clip_norm=1.0 if step % 2 else None,
        loss_scale=65536.0 if step < 5 else 32768.0,
        skipped=step == 5,
        micro_batches=2,
        trainer_step=step if step < 5 else step - 1,
        values=values,
    )


def records(step: int) -> Iterator[object]:
    """Yield everything of one step, its own row last."""
    known, read = names(), facts()
    if step == 0:
        yield from [*known[:4], read[0]]
    if step == 40:
        yield from [known[4], read[1]]
    if step == 60:
        yield known[5]
    yield from tensors(step)
    yield from ledger(step)
    if step % 20 == 19:
        metrics = {"eval_loss": 2.0 - step / 64, "eval_nan": float("nan")}
        yield Evaluation(step, START + step + 0.5, metrics)
    if step in {70, 79}:
        yield finding_event(finding(70, step), START + step)
    if step == 75:
        yield Event("warning", step, START + step, "Häh?\nyes", {"probe": "memory"})
    yield row(step)


def in_memory(steps: int = STEPS) -> Run:
    """Return the run that the stored one has to be equal to."""
    run = Run()
    for record in itertools.chain.from_iterable(map(records, range(steps))):
        run.append(record)  # type: ignore[arg-type]
    return run


def make(folder: Path) -> None:
    """Log the run: rank 0 to its end, rank 1 until it was killed within step 20."""
    for rank, limits in ((0, Limits(segment_rows=200)), (1, Limits())):
        writer = LogWriter.create(
            folder,
            rank=rank,
            config={"run": "golden", "lr": 0.5},
            limits=limits,
            clock=lambda: START,
            versions={"ftlab": "0.0", "python": "3.11"},
        )
        writer.declare("mine", [Column("height", "m", "How high it is.")])
        for step in range(STEPS if rank == 0 else 20):
            for record in records(step):
                writer.write(record)  # type: ignore[arg-type]
            writer.commit()
        if rank == 0:
            writer.close("finished")
    torn = folder / "rank-00001" / "steps-000000.arrow"
    torn.write_bytes(torn.read_bytes()[:-100])


if __name__ == "__main__":
    if FOLDER.exists() and "--again" not in sys.argv:
        sys.exit(
            f"{FOLDER} exists; pass --again if schema {VERSION} was never released"
        )
    shutil.rmtree(FOLDER, ignore_errors=True)
    make(FOLDER)
