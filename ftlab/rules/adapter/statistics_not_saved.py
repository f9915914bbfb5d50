"""The rule ADP044, statistics-not-saved.

## What it does
Finds batch norms in a model with an adapter whose running statistics change in training
but are not saved with the adapter.

## Why is this bad?
A frozen batch norm has frozen weights, not frozen statistics: in training mode it keeps
averaging over the batches it sees. Evaluation uses these averages, but an adapter's
file does not contain them. The reloaded adapter uses the old statistics: its outputs
differ from those of the model that was just evaluated.

## Evidence
The count of batches of each batch norm, before and after the first forward of a
measured step, where the model has adapters and the norm is no copy in modules_to_save.
The threshold is 0. A note (*moves*); a warning where a Trainer trains, which saves the
adapter alone, and once an adapter was saved in the run (*saved*). Measured (two
convolutions with LoRA, images with a different mean, 14 steps): logits of the model and
of its reloaded adapter differ by 0.053, by 0 with the norms in modules_to_save.
By hand: `{n: m.num_batches_tracked for n, m in model.named_modules() if hasattr(m,
"num_batches_tracked")}` before and after a step.

## What to try
1. Keep them fixed: `module.eval()` for the batch norms after each `model.train()`.
2. Save them: `modules_to_save=["bn1", ...]` in the adapter's configuration.
3. Merge and save the whole model.

## Known problems
Also saving the whole state dict does not prevent the warning.

## References
- PEFT, troubleshooting guide: "Bad results from a loaded PEFT model", batch norm layers
"""

import numpy as np

from ftlab.rules.reading.saving import is_saved_by_peft, needs_peft_model
from ftlab.rules.reading.tensors import records_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words


class StatisticsNotSaved(Rule):
    """Finds running statistics that no adapter's file will hold."""

    code = "ADP044"
    status = "stable"
    requires = needs_peft_model

    def check(self, run: Run) -> Results:
        """Yield one finding for all batch norms."""
        if "gathered" not in run.columns("statistics"):
            return
        gathered = run.matrix("gathered", "statistics")
        moved = gathered.known & (gathered.values > 0)
        names = records_of(run, gathered.ids, "statistics")
        unsaved = np.array([bool(name.meta.get("unsaved")) for name in names], bool)
        moved = moved & unsaved
        if not moved.any():
            return
        norms = [names[index].name for index in np.flatnonzero(moved.any(axis=0))]
        rows = gathered.steps[moved.any(axis=1)]
        yield self._finding(run, norms, (int(rows[0]), int(rows[-1])))

    def _finding(self, run: Run, norms: list[str], steps: tuple[int, int]) -> Finding:
        saved = is_saved_by_peft(run)
        return self.finding(
            Severity.WARNING if saved else Severity.INFO,
            f"{at_steps(*steps)}: the running statistics of "
            f"{counted(len(norms), 'batch norm')} change, but the adapter's file does "
            f"not contain them: {in_words(norms)}",
            cause="Batch norms in training mode average over each batch, even if their "
            "weights are frozen; PEFT saves only the adapter's parameters.",
            fix="Put these norms into modules_to_save, or keep them in evaluation mode "
            "while training.",
            places={"module": norms, "config": "modules_to_save"},
            steps=steps,
            reason="saved" if saved else "moves",
            evidence={"norms": len(norms), "threshold": 0},
            healthy="statistics do not change, or are saved with the adapter",
        )
