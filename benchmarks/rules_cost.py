"""What all rules together cost while training runs, and which of them cost most.

A LoRA on a Llama of 8 layers is trained watched, 256 tokens a step, a bare twin's step
in turn with each of its steps. Three costs are given in CPU time of the thread that
judges, over the median of the bare steps:

- *as it runs*: what the background thread spent on rules for each step; the limit of
  5 % is set for this. The thread keeps to its share of a core whatever the rules cost,
  and dear rules speak later. It counts by the wall clock: on a machine that is busy
  with other things the steps take longer, and the share of each grows.
- *asked after every step*: what one round of all rules over the latest window costs, as
  if no share were kept to. This is the number by which rules are to be compared.
- *at the end*: judging the whole log once more, for each of its steps. The log is the
  recorded run, repeated until it has ``--log`` steps.

    python -m benchmarks.rules_cost --steps 200 --log 1200
"""

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ftlab
from benchmarks.twin import Twin, batch
from ftlab.records.step import Block, StepRecord
from ftlab.rules.engine import Engine
from ftlab.rules.registry import all_rules
from ftlab.runlog.run import Run

LIMIT = 0.05
"""Share of a bare step that the rules may cost as it runs."""

ROUNDS = 20
"""Rounds over the latest window; the median of each rule's time is taken."""


class Timed:
    """A rule that adds up the CPU time of the thread that it judges in."""

    def __init__(self, rule: Any, seconds: Counter[str]) -> None:
        self._rule, self._seconds = rule, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rule, name)

    def applies(self, run: Run) -> bool:
        """Ask the rule."""
        return bool(self._timed(lambda: self._rule.applies(run)))

    def missing(self, run: Run) -> Any:
        """Ask the rule."""
        return self._timed(lambda: self._rule.missing(run))

    def check(self, run: Run) -> Any:
        """Ask the rule."""
        return self._timed(lambda: list(self._rule.check(run)))

    def _timed(self, work: Callable[[], Any]) -> Any:
        began = time.thread_time()
        try:
            return work()
        finally:
            self._seconds[self._rule.code] += time.thread_time() - began


def train(steps: int, folder: Path) -> tuple[Run, float, float]:
    """Train; return the run, a bare step's seconds and the rules' seconds."""
    plain, armed = Twin("lora"), Twin("lora")
    bare, spent = [], []
    with ftlab.watch(armed.model, armed.optimizer, run_dir=folder) as watch:
        background = watch._observation.background
        judge = background._judge

        def timed() -> None:
            began = time.thread_time()
            judge()
            spent.append(time.thread_time() - began)

        background._judge = timed
        for index in range(steps):
            began = time.process_time(), thread_seconds(background.thread)
            plain.step(batch(index))
            ended = time.process_time(), thread_seconds(background.thread)
            bare.append(ended[0] - began[0] - (ended[1] - began[1]))
            armed.step(batch(index))
        background.drain()
        return watch.run, statistics.median(bare), sum(spent)


def thread_seconds(thread: Any) -> float:
    """Return the CPU seconds of another thread."""
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def repeated(run: Run, steps: int) -> Run:
    """Return a run in memory that is ``run`` again and again, with ``steps`` steps."""
    longer = Run(meta=run.meta)
    for record in itertools.chain(run._store.journal.facts, names(run)):
        longer.append(record)
    length = run.last_step + 1
    for step in range(steps):
        for record in records(run, step % length):
            longer.append(replace(record, step=step))
    return longer


def names(run: Run) -> Iterator[Any]:
    """Yield the names of all rows."""
    for table in run.tables():
        yield from run._store.journal.names.get(table, ())


def records(run: Run, step: int) -> Iterator[Any]:
    """Yield everything of one step, its own row last."""
    yield from run.ledger_of(step)
    for table in run.tables():
        yield from blocks(run, table, step)
    steps = run.steps
    row = int(np.searchsorted(steps.step, step))
    standard = set(StepRecord.__dataclass_fields__)
    known = {
        name: float(steps[name][row])
        for name in steps.columns
        if name != "lr" and steps.known(name)[row]
    }
    own = {name: value for name, value in known.items() if name not in standard}
    fixed = {name: known[name] for name in known if name in standard}
    fixed |= {"skipped": bool(fixed.get("skipped"))}
    fixed |= {n: int(fixed[n]) for n in ("micro_batches", "trainer_step") if n in fixed}
    lr = tuple(float(value) for value in steps["lr"][row])
    yield StepRecord(step=step, lr=lr, values=own, **fixed)


def blocks(run: Run, table: str, step: int) -> Iterator[Block]:
    """Yield the rows of one step as one block for each set of rows."""
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    for column in run.columns(table):
        matrix = run.matrix(column, table, start=step, stop=step + 1)
        if not len(matrix.steps):
            continue
        known = matrix.known[0]
        if known.any():
            ids = tuple(matrix.ids[known].tolist())
            found.setdefault(ids, {})[column] = matrix.values[0][known]
    for ids, values in found.items():
        yield Block(table, step, np.array(ids, np.int32), values)


def round_costs(run: Run) -> dict[str, float]:
    """Return the median seconds of each rule for one more step, and of all of them.

    The steps of ``run`` are appended once more, and judged one by one.
    """
    seconds: Counter[str] = Counter()
    engine = Engine([Timed(rule, seconds) for rule in all_rules()])
    engine.finish(run)
    rounds, stop = [], run.last_step + 1
    for turn in range(ROUNDS):
        for record in records(run, turn):
            run.append(replace(record, step=stop + turn))
        seconds.clear()
        began = time.thread_time()
        engine.finish(run)
        seconds["all"] = time.thread_time() - began
        rounds.append(seconds.copy())
    codes = {code for each in rounds for code in each}
    return {code: statistics.median(each[code] for each in rounds) for code in codes}


def main() -> None:
    """Train, judge, print the three costs and the dearest rules."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--log", type=int, default=1200)
    parser.add_argument("--show", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run, step, spent = train(options.steps, Path(folder) / "run")
        longer = repeated(run, options.log)
    costs = round_costs(longer)
    began = time.thread_time()
    Engine().check(longer)
    whole = time.thread_time() - began
    table = {
        "as it runs": spent / options.steps / step,
        "asked after every step": costs["all"] / step,
        "at the end": whole / options.log / step,
    }
    print(f"{len(all_rules())} rules; a bare step takes {step * 1e3:.0f} ms")
    for name, share in table.items():
        print(f"{name:24} {share:.2%} of a step")
    rules = sorted((c for c in costs if c != "all"), key=costs.__getitem__)[::-1]
    for code in rules[: options.show]:
        print(f"  {code} {costs[code] * 1e3:7.2f} ms")
    if options.json:
        told = {"step_seconds": step, "shares": table, "rules": costs}
        options.json.write_text(json.dumps(told, indent=1))
    if table["as it runs"] > LIMIT:
        msg = f"The rules cost more than {LIMIT:.0%} of a step."
        raise SystemExit(msg)


if __name__ == "__main__":
    main()
