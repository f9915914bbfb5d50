"""What watching costs on the models that people have, beside the tools they use today.

Each figure compares processes: a bare training and one with a tool, in turn, some
pairs of them, and says the median; see `benchmarks.one_run` for what is timed. CPU time
of the whole process is compared, so background threads count.

    python -m benchmarks.overhead --shapes 3x48 24x64 --kinds lora --loops loop
    python -m benchmarks.overhead --write          all of it, into benchmarks/README.md
"""

import argparse
import importlib.metadata
import itertools
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.one_run import ARMS
from benchmarks.twin import SHAPES

OURS = ("watch", "watch, budget=None")
PEERS = tuple(arm for arm in ARMS if arm not in (*OURS, "bare"))
PEER_SHAPES = ("24x64", "8x512")
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of the pairs of one training.

    Attributes
    ----------
    bare, added
        Milliseconds of a step.
    fixed
        Seconds of attaching, the first look, the last word of the rules, detaching.
    tensors
        That are trained.
    """

    shape: str
    kind: str
    loop: str
    arm: str
    bare: float
    added: float
    fixed: float
    tensors: int

    @property
    def ratio(self) -> float:
        """Time of a step over that of a bare one."""
        return (self.bare + self.added) / self.bare

    @property
    def promised(self) -> float:
        """Milliseconds that a step may cost more."""
        if self.arm == "watch":
            return 0.03 * self.bare if self.bare >= 50 else 1.5
        if self.arm == "watch, budget=None":
            return 1.5 + 0.025 * self.tensors
        return float("nan")


def run_once(
    shape: str, kind: str, loop: str, arm: str, steps: int
) -> dict[str, float]:
    """Train in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.one_run"]
    asked = {"shape": shape, "kind": kind, "loop": loop, "arm": arm, "steps": steps}
    command += [f"--{name}={value}" for name, value in asked.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"{' '.join(command)} failed:\n{done.stderr[-2000:]}"
        raise SystemExit(msg)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(
    shape: str, kind: str, loop: str, arms: list[str], *, pairs: int, steps: int
) -> Iterator[Row]:
    """Train bare and with each arm in turn, ``pairs`` times."""
    found: dict[str, list[dict[str, float]]] = {arm: [] for arm in ("bare", *arms)}
    for _, arm in itertools.product(range(pairs), found):
        found[arm].append(run_once(shape, kind, loop, arm, steps))

    def median(arm: str, what: str) -> float:
        both = zip(found[arm], found["bare"], strict=True)
        return statistics.median(one[what] - bare[what] for one, bare in both)

    bare = statistics.median(each["step_ms"] for each in found["bare"])
    tensors = int(found["bare"][0]["tensors"])
    for arm in arms:
        added, fixed = median(arm, "step_ms"), median(arm, "fixed_s")
        yield Row(shape, kind, loop, arm, bare, added, fixed, tensors)


def line(row: Row) -> str:
    """Lay out one row."""
    promised = "" if row.promised != row.promised else f"{row.promised:.1f}"
    return (
        f"| {row.shape} | {row.kind} | {row.loop} | {row.arm} | {row.tensors} "
        f"| {row.bare:.1f} | {row.added:.1f} | {promised} | {row.ratio:.2f}x "
        f"| {row.fixed:.2f} |"
    )


HEAD = (
    "| shape | kind | loop | tool | tensors | bare step, ms | added, ms | promised "
    "| ratio | fixed, s |\n" + "| --- " * 10 + "|"
)


def write(rows: list[Row], pairs: int, steps: int) -> None:
    """Write the table and the chart."""
    _draw(rows).savefig(HERE / "overhead.png", metadata={"Software": None})
    names = ("torch", "transformers", "peft", "numpy", "wandb")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    machine = (
        f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    )
    taken = "one pair" if pairs == 1 else f"medians of {pairs} pairs"
    text = f"""# What watching costs

Written by `make bench`: {taken} of processes, {steps} steps each; CPU time of the whole
process, its threads included, one thread for torch. *Added* is the
mean over the steps after the first five; *fixed* is everything else: attaching, the
first look, the last word of the rules, detaching. *Promised* are 3 % of a bare step of
50 ms or more, else 1.5 ms; with `budget=None`, 1.5 ms and 25 microseconds for each
trained tensor. `wandb` hands its data to a process of its own, which is not counted.
A negative figure shows how far single pairs scatter.

{machine}; {versions}.

![Added milliseconds per step](overhead.png)

{HEAD}
"""
    text += "\n".join(map(line, rows)) + "\n"
    (HERE / "README.md").write_text(text, encoding="utf-8")


def _draw(rows: list[Row]) -> Figure:
    ours = [row for row in rows if row.arm in OURS]
    figure = Figure((8, 1 + 0.22 * len(ours)), layout="constrained")
    axes = figure.subplots()
    places = range(len(ours))
    colours = ["#2486c9" if row.arm == "watch" else "#8aa4b8" for row in ours]
    axes.barh(places, [row.added for row in ours], color=colours)
    axes.plot([row.promised for row in ours], places, "|", color="#d55e00", ms=9)
    labels = [f"{row.shape} {row.kind} {row.loop}, {row.arm}" for row in ours]
    axes.set_yticks(places, labels, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel("added milliseconds per step; the line is what is promised")
    return figure


def main() -> None:
    """Parse the arguments, compare, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--kinds", nargs="*", default=["lora", "full"])
    parser.add_argument("--loops", nargs="*", default=["loop", "trainer"])
    parser.add_argument("--arms", nargs="*", choices=list(ARMS), help="instead of ours")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=205)
    parser.add_argument("--write", action="store_true", help="benchmarks/README.md")
    asked = parser.parse_args()
    rows: list[Row] = []
    print(HEAD)
    for shape, kind, loop in itertools.product(asked.shapes, asked.kinds, asked.loops):
        peers = (
            asked.write and (kind, loop) == ("lora", "loop") and shape in PEER_SHAPES
        )
        arms = asked.arms or [*OURS, *(PEERS if peers else ())]
        counts = {"pairs": asked.pairs, "steps": asked.steps}
        for row in compare(shape, kind, loop, arms, **counts):
            rows.append(row)
            print(line(row), flush=True)
        if asked.write:  # it takes an hour or more: nothing is lost where it ends early
            write(rows, asked.pairs, asked.steps)


if __name__ == "__main__":
    main()
