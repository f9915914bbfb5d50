"""Ctrl-C at any moment: nothing is left patched, and the next watch works."""

import contextlib
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.records.errors import FtlabWarning
from tests.leaks import finish_threads, leaks, snapshot, unwanted, watching_hooks
from tests.models import batches, tiny_lora

TRIES = 6
SECONDS = {"attach": 0.15, "train": 0.3, "views": 1.0, "detach": 0.05, "debug": 0.6}
"""How long each lasts, about; an interrupt comes at a random moment of it."""


class Bench:
    """A model with LoRA, its optimizer, and what is done with ftlab."""

    def __init__(self, folder: Path) -> None:
        self.model, self.folder = tiny_lora(), folder
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-2)
        self.watch: Any = None
        self.dbg: Any = None

    def step(self, batch: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.model(**batch).loss
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def attach(self) -> None:
        self.watch = ftlab.watch(self.model, self.optimizer, run_dir=self.folder)

    def train(self) -> None:
        for batch in batches(6):
            self.step(batch)

    def views(self) -> None:
        for name in ("gradients", "findings", "lora", "checklist", "dashboard"):
            view = getattr(self.watch, name)
            repr(view)
            view._repr_mimebundle_()

    def detach(self) -> None:
        for held in (self.dbg, self.watch):
            if held is not None:
                getattr(held, "close", getattr(held, "detach", None))()

    def debug(self) -> None:
        feed = list(batches(4))
        self.dbg = ftlab.debug(
            self.step, feed, model=self.model, optimizer=self.optimizer
        )
        self.dbg.run()
        self.dbg.close()


@contextlib.contextmanager
def interrupted(after: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread ``after`` so many seconds."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, after)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


def works(folder: Path) -> None:
    """Watch a new model, and read its log."""
    bench = Bench(folder)
    bench.attach()
    bench.train()
    bench.detach()
    assert len(bench.watch.run.steps) == 6
    assert len(ftlab.open_run(folder).run.steps) == 6


@pytest.mark.slow
@pytest.mark.parametrize("stage", SECONDS)
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, stage: str) -> None:
    draw = random.Random(stage)
    works(tmp_path / "warm")
    warm = Bench(tmp_path / "warm views")  # an import that is cut stays half done
    for each in (warm.attach, warm.train, warm.views, warm.detach):
        each()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", FtlabWarning)
        for number in range(TRIES):
            before = snapshot()
            folder = tmp_path / str(number)
            bench, after = Bench(folder), draw.uniform(1e-4, SECONDS[stage])
            stages: list[Callable[[], None]] = [bench.attach, bench.train]
            stages += {"views": [bench.views], "detach": []}.get(stage, [])
            with watching_hooks() as hooks:
                for each in stages:
                    if each.__name__ != stage:
                        each()
                    else:
                        break
                with interrupted(after):
                    getattr(bench, stage)()
                bench.detach()
                bench.detach()
            finish_threads(before)
            found = leaks(before, unwanted(snapshot())) + hooks.left()
            assert not found, (stage, number, after, found)
            if bench.watch is not None:
                seen = len(bench.watch.run.steps)
                assert len(ftlab.open_run(folder).run.steps) == seen
                repr(bench.watch.findings)
            works(tmp_path / f"{number}-next")
