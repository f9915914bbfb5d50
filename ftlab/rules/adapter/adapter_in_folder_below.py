"""The rule ADP035, adapter-in-folder-below.

## What it does
Finds trained adapters that lie one folder below the one from which an adapter is
loaded: by a Trainer that looks for the best checkpoint, or by a load in the run.

## Why is this bad?
`save_pretrained(folder)` writes each adapter that is not called "default" into a folder
of its name, and "default" into `folder` itself. Loading reads what is in `folder`: an
adapter that was never trained, whose B are all 0, or nothing. Every key is found and
nothing warns. `load_best_model_at_end=True` promises the best checkpoint; the Trainer
finds none, writes one line to its log, and keeps and saves the last weights. Where
there is an adapter called "default", it is worse: the Trainer loads that one's file
into the adapter that was trained.

## Evidence
There is no threshold. The trainer's `load_best_model_at_end`, and each of its
checkpoints as it is on disk:
- *adapter-name*: adapters are in folders of their own name only. A warning.
- *other-in-root*: those that the optimizer holds are, and a different one is in the
  checkpoint itself. An error.
- *untrained-read*: at each `load_adapter` (`PeftModel.from_pretrained` calls it), into
  whatever model, from a folder that this run has saved an adapter to: all B in the
  folder's own file are exactly 0, and a folder below it, which has an adapter's name
  that an optimizer holds, has others. Quiet where that folder was loaded as well.

Read in transformers 5.23 (`Trainer._load_best_model`) and measured with it and peft
0.21.2, the first of two checkpoints being the best: with an adapter called "mine" all 8
tensors are those of the last one after train(), with "default" those of the best; with
"mine" trained beside an untouched "default" every B of "mine" is 0 after train(). An
adapter "ft" trained beside "default" on a tiny GPT-2: the norm of the loaded B is 0, of
the trained one 1.44.
By hand: `ls folder folder/*/`, and the B of `folder/adapter_model.safetensors`.

## What to try
1. Keep the default name: `get_peft_model(model, config)`; or
   `model.delete_adapter("default")` before training another one.
2. Load it: `PeftModel.from_pretrained(base, folder + "/name")`; after `train()`
   `model.load_adapter(f"{trainer.state.best_model_checkpoint}/{name}", name)`.
3. `model.save_pretrained(folder, selected_adapters=["name"])` still writes into
   `folder/name`; then there is nothing in `folder` that could be mistaken for it.

## Known problems
Loading the best adapter by hand after train() is reported too. Loads in other processes
are not seen: pass the folder to `ftlab.preflight(model, adapter=folder)` there
(ADP028). Of what is read, adapters that do not start at B = 0 are not judged.

## References
- huggingface/transformers#36201, #24103 (adapters with another name than default)
- huggingface/peft#1059, #699 (what is in the folder of several adapters)
- peft `peft_model.py`, `save_pretrained`: the folder of an adapter's own name
"""

from collections.abc import Set

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.adapter_states import held_adapters
from ftlab.rules.reading.saving import has_adapters, needs_model, span
from ftlab.rules.rule import Finding, Results, Rule, Run

_CHECKPOINT = "checkpoint-"
"""What the Trainer calls its checkpoints."""


class AdapterInFolderBelow(Rule):
    """Finds adapters that are looked for one folder above."""

    code = "ADP035"
    status = "stable"
    layer = "rollback"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether a Trainer shall load the best adapter, or a folder was read."""
        asked = (run.facts.training.get("args") or {}).get("load_best_model_at_end")
        return not run.facts.model or (has_adapters(run) and bool(asked or _reads(run)))

    def check(self, run: Run) -> Results:
        """Yield one finding for the first checkpoint, and one for the first read."""
        asked = (run.facts.training.get("args") or {}).get("load_best_model_at_end")
        held = held_adapters(run)
        lost = self._checkpoint(run, held) if asked else None
        if lost is not None:
            yield lost
        reads = _reads(run)
        whole = {str(e.detail["folder"]) for e in reads if not e.detail["zero"]}
        for entry in reads if lost is None else ():
            trained = sorted(held.intersection(entry.detail["below"]))
            if entry.detail["zero"] and trained and not whole.intersection(trained):
                yield self._read(entry, trained[0])
                return

    def _checkpoint(self, run: Run, held: Set[str]) -> Finding | None:
        for entry in run.ledger:
            name = str(entry.detail.get("folder", ""))
            if entry.op == "save" and name.startswith(_CHECKPOINT):
                below = list(entry.detail.get("below", ()))
                root = [a for a in entry.detail.get("adapters", ()) if a not in below]
                if below and not root:
                    return self._finding(run, entry, below)
                if root and held and held <= {*below}:
                    return self._other(run, entry, root[0], sorted(held)[0])
                return None
        return None

    def _finding(self, run: Run, entry: LedgerEntry, below: list[str]) -> Finding:
        folder, name = entry.detail["folder"], below[0]
        return self.warning(
            f"step {entry.step}: {folder} holds its adapter in {folder}/{name}, but "
            "load_best_model_at_end looks for it in the checkpoint itself",
            cause=f"The adapter is called {name!r}: PEFT saves it one folder below, "
            "where the Trainer does not look. The last weights are kept, not the best.",
            fix="Call the adapter 'default' (leave adapter_name out), or load it after "
            f"train(): model.load_adapter(best_checkpoint + '/{name}', {name!r}).",
            places={"config": "load_best_model_at_end", "file": "adapter keys"},
            steps=span(run, entry.step),
            reason="adapter-name",
            evidence={"adapters": len(below)},
            healthy="adapter_model.safetensors is in the checkpoint's own folder",
        )

    def _other(self, run: Run, entry: LedgerEntry, root: str, name: str) -> Finding:
        folder = entry.detail["folder"]
        return self.error(
            f"step {entry.step}: {folder} itself holds the adapter {root!r}, and "
            f"load_best_model_at_end loads that into {name!r}, which is trained",
            cause=f"The trained adapter is called {name!r}, and PEFT saves it one "
            f"folder below; the Trainer loads the one above, {root!r}, instead.",
            fix=f"model.delete_adapter({root!r}) before training, or train the adapter "
            f"'default'; model.load_adapter(best_checkpoint + '/{name}', {name!r}) "
            "after train() restores it.",
            places={"config": "load_best_model_at_end", "file": "adapter keys"},
            steps=span(run, entry.step),
            reason="other-in-root",
            evidence={"adapters": 1},
            healthy="the trained adapter is in the checkpoint's own folder",
        )

    def _read(self, entry: LedgerEntry, name: str) -> Finding:
        folder = entry.detail["folder"]
        return self.warning(
            f"step {entry.step}: the adapter loaded from {folder} has only zeros in B; "
            f"{name!r}, which was trained, is in {folder}/{name}",
            cause="PEFT saves an adapter that is not called 'default' one folder below "
            "and loads what is in the folder itself: one that was never trained.",
            fix=f"PeftModel.from_pretrained(base, folder + '/{name}'), or "
            "model.delete_adapter('default') before training.",
            places={
                "file": "adapter keys",
                "call": ["from_pretrained", "save_pretrained"],
            },
            steps=(entry.step, entry.step),
            reason="untrained-read",
            evidence={"adapters": 1},
            healthy="the loaded folder contains the trained adapter",
        )


def _reads(run: Run) -> list[LedgerEntry]:
    return [entry for entry in run.ledger if entry.op == "read"]
