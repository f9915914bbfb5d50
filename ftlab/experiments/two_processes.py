"""EXP019, two-processes: two processes give the gradients of one.

## What must hold
The rows of a batch, divided between two processes that average their gradients (DDP),
give the gradients of one process with all of them: each trained token counts alike.

## Why
A mean by process lets tokens of short answers count more; code that asks for its rank,
statistics over the rows, or a weight that DDP leaves out trains another model on two
devices than on one.

## When it does not apply
It is tried where asked for by name. Two copies of this process (fork, Linux) compute on
the CPU in float64, and end: not for models on a GPU or of few bits, nor within a
distributed training. BatchNorm and losses that balance experts are of their own rows
alone by choice. For a loop, ``loss(model, batch)`` is run in each.

## What to try
Divide by the trained tokens of all processes together
(``average_tokens_across_devices=True``; in a loop, ``all_reduce`` their count and
multiply by the number of processes).

## References
- torch, `torch.nn.parallel.DistributedDataParallel`
"""

import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from ftlab.executions.listening import shared_name
from ftlab.executions.side import NotApplicableError, WithoutDropout
from ftlab.experiments.accumulated_gradients import SMALL, apart, in_parts
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome

SECONDS = 120
"""After which processes that have not ended are ended."""
CLOSE = 1e-4
"""Relative distance of gradients where some code computes in float32 all the same."""

Batch = Mapping[str, Any]
Gradients = dict[str, torch.Tensor]


class TwoProcesses(Experiment):
    """Gradients of two processes, and of one."""

    code = "EXP019"
    name = "two-processes"
    relation = "two processes give the gradients of one with all rows"
    cause = "Processes are averaged by something else than their trained tokens."
    fix = (
        "Divide by the trained tokens of all processes, not by each one's own "
        "(average_tokens_across_devices), and let nothing depend on the rank."
    )
    default = False

    def run(self, live: Live) -> Outcome:
        """Divide the rows, one with few labels for the first process."""
        _refuse(live)
        whole, parts = in_parts(live, 2)
        with tempfile.TemporaryDirectory() as folder:
            (one,) = _gradients(live, [whole], folder)
            ranks = _gradients(live, parts, folder)
        largest = max((float(g.norm()) for g in one.values()), default=0.0)
        found = {
            (rank, name): apart(one[name], each[name], SMALL * largest)
            for rank, each in enumerate(ranks)
            for name in one
            if name in each
        }
        if not found:
            msg = "the step leaves no gradients"
            raise NotApplicableError(msg)
        rank, worst = max(found, key=lambda key: found[key])
        relative = found[rank, worst]
        evidence: dict[str, float | int | str] = {"relative": relative, "rank": rank}
        if relative <= CLOSE:
            says = f"{len(one)} gradients differ by {relative:.1e} at most"
            return self.outcome("holds", says, evidence=evidence)
        return self.outcome(
            "broken",
            f"the gradient of {worst} in process {rank} differs by {relative:.2g} of "
            "its size",
            places=(Place("param", worst),),
            evidence=evidence,
        )


def _refuse(live: Live) -> None:
    """Leave out what cannot be tried, and what differs by choice."""
    devices = {p.device.type for p in live.model.parameters()} - {"cpu"}
    kinds = {type(module).__name__ for module in live.model.modules()}
    norms = sorted(kind for kind in kinds if kind.startswith("BatchNorm"))
    config = getattr(live.model, "config", None)
    reasons = {
        "processes cannot be copied here": sys.platform != "linux",
        "it is distributed already": distributed.is_initialized(),
        "the model is not on the CPU": bool(devices),
        "its weights have few bits": bool(live.few_bits()),
        "the training makes the model's arguments of another batch": live.loss is None,
        f"{(norms or ['.'])[0]} takes statistics of its own rows": bool(norms),
        "experts are balanced over the rows of each process": bool(
            getattr(config, "output_router_logits", False)
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise NotApplicableError(reason)


def _gradients(live: Live, parts: Sequence[Batch], folder: str) -> list[Gradients]:
    """Let one process for each part compute; none is left behind.

    Raises
    ------
    RuntimeError
        A process failed, or all together took too long.
    """
    context = multiprocessing.get_context("fork")
    there = Path(tempfile.mkdtemp(dir=folder))
    processes = [
        context.Process(target=_work, args=(live, parts, rank, there), daemon=True)
        for rank in range(len(parts))
    ]
    try:
        for each in processes:
            each.start()
        until = time.monotonic() + SECONDS
        while any(each.is_alive() for each in processes) and time.monotonic() < until:
            time.sleep(0.02)
            if any(each.exitcode for each in processes):
                break
    finally:
        for each in processes:
            if each.is_alive():
                each.kill()
            each.join()
    said = sorted(there.glob("*.txt"), key=lambda path: path.stat().st_mtime_ns)
    made = [there / f"{rank}.npz" for rank in range(len(parts))]
    if said or not all(path.is_file() for path in made):
        msg = said[0].read_text() if said else f"it did not end within {SECONDS} s"
        raise RuntimeError(msg)
    return [
        {name: torch.from_numpy(value) for name, value in np.load(path).items()}
        for path in made
    ]


def _work(live: Live, parts: Sequence[Batch], rank: int, folder: Path) -> None:
    """Compute one part's gradients; this process is a copy, in which all may change."""
    try:
        torch.set_num_threads(1)
        model: Any = live.model.double().train()
        if len(parts) > 1:
            model = _joined(live, rank, len(parts), folder)
        batch = {key: _double(value) for key, value in parts[rank].items()}
        live.model.zero_grad()
        with WithoutDropout():
            _backward(live, model, batch)
        named = live.model.named_parameters()
        grads = {shared_name(n): p.grad.numpy() for n, p in named if p.grad is not None}
        np.savez(folder / f"{rank}.npz", **grads)
    except BaseException:  # noqa: BLE001  told to the process that asked
        (folder / f"{rank}.txt").write_text(traceback.format_exc(0).splitlines()[-1])
        os._exit(1)


def _joined(live: Live, rank: int, count: int, folder: Path) -> Any:
    """Join the other process, over the loopback alone, and wrap the model."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meet",
        rank=rank,
        world_size=count,
        timeout=timedelta(seconds=SECONDS),
    )
    if live.trainer is not None:  # what it would find, launched so
        accelerator = live.trainer.accelerator
        for state in (live.trainer.args.distributed_state, accelerator.state):
            kind = type(accelerator.distributed_type).MULTI_CPU
            vars(state).update(num_processes=count, distributed_type=kind)
            vars(state).update(process_index=rank, local_process_index=rank)
    return DistributedDataParallel(live.model, find_unused_parameters=True)


def _backward(live: Live, model: Any, batch: dict[str, Any]) -> None:
    trainer = live.trainer
    if trainer is None:
        if live.loss is not None:
            live.loss(batch, model).backward()
        return
    trainer.current_gradient_accumulation_steps = 1
    count = getattr(trainer, "_get_num_items_in_batch", None)
    items = None if count is None else count([batch], trainer.args.device)
    trainer.training_step(model, batch, items)


def _double(value: Any) -> Any:
    floats = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if floats else value
