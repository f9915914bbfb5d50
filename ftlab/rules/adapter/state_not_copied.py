"""The rule ADP033, state-not-copied.

## What it does
Finds weights that are restored from a state dict that shares the model's memory, and
files to which such a dict is written after further updates.

## Why is this bad?
`model.state_dict()` copies nothing: its tensors are the weights. A "best" state kept in
a variable keeps changing with every update, and loading it at the end changes nothing
at all; writing it to `best.pt` writes the current weights. What is evaluated and saved
is the last state, under the name of the best one.

## Evidence
At each `load_state_dict` (and PEFT's `set_peft_model_state_dict`): the addresses of the
trainable tensors that are given, against those of the model's own. Reported when all of
them are the same memory, weights were updated before in the run, and the dict is older
than the last update: it was not taken since, and nothing else has written to the
weights since (torch counts writes): *own-memory*. At each `torch.save` and `save_file`:
tensors that a `state_dict()` gave before the last update, and after the first, and that
lie in the memory of trainable weights (*written-late*). A dict that was taken before
the first update is a view that somebody made in advance: it is meant to show the
weights as they are. There is no threshold, and nothing is compared by value.
By hand: `best["...lora_B..."].data_ptr() == parameter.data_ptr()`.

Measured with torch 2.13, LoRA on a tiny Llama, the state of step 5 loaded after step
19: 0 of 3,584 elements change; with `copy.deepcopy` all of them do.
`.cpu()` copies from a GPU and hands back the same tensor on a CPU. A tiny BERT
classifier, the best state that of step 5 with a loss of 1.088, written after step 23:
what is loaded of that file has a loss of 1.220, as after step 23.

## What to try
1. `best = copy.deepcopy(model.state_dict())`, or
   `{k: v.detach().clone() for k, v in model.state_dict().items()}`.
2. For an adapter only: `get_peft_model_state_dict(model)`, cloned likewise.
3. Write it to disk (`save_pretrained`) and load that.

## Known problems
A dict that was filled in place by `torch.distributed.checkpoint.load` is the model's
own memory too and was loaded by that: the write is seen, and nothing is reported. Where
a file is written, `v.detach()` of a state dict's tensor is not recognised, nor is what
`save_pretrained(..., state_dict=best)` writes.

## References
- pytorch/tutorials#188, pytorch/pytorch#34765 (state_dict returns references)
- WenjieDu/PyPOTS#667, thunlp/OpenKE#131, sicara/easy-few-shot-learning#129
"""

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.loads import held_writes, loads_of, updated_before, words_of
from ftlab.rules.reading.saving import needs_model
from ftlab.rules.rule import Finding, Results, Rule, Run
from ftlab.rules.words import counted


class StateNotCopied(Rule):
    """Finds restores that change nothing."""

    code = "ADP033"
    status = "stable"
    layer = "rollback"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether anything was loaded, or written late."""
        return not len(run.steps) or bool(loads_of(run) or held_writes(run))

    def check(self, run: Run) -> Results:
        """Yield one finding for each step that such a load was made in."""
        told: set[int] = set()
        for entry in loads_of(run):
            aliased = entry.detail.get("aliased", 0)
            whole = bool(aliased) and aliased == entry.detail.get("of")
            stale = whole and not entry.detail.get("fresh")
            if stale and entry.step not in told and updated_before(run, entry):
                told.add(entry.step)
                yield self._finding(entry, int(aliased))
        for entry in held_writes(run)[-1:]:
            yield self._written(entry)

    def _written(self, entry: LedgerEntry) -> Finding:
        stale, updates = int(entry.detail["stale"]), int(entry.detail["updates"])
        file = str(entry.detail.get("file", "")) or "what was written"
        return self.error(
            f"step {entry.step}: {file} has {counted(stale, 'trainable tensor')} from "
            f"a state dict that was taken {counted(updates, 'update')} before, with "
            "current values",
            cause="The state_dict() was kept without a copy: it changed with every "
            "update, and the file contains the current weights.",
            fix="Keep a copy: copy.deepcopy(model.state_dict()), or write the file "
            "immediately.",
            places={"call": "state_dict", "file": file},
            steps=(entry.step, entry.step),
            reason="written-late",
            evidence={"tensors": stale, "updates": updates},
            healthy="a written state is a copy, or was taken after the last update",
        )

    def _finding(self, entry: LedgerEntry, aliased: int) -> Finding:
        return self.error(
            f"step {entry.step}: {words_of(entry)} was given the model's own memory "
            f"for {counted(aliased, 'trainable tensor')}: nothing changed",
            cause="The state_dict() was kept without a copy: it changed with every "
            "update, and loading it restores nothing.",
            fix="Keep a copy: copy.deepcopy(model.state_dict()), or clone each tensor.",
            places={"call": ["load_state_dict", "state_dict"]},
            steps=(entry.step, entry.step),
            reason="own-memory",
            evidence={"tensors": aliased},
            healthy="the restored tensors are copies",
        )
