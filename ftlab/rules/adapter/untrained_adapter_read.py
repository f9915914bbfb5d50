"""The rule ADP059, untrained-adapter-read.

## What it does
Finds folders saved by the run that are loaded to get the trained adapter but contain a
different one, which was never trained.

## Why is this bad?
`save_pretrained(folder)` writes each adapter that is not called "default" into a folder
of its name, and "default" into `folder` itself. Calling get_peft_model, adding an
adapter of a different name and training that gives two; `from_pretrained(base, folder)`
reads "default", whose B are all 0. Every key is found, nothing warns, and the model
behaves like its base.

## Evidence
At each `load_adapter` (`PeftModel.from_pretrained` calls it), into whatever model, from
a folder that this run has saved an adapter to: all B in the folder's own file are
exactly 0, and a folder below it, which has an adapter's name that an optimizer holds,
has others. Quiet where that folder was loaded as well. There is no threshold. Measured
with peft 0.21.2, an adapter "ft" trained beside "default" on a tiny GPT-2: the norm of
the loaded B is 0, of the trained one 1.44; nothing warns of it.
By hand: `ls folder folder/*/`, and the B of `folder/adapter_model.safetensors`.

## What to try
1. `PeftModel.from_pretrained(base, folder + "/name")`.
2. `model.delete_adapter("default")` before training, or train "default" itself.
3. `model.save_pretrained(folder, selected_adapters=["name"])` still writes into
   `folder/name`; then there is nothing in `folder` that could be mistaken for it.

## Known problems
Loads in other processes are not seen: pass the folder to
`ftlab.preflight(model, adapter=folder)` there (ADP028). Adapters that do not start at B
= 0 are not judged.

## References
- huggingface/peft#1059, #699 (what is in the folder of several adapters)
- peft `peft_model.py`, `save_pretrained`: the folder of an adapter's own name
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.adapter_states import held_adapters
from ftlab.rules.reading.saving import has_adapters, needs_model
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run


class UntrainedAdapterRead(Rule):
    """Finds loads of the untrained adapter that lies above the trained one."""

    code = "ADP059"
    name = "untrained-adapter-read"
    since = "0.1.0"
    status = "preview"
    layer = "rollback"
    requires = (needs_model,)
    caused_by = ("ADP035",)

    def applies(self, run: Run) -> bool:
        """Tell whether a folder of this run was read."""
        return has_adapters(run) and (not run.facts.model or bool(_reads(run)))

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for the first such folder."""
        reads, held = _reads(run), held_adapters(run)
        whole = {str(e.detail["folder"]) for e in reads if not e.detail["zero"]}
        for entry in reads:
            trained = sorted(held.intersection(entry.detail["below"]))
            if entry.detail["zero"] and trained and not whole.intersection(trained):
                yield self._finding(entry, trained[0])
                return

    def _finding(self, entry: LedgerEntry, name: str) -> Finding:
        folder = entry.detail["folder"]
        return self.finding(
            Severity.WARNING,
            f"step {entry.step}: the adapter loaded from {folder} has only zeros in B; "
            f"{name!r}, which was trained, is in {folder}/{name}",
            cause="PEFT saves an adapter that is not called 'default' one folder below "
            "and loads what is in the folder itself: one that was never trained.",
            fix=f"PeftModel.from_pretrained(base, folder + '/{name}'), or "
            "model.delete_adapter('default') before training.",
            places=[
                Place("file", "adapter keys"),
                Place("call", "from_pretrained"),
                Place("call", "save_pretrained"),
            ],
            steps=(entry.step, entry.step),
            evidence={"reason": "other-in-root", "adapters": 1},
            healthy="the loaded folder contains the trained adapter",
        )


def _reads(run: Run) -> list[LedgerEntry]:
    return [entry for entry in run.ledger if entry.op == "read"]
