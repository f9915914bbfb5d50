"""Which tool names the place where an anomaly is born, and at what cost.

ftlab.debug, ``torch.autograd.detect_anomaly``, transformers' ``DebugUnderflowOverflow``
and TorchLens are run on every planted anomaly of ``benchmarks/anomalies`` and on its
healthy twin. Each run has a process and a time limit of its own.

    python -m benchmarks.localisation --markdown
    python -m benchmarks.localisation --cases log-of-zero --tools TorchLens --json F
    python -m benchmarks.localisation --cost

Verdicts are generous: a module that holds the right one, or a line that is somewhere in
a stack, is *partly* right; the Python or autograd name of an operation stands for it.
A tool that stops the run in a later step than the anomaly's has *partly* found it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.anomalies.registry import list_cases
from benchmarks.naming import cost
from benchmarks.naming.claim import ASPECTS, EXACT, PARTLY, WRONGLY
from benchmarks.naming.tools import CAN_SAY, TOOLS
from benchmarks.naming.trial import Trial, attempt, warm_up

Rows = list[list[str]]


def summary(trials: Sequence[Trial], phase: str = "") -> Rows:
    """Count verdicts per tool, ``exactly / partly / wrongly``."""
    head = ["tool", "cases", *ASPECTS, "all exactly", "false alarms", "crashes"]
    rows = [head]
    for tool in dict.fromkeys(trial.tool for trial in trials):
        own = [t for t in trials if t.tool == tool and phase in ("", t.phase)]
        row = [tool, str(len(own))]
        for aspect in ASPECTS:
            counts = Counter(trial.verdicts[aspect] for trial in own)
            row.append(" / ".join(str(counts[v]) for v in (EXACT, PARTLY, WRONGLY)))
        row.append(str(sum(set(t.verdicts.values()) == {EXACT} for t in own)))
        row.append(str(sum(bool(t.alarm) for t in own)))
        row.append(str(sum(bool(t.crash) + bool(t.twin_crash) for t in own)))
        rows.append(row)
    return rows


def details(trials: Sequence[Trial]) -> Rows:
    """Give each case a row, and each tool a column of verdicts."""
    tools = list(dict.fromkeys(trial.tool for trial in trials))
    marks = {EXACT: "+", PARTLY: "~", WRONGLY: "x"}
    cells: dict[str, dict[str, str]] = {}
    for trial in trials:
        signs = "".join(marks.get(trial.verdicts[aspect], ".") for aspect in ASPECTS)
        notes = ["crash"] if trial.crash or trial.twin_crash else []
        notes += ["alarm"] if trial.alarm else []
        cells.setdefault(trial.case, {})[trial.tool] = " ".join([signs, *notes])
    rows = [
        [case, *(cell.get(tool, "") for tool in tools)] for case, cell in cells.items()
    ]
    return [["case", *tools], *rows]


def written(rows: Rows, markdown: bool) -> str:
    """Write a table."""
    if markdown:
        rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join(lines)


def compare(cases: Sequence[str], tools: Sequence[str], limit: float) -> list[Trial]:
    """Run the tools on the cases, and print who is where."""
    warm_up()
    trials = []
    for case in cases:
        made = [attempt(case, tool, limit) for tool in tools]
        broken = [f"{t.tool}: {t.crash or t.twin_crash}" for t in made]
        broken = [line for line in broken if not line.endswith(": ")]
        print("\n  ".join([case, *broken]), flush=True)
        trials += made
    return trials


def report(trials: Sequence[Trial], markdown: bool) -> None:
    """Print all tables."""
    for phase in ("", *dict.fromkeys(trial.phase for trial in trials)):
        print(f"\n{phase or 'all'}: exactly / partly / wrongly\n")
        print(written(summary(trials, phase), markdown))
    print(
        f"\nby case, {', '.join(ASPECTS)}: + exactly, ~ partly, x wrongly, . nothing\n"
    )
    print(written(details(trials), markdown))
    print("\nwhat each can report at all\n")
    tools = dict.fromkeys(trial.tool for trial in trials)
    print(written([["tool", "can say"], *([t, CAN_SAY[t]] for t in tools)], markdown))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [case.id for case in list_cases()]
    parser.add_argument(
        "--cases", nargs="*", choices=every, default=every, metavar="ID"
    )
    parser.add_argument("--tools", nargs="*", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds per run")
    parser.add_argument("--cost", action="store_true", help="measure cost instead")
    parser.add_argument("--repeats", type=int, default=5, help="of each cost")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Compare, or measure."""
    options = parse()
    torch.set_num_threads(1)
    if options.cost:
        costs = cost.measure(options.tools, options.repeats)
        print(written(cost.rows(costs), options.markdown))
        kept: object = costs
    else:
        trials = compare(options.cases, options.tools, options.limit)
        report(trials, options.markdown)
        kept = [trial.as_row() for trial in trials]
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
