"""One training in a process of its own, with or without a tool: its CPU time.

    python -m benchmarks.one_run --shape 24x64 --kind lora --loop trainer --arm watch

Prints JSON: ``step_ms`` is the mean CPU time of a step after the first five, of all
threads of the process; ``fixed_s`` is everything else from before the tool is attached
until it is off again, less five steps. What a tool's own thread has not logged when the
last step ends is waited for, and counted; what the rules say at the end is fixed cost.
"""

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(
    HF_HUB_OFFLINE="1",
    OMP_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
    WANDB_MODE="offline",
    WANDB_SILENT="true",
)

import torch

from benchmarks.twin import SHAPES, Twin, batch

FIRST = 5
"""Steps before the mean begins."""

Arm = Callable[[Twin, Any], contextlib.AbstractContextManager[Callable[[], Any]]]
"""Attaches a tool to a twin, or to its trainer; gives what waits for the tool."""


@contextlib.contextmanager
def bare(_twin: Twin, _trainer: Any) -> Iterator[Callable[[], Any]]:
    """Nothing attached."""
    yield lambda: None


def watch(**options: Any) -> Arm:
    """`ftlab.watch` with its log and its rules."""

    @contextlib.contextmanager
    def attached(twin: Twin, trainer: Any) -> Iterator[Callable[[], Any]]:
        import ftlab

        subject = (twin.model, twin.optimizer) if trainer is None else (trainer,)
        with ftlab.watch(*subject, **options) as watched:
            yield lambda: watched._observation.background.drain()

    return attached


@contextlib.contextmanager
def wandb_watch(twin: Twin, _trainer: Any) -> Iterator[Callable[[], Any]]:
    """``wandb.watch(log_freq=1)``; its service is a process of its own, not counted."""
    import wandb

    wandb.init(project="overhead", dir=tempfile.mkdtemp())
    wandb.watch(twin.model, log="gradients", log_freq=1)
    twin.after = lambda: wandb.log({"step": 0})
    yield lambda: None
    wandb.unwatch(twin.model)
    wandb.finish()


@contextlib.contextmanager
def underflow_overflow(twin: Twin, _trainer: Any) -> Iterator[Callable[[], Any]]:
    """``transformers.debug_utils.DebugUnderflowOverflow``."""
    from transformers.debug_utils import DebugUnderflowOverflow

    DebugUnderflowOverflow(twin.model)
    yield lambda: None


@contextlib.contextmanager
def anomaly(_twin: Twin, _trainer: Any) -> Iterator[Callable[[], Any]]:
    """``torch.autograd.detect_anomaly``."""
    with torch.autograd.detect_anomaly():
        yield lambda: None


@contextlib.contextmanager
def hooks(twin: Twin, _trainer: Any) -> Iterator[Callable[[], Any]]:
    """Put the usual hook on each parameter: it reads a norm, and nothing keeps it."""
    norms: dict[int, float] = {}
    for index, parameter in enumerate(twin.trained):
        parameter.register_hook(
            lambda grad, index=index: norms.__setitem__(index, grad.norm().item())
        )
    yield lambda: None


ARMS: dict[str, Arm] = {
    "bare": bare,
    "watch": watch(),
    "watch, budget=None": watch(budget=None),
    "watch, activations": watch(activations=True, budget=None),
    "debug, armed": bare,  # it runs the loop itself: see `_debugged`
    "wandb.watch": wandb_watch,
    "DebugUnderflowOverflow": underflow_overflow,
    "detect_anomaly": anomaly,
    "hook with .item()": hooks,
}


def _loop(twin: Twin, steps: int, ended: Callable[[], None]) -> None:
    for index in range(steps):
        twin.step(batch(index))
        ended()


def _debugged(twin: Twin, steps: int, ended: Callable[[], None]) -> None:
    import ftlab

    def feed() -> Iterator[dict[str, torch.Tensor]]:
        for index in range(steps):
            yield batch(index)
            ended()

    with ftlab.debug(
        twin.step, feed(), model=twin.model, optimizer=twin.optimizer
    ) as dbg:
        dbg.run()


def _trainer(twin: Twin, steps: int, ended: Callable[[], None]) -> Any:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Ended(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            twin.after()
            ended()

    rows = [{n: v[0] for n, v in batch(i, rows=1).items()} for i in range(64)]
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        max_steps=steps,
        per_device_train_batch_size=2,
        learning_rate=1e-4,
        logging_steps=10,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    return Trainer(twin.model, arguments, train_dataset=rows, callbacks=[Ended()])


def measure(shape: str, kind: str, loop: str, arm: str, steps: int) -> dict[str, Any]:
    """Train, and return the figures."""
    twin = Twin(kind, shape)
    times: list[float] = []

    def ended() -> None:
        times.append(time.process_time())

    trainer = _trainer(twin, steps, ended) if loop == "trainer" else None
    run = _debugged if arm == "debug, armed" else _loop
    began = time.process_time()
    with ARMS[arm](twin, trainer) as wait:
        if trainer is None:
            run(twin, steps, ended)
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                trainer.train()
        wait()
        waited = time.process_time()
    off = time.process_time()
    total = waited - times[FIRST - 1]
    step = total / (len(times) - FIRST)
    fixed = off - began - total - FIRST * step
    return {"step_ms": 1e3 * step, "fixed_s": fixed, "tensors": len(twin.trained)}


def main() -> None:
    """Parse the arguments, train, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="24x64")
    parser.add_argument("--kind", choices=["lora", "full"], default="lora")
    parser.add_argument("--loop", choices=["loop", "trainer"], default="loop")
    parser.add_argument("--arm", choices=list(ARMS), default="watch")
    parser.add_argument("--steps", type=int, default=205)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(Path(folder)):
        found = measure(asked.shape, asked.kind, asked.loop, asked.arm, asked.steps)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
