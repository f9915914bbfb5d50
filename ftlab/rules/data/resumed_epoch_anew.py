"""The rule DAT084, resumed-epoch-anew.

## What it does
Finds trainings that were resumed within an epoch, and begin this epoch anew.

## Why is this bad?
The order is that of the first time: the rows that were used before the checkpoint come
once more, and those at the end of the plan never, where it is counted in steps. It is a
note: who sets `ignore_data_skip` may prefer it to waiting.

## Evidence
The Trainer's state where it was resumed (step, part of an epoch) and
`ignore_data_skip`; and that the first loader gives rows in order, or draws its order
with a seed and the number of the epoch, which are those of the first time.
Measured: a Trainer resumed at step 5 of 8 parts there from the one that went on, and
draws with the seed and the epoch of step 0; with batches left out it does not part.
By hand: `watch.seeds.against(ftlab.open_run(...))` with the run that was broken off.

## What to try
1. `ignore_data_skip=False`: batches that were used are left out.
2. Another `data_seed` for the rest: rows come at random again.

## Known problems
Loops of one's own do not say that they resume.

## References
- transformers, `TrainingArguments.ignore_data_skip`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.rules.reading.loaders import NEEDS
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.rule import Rule
from ftlab.runlog.parting_cause import loader_starts
from ftlab.runlog.run import Run

PART = 1e-3
"""Part of an epoch below which nothing of it was used."""


class ResumedEpochAnew(Rule):
    """Finds epochs that begin once more."""

    code = "DAT084"
    name = "resumed-epoch-anew"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Leave out trainings that were not resumed."""
        facts = first_facts(run)
        return not facts.model or bool(facts.training.get("resumed"))

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding about the first epoch."""
        resumed = first_facts(run).training.get("resumed") or {"skips": True}
        used = float(resumed.get("epoch", 0.0)) % 1.0
        starts = loader_starts(run)
        if resumed["skips"] or not PART < used < 1 - PART or not starts:
            return
        if _is_repeated(starts[0]):
            yield self._finding(int(resumed["step"]), used)

    def _finding(self, step: int, used: float) -> Finding:
        return self.finding(
            Severity.INFO,
            f"resumed at step {step}, after {used:.0%} of an epoch, which begins anew "
            "in the same order: its rows come a second time",
            cause="ignore_data_skip is True.",
            fix="ignore_data_skip=False, or another data_seed for the rest.",
            places=[Place("config", "args.ignore_data_skip")],
            steps=(step, step),
            evidence={"used": used, "threshold": PART},
            healthy="batches that were used are left out",
        )


def _is_repeated(start: LoaderStart) -> bool:
    """Tell whether the order is the one that the epoch had the first time."""
    seeded = start.seed is not None and start.epoch is not None
    return start.order == "in order" or (start.order == "random" and seeded)
