"""The rule ADP035, best-adapter-not-found.

## What it does
Finds Trainers that shall load the best adapter at the end, and look for it in a folder
where it is not.

## Why is this bad?
`load_best_model_at_end=True` promises the best checkpoint. PEFT saves an adapter that
is not called "default" one folder below the checkpoint; the Trainer looks in the
checkpoint itself, finds nothing, and writes one line to its log. The model that comes
out of `train()` is the last one, and `trainer.save_model()` saves that.

## Evidence
The trainer's `load_best_model_at_end`, and each of its checkpoints as it is on disk:
adapters are in folders of their own name only. There is no threshold. Read in
transformers 5.23 (`Trainer._load_best_model`) and measured with it and peft 0.21.2,
the first of two checkpoints being the best: with an adapter called "mine" all 8
tensors are those of the last one after train(), with "default" those of the best.
By hand: `ls checkpoint-*/adapter_model.safetensors`.

## What to try
1. Leave the adapter's name alone: `get_peft_model(model, config)`.
2. After `train()`: `model.load_adapter(f"{trainer.state.best_model_checkpoint}/{name}",
   name)`.

## Known problems
Who loads the best adapter by hand afterwards is warned too.

## References
- huggingface/transformers#36201 (adapters with another name than default)
- huggingface/transformers#24103
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.rule import Rule
from ftlab.rules.saving import has_adapters, needs_model, span
from ftlab.runlog.run import Run

_CHECKPOINT = "checkpoint-"
"""What the Trainer calls its checkpoints."""


class BestAdapterNotFound(Rule):
    """Finds checkpoints whose adapter the Trainer will not find again."""

    code = "ADP035"
    name = "best-adapter-not-found"
    since = "0.1.0"
    status = "stable"
    layer = "rollback"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether a Trainer shall load the best adapter."""
        asked = (run.facts.training.get("args") or {}).get("load_best_model_at_end")
        return not run.facts.model or (bool(asked) and has_adapters(run))

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for the first checkpoint that is so."""
        for entry in run.ledger:
            name = str(entry.detail.get("folder", ""))
            if entry.op == "save" and name.startswith(_CHECKPOINT):
                below = list(entry.detail.get("below", ()))
                if below and len(below) == len(entry.detail.get("adapters", ())):
                    yield self._finding(run, entry, below)
                return

    def _finding(self, run: Run, entry: LedgerEntry, below: list[str]) -> Finding:
        folder, name = entry.detail["folder"], below[0]
        return self.finding(
            Severity.WARNING,
            f"step {entry.step}: {folder} holds its adapter in {folder}/{name}, and "
            "load_best_model_at_end looks for it in the checkpoint itself",
            cause=f"The adapter is called {name!r}: PEFT saves it one folder below, "
            "and the Trainer does not look there. The last weights stay, not the best.",
            fix="Call the adapter 'default' (leave adapter_name out), or load it after "
            f"train(): model.load_adapter(best_checkpoint + '/{name}', {name!r}).",
            places=[
                Place("config", "load_best_model_at_end"),
                Place("file", "adapter keys"),
            ],
            steps=span(run, entry.step),
            evidence={"reason": "adapter-name", "adapters": len(below)},
            healthy="adapter_model.safetensors is in the checkpoint's own folder",
        )
