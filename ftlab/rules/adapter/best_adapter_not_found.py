"""The rule ADP035, best-adapter-not-found.

## What it does
Finds Trainers that should load the best adapter at the end, but look for it in the
wrong folder.

## Why is this bad?
`load_best_model_at_end=True` promises the best checkpoint. PEFT saves an adapter that
is not called "default" one folder below the checkpoint; the Trainer looks in the
checkpoint itself, finds nothing, and writes one line to its log. After `train()` the
model is the last one, and `trainer.save_model()` saves that. Where there is an adapter
called "default", it is worse: the Trainer loads that one's file into the adapter that
was trained.

## Evidence
The trainer's `load_best_model_at_end`, and each of its checkpoints as it is on disk:
adapters are in folders of their own name only (*adapter-name*, a warning), or those
that the optimizer holds are, and a different one is in the checkpoint itself
(*other-in-root*, an error). There is no threshold. Read in
transformers 5.23 (`Trainer._load_best_model`) and measured with it and peft 0.21.2,
the first of two checkpoints being the best: with an adapter called "mine" all 8
tensors are those of the last one after train(), with "default" those of the best; with
"mine" trained beside an untouched "default" every B of "mine" is 0 after train().
By hand: `ls checkpoint-*/adapter_model.safetensors`.

## What to try
1. Keep the default name: `get_peft_model(model, config)`.
2. After `train()`: `model.load_adapter(f"{trainer.state.best_model_checkpoint}/{name}",
   name)`.

## Known problems
Loading the best adapter by hand afterwards is reported too.

## References
- huggingface/transformers#36201 (adapters with another name than default)
- huggingface/transformers#24103
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.adapter_states import held_adapters
from ftlab.rules.reading.saving import has_adapters, needs_model, span
from ftlab.rules.rule import Rule
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
                root = [a for a in entry.detail.get("adapters", ()) if a not in below]
                trained = held_adapters(run)
                if below and not root:
                    yield self._finding(run, entry, below)
                elif root and trained and trained.issubset(below):
                    yield self._other(run, entry, root[0], sorted(trained)[0])
                return

    def _finding(self, run: Run, entry: LedgerEntry, below: list[str]) -> Finding:
        folder, name = entry.detail["folder"], below[0]
        return self.finding(
            Severity.WARNING,
            f"step {entry.step}: {folder} holds its adapter in {folder}/{name}, but "
            "load_best_model_at_end looks for it in the checkpoint itself",
            cause=f"The adapter is called {name!r}: PEFT saves it one folder below, "
            "where the Trainer does not look. The last weights are kept, not the best.",
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

    def _other(self, run: Run, entry: LedgerEntry, root: str, name: str) -> Finding:
        folder = entry.detail["folder"]
        return self.finding(
            Severity.ERROR,
            f"step {entry.step}: {folder} itself holds the adapter {root!r}, and "
            f"load_best_model_at_end loads that into {name!r}, which is trained",
            cause=f"The trained adapter is called {name!r}, and PEFT saves it one "
            f"folder below; the Trainer loads the one above, {root!r}, instead.",
            fix=f"model.delete_adapter({root!r}) before training, or train the adapter "
            f"'default'; model.load_adapter(best_checkpoint + '/{name}', {name!r}) "
            "after train() restores it.",
            places=[
                Place("config", "load_best_model_at_end"),
                Place("file", "adapter keys"),
            ],
            steps=span(run, entry.step),
            evidence={"reason": "other-in-root", "adapters": 1},
            healthy="the trained adapter is in the checkpoint's own folder",
        )
