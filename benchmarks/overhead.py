"""What watching costs, and what the tools that people use today cost.

Each arm trains a twin of the bare model in the same process, one step of each in turn,
on the same batch. CPU time of the whole process is compared, so background threads
count: what ftlab's log thread spends during the bare twin's step is moved to ftlab's
side, and its queue is drained inside its own timed window. The rules are paced by wall
time; the bare twin's share of that is taken out, as no run has a twin beside it. The
median of the paired ratios is given with its distribution-free 95 % interval (order
statistics of the binomial distribution).

    python benchmarks/overhead.py --kind lora --pairs 200
    python benchmarks/overhead.py --kind full --arms watch debug --pairs 200 --json F

What cannot be seen here: ``wandb`` hands its data to a service process of its own,
whose CPU time is not counted.
"""

import argparse
import contextlib
import itertools
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("WANDB_MODE", "offline")
os.environ.setdefault("WANDB_SILENT", "true")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch

Step = Callable[[dict[str, torch.Tensor]], None]
Arm = Callable[["Twin"], contextlib.AbstractContextManager[Any]]

PEER_PAIRS = 40


class Twin:
    """A Llama of hidden size 512 with 8 layers, its optimizer and its training step."""

    def __init__(self, kind: str) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=4096,
            hidden_size=512,
            intermediate_size=1408,
            num_hidden_layers=8,
            num_attention_heads=8,
            num_key_value_heads=4,
            max_position_embeddings=512,
            use_cache=False,
        )
        self.model: torch.nn.Module = LlamaForCausalLM(config)
        if kind == "lora":
            from peft import LoraConfig, get_peft_model

            lora = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear")
            self.model = get_peft_model(self.model, lora)
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-4)
        self.after: Callable[[], None] = lambda: None

    def step(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Train on one batch."""
        loss = self.model(**batch).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.after()
        return loss.detach()


def batch(index: int, device: str = "cpu") -> dict[str, torch.Tensor]:
    """Return 2 x 128 tokens."""
    generator = torch.Generator().manual_seed(index)
    ids = torch.randint(0, 4096, (2, 128), generator=generator).to(device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


class Clock:
    """CPU seconds of the process, with those of ftlab's background known apart."""

    def __init__(self, background: Any = None) -> None:
        self._background = background
        thread = None if background is None else background.thread
        self._id = None if thread is None else time.pthread_getcpuclockid(thread.ident)

    def now(self) -> tuple[float, float]:
        """Return (process, background thread)."""
        background = 0.0 if self._id is None else time.clock_gettime(self._id)
        return time.process_time(), background

    def pass_over(self, seconds: float) -> None:
        """Take wall time out of the pace of the rules."""
        if self._background is not None:
            self._background._next_rules += seconds


class Pairs:
    """Collects the CPU time of bare and watched steps, pair by pair."""

    def __init__(self, clock: Clock) -> None:
        self.bare: list[float] = []
        self.watched: list[float] = []
        self._clock = clock

    def time_bare(self, work: Callable[[], Any]) -> None:
        """Time a bare step; the background thread's share is not the bare step's."""
        began = time.monotonic()
        process, background = self._measure(work)
        self._clock.pass_over(time.monotonic() - began)
        self.bare.append(process - background)
        self._carried = background

    def time_watched(self, work: Callable[[], Any]) -> None:
        """Time a watched step, with what the background did during the bare one."""
        process, _ = self._measure(work)
        self.watched.append(process + self._carried)

    def _measure(self, work: Callable[[], Any]) -> tuple[float, float]:
        before = self._clock.now()
        work()
        after = self._clock.now()
        return after[0] - before[0], after[1] - before[1]

    def ratio(self) -> dict[str, float]:
        """Median of the paired ratios, and its 95 % interval."""
        ratios = sorted(w / b for w, b in zip(self.watched, self.bare, strict=True))
        count = len(ratios)
        reach = 0.98 * math.sqrt(count)  # 1.96 standard deviations of Binomial(n, 1/2)
        low = max(0, math.floor(count / 2 - reach))
        high = min(count - 1, math.ceil(count / 2 + reach))
        return {
            "pairs": count,
            "median": ratios[count // 2],
            "low": ratios[low],
            "high": ratios[high],
            "bare_seconds": sorted(self.bare)[count // 2],
        }


@contextlib.contextmanager
def bare(_twin: Twin) -> Iterator[Clock]:
    """Nothing attached: shows the noise of the comparison itself."""
    yield Clock()


@contextlib.contextmanager
def watch(
    twin: Twin,
    *,
    activations: bool = False,
    point: str | None = None,
    highest_losses: int = 0,
) -> Iterator[Clock]:
    """`ftlab.watch` with its writer and rules, without a dashboard."""
    import ftlab

    folder = Path(tempfile.mkdtemp()) / "run"
    watched = ftlab.watch(
        twin.model,
        twin.optimizer,
        run_dir=folder,
        activations=activations,
        highest_losses=highest_losses,
    )
    if point is not None:
        watched.probe(point, lambda tensor: tensor.float().pow(2).mean())
    with watched:
        background = watched._observation.background
        twin.after = background.drain
        yield Clock(background)


@contextlib.contextmanager
def wandb_watch(twin: Twin) -> Iterator[Clock]:
    """``wandb.watch(log_freq=1)`` with gradients."""
    import wandb

    wandb.init(project="overhead", dir=tempfile.mkdtemp())
    wandb.watch(twin.model, log="gradients", log_freq=1)
    twin.after = lambda: wandb.log({"step": 0})
    yield Clock()
    wandb.unwatch(twin.model)
    wandb.finish()


@contextlib.contextmanager
def underflow_overflow(twin: Twin) -> Iterator[Clock]:
    """Attach ``transformers.debug_utils.DebugUnderflowOverflow``."""
    from transformers.debug_utils import DebugUnderflowOverflow

    DebugUnderflowOverflow(twin.model)
    yield Clock()


@contextlib.contextmanager
def anomaly(twin: Twin) -> Iterator[Clock]:
    """``torch.autograd.detect_anomaly`` around the watched steps only."""
    step = twin.step

    def guarded(data: dict[str, torch.Tensor]) -> torch.Tensor:
        with torch.autograd.detect_anomaly():
            return step(data)

    twin.step = guarded  # type: ignore[method-assign]  # wrapped on purpose
    yield Clock()


def hook_all(twin: Twin, take: Callable[[str, float], None]) -> None:
    """Put the usual hook on each parameter, which calls ``norm().item()``."""

    def hook(name: str) -> Callable[[torch.Tensor], None]:
        return lambda grad: take(name, grad.norm().item())

    for name, parameter in twin.model.named_parameters():
        if parameter.requires_grad:
            parameter.register_hook(hook(name))


@contextlib.contextmanager
def item_hooks(twin: Twin) -> Iterator[Clock]:
    """Read the norms and keep nothing but the latest: what reading alone costs."""
    norms: dict[str, float] = {}
    hook_all(twin, norms.__setitem__)
    yield Clock()


@contextlib.contextmanager
def logged_hooks(twin: Twin) -> Iterator[Clock]:
    """Read the norms and log them to TensorBoard, as is done where they are needed."""
    from torch.utils.tensorboard import SummaryWriter

    step = 0
    with SummaryWriter(tempfile.mkdtemp()) as writer:

        def log(name: str, norm: float) -> None:
            writer.add_scalar(f"grad/{name}", norm, step)

        def after() -> None:
            nonlocal step
            step += 1
            writer.flush()

        hook_all(twin, log)
        twin.after = after
        yield Clock()


def interleave(kind: str, arm: Arm, count: int, warm_up: int = 3) -> dict[str, float]:
    """Train a bare twin and an armed twin in turn; return the ratio of their times."""
    plain, armed = Twin(kind), Twin(kind)
    with arm(armed) as clock:
        pairs = Pairs(clock)
        for index in range(count + warm_up):
            data = batch(index)
            pairs.time_bare(lambda data=data: plain.step(data))
            pairs.time_watched(lambda data=data: armed.step(data))
            if index < warm_up:
                pairs.bare.clear()
                pairs.watched.clear()
    return pairs.ratio()


def debug_armed(kind: str, count: int, warm_up: int = 3) -> dict[str, float]:
    """`ftlab.debug` armed and never pausing; the bare step runs between its steps."""
    import ftlab

    plain, armed = Twin(kind), Twin(kind)
    pairs = Pairs(Clock())
    marks: list[tuple[float, float]] = []

    def feed() -> Iterator[dict[str, torch.Tensor]]:
        for index in range(count + warm_up + 1):
            ended = time.process_time()
            plain.step(batch(index))
            began = time.process_time()
            marks.append((ended, began))
            yield batch(index)

    dbg = ftlab.debug(armed.step, feed(), model=armed.model, optimizer=armed.optimizer)
    with dbg:
        dbg.run()
    for this, following in itertools.islice(itertools.pairwise(marks), warm_up, None):
        pairs.bare.append(this[1] - this[0])
        pairs.watched.append(following[0] - this[1])
    return pairs.ratio()


ARMS: dict[str, tuple[Callable[[str, int], dict[str, float]], bool]] = {
    "bare": (lambda kind, count: interleave(kind, bare, count), True),
    "watch": (lambda kind, count: interleave(kind, watch, count), True),
    "watch+activations": (
        lambda kind, count: interleave(
            kind, lambda twin: watch(twin, activations=True), count
        ),
        True,
    ),
    "watch+probe": (
        lambda kind, count: interleave(
            kind, lambda twin: watch(twin, point="layers.*.self_attn.post"), count
        ),
        True,
    ),
    "watch+highest_losses": (
        lambda kind, count: interleave(
            kind, lambda twin: watch(twin, highest_losses=20), count
        ),
        True,
    ),
    "debug": (debug_armed, True),
    "wandb.watch": (lambda kind, count: interleave(kind, wandb_watch, count), False),
    "DebugUnderflowOverflow": (
        lambda kind, count: interleave(kind, underflow_overflow, count),
        False,
    ),
    "detect_anomaly": (lambda kind, count: interleave(kind, anomaly, count), False),
    "hook + .item(), logged": (
        lambda kind, count: interleave(kind, logged_hooks, count),
        False,
    ),
    "hook + .item(), not kept": (
        lambda kind, count: interleave(kind, item_hooks, count),
        False,
    ),
}
"""Each arm, and whether it is one of ours (``--pairs``) or a peer (40 pairs)."""


def main() -> None:
    """Parse the arguments, run the arms, print one row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=["lora", "full"], default="lora")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--arms", nargs="*", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table: dict[str, dict[str, float]] = {}
    print(f"{options.kind}: CPU time over the bare step, median [95 % interval]")
    for name in options.arms:
        measure, ours = ARMS[name]
        row = measure(
            options.kind, options.pairs if ours else min(PEER_PAIRS, options.pairs)
        )
        table[name] = row
        print(
            f"{name:24} {row['median']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
            f"  {row['pairs']:.0f} pairs, bare {row['bare_seconds'] * 1e3:.0f} ms",
            flush=True,
        )
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({options.kind: table}, indent=1))


if __name__ == "__main__":
    main()
