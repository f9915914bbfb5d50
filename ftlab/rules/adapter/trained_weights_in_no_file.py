"""The rule ADP055, trained-weights-in-no-file.

## What it does
Finds custom saves (`torch.save`, `save_file`, `accelerator.save_state`) that lack
trained weights that no other file contains either.

## Why is this bad?
A filter that keeps too little goes unnoticed: the file exists and loads with
`strict=False`. A or B alone adds nothing to the base, and what a checkpoint lacks is
reinitialized on resume, with the moments of other weights. The tensors of
`state_dict()` are detached: `if v.requires_grad` keeps none of them.

## Evidence
What is given to `torch.save` and safetensors' `save_file` after the first update,
against the parameters that optimizers hold and have changed. A tensor is a parameter's
where it is the same memory; a copy, by its name but for wrappers' and adapters', and by
its values where two adapters have that name. Counted over all files of the run; the
threshold is 0. Nothing is said once `save_pretrained` was called, once a file has the
whole model, or where a tensor that is nobody's has the size of what is missing.
- *empty*: a file without anything was written after a state dict was taken, and no file
  has a trained weight. A warning at once.
- *moments*: the optimizer's state was written, and trained weights are in no file. A
  warning when watching ends after it, or when it has happened at two steps.
- *torn*: the last files have a part of an adapter, and none has the rest of it.
  *other-adapter*: they have another adapter, and nothing that was trained. Warnings
  when watching ends and no update came after them.
- *beside*: the same, of weights that belong to no adapter: a note.
Measured with torch 2.13, peft 0.21.2, LoRA on a tiny Llama: of the 37 tensors of its
state dict 0 require a gradient, and 8 of its parameters do.
By hand: `trained = {n for n, p in model.named_parameters() if p.requires_grad}`,
`trained - set(torch.load(file))`.

## What to try
1. `model.save_pretrained(folder)`: it knows what belongs to the adapter.
2. `peft.get_peft_model_state_dict(model, adapter_name=...)` instead of a filter.
3. `{n: p.detach() for n, p in model.named_parameters() if p.requires_grad}`: parameters
   know whether they are trained, and a state dict's tensors do not.
4. accelerate: what a pre-save hook removes from `weights` it has to save itself.

## Known problems
What is written by other means (pickle, NumPy, torch.distributed.checkpoint), before
watching begins or after it ends is not seen. Half of an adapter that was written on
purpose, to inspect it, last and with nothing else saved, is reported too. Sharded
parameters are not judged.

## References
- speechbrain/speechbrain#2715 (a state dict filtered by requires_grad is empty)
- Lightning-AI/pytorch-lightning#19149 (filters for LoRA's weights)
- accelerate, `Accelerator.register_save_state_pre_hook`
"""

from collections.abc import Sequence

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import needs_model
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words

_CAUSES = {
    "empty": (
        "The tensors of a state dict are detached: none requires a gradient, so a "
        "filter by requires_grad keeps nothing.",
        "Filter model.named_parameters() instead of state_dict(), or use "
        "model.save_pretrained(folder).",
    ),
    "moments": (
        "The optimizer's state was saved but its weights were not: a filter or a "
        "pre-save hook dropped them.",
        "Save all weights that the optimizer holds with its state; a pre-save hook "
        "that removes weights from the list has to save them itself.",
    ),
    "torn": (
        "A filter by name keeps only a part of the adapter: one factor without the "
        "other, or LoRA without what modules_to_save has trained.",
        "Use model.save_pretrained(folder), or get_peft_model_state_dict(model) "
        "instead of the filter.",
    ),
    "other-adapter": (
        "The file contains a different adapter than the trained one.",
        "Use get_peft_model_state_dict(model, adapter_name=...) with the name of the "
        "trained adapter.",
    ),
    "beside": (
        "The saved files contain the adapter, or a part of the model, but not these "
        "weights, which were trained as well.",
        "Save them too if they are needed; modules_to_save makes them part of the "
        "adapter.",
    ),
}


class TrainedWeightsInNoFile(Rule):
    """Finds files of one's own without weights that were trained."""

    code = "ADP055"
    layer = "rollback"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether anything was written by hand."""
        return not len(run.steps) or bool(_writes(run))

    def check(self, run: Run) -> Results:
        """Yield one finding for all files."""
        writes = _writes(run)
        if not writes or _is_saved(run) or not writes[-1].detail["left_count"]:
            return
        if reason := _reason(writes):
            yield self._finding(writes, reason)

    def _finding(self, writes: Sequence[LedgerEntry], reason: str) -> Finding:
        cause, fix = _CAUSES[reason]
        last, detail = writes[-1], writes[-1].detail
        files = dict.fromkeys(str(e.detail.get("file", "")) for e in writes)
        named = [name for name in files if name] or ["a file"]
        left = [str(name) for name in detail["left"]]
        return self.finding(
            Severity.INFO if reason == "beside" else Severity.WARNING,
            f"step {last.step}: {in_words(named)} "
            f"{'have' if len(named) > 1 else 'has'} {detail['has']} of "
            f"{counted(detail['of'], 'trained tensor')}, and no file has "
            f"{in_words(left)}",
            cause=cause,
            fix=fix,
            places={"file": named[-1], "param": left},
            steps=(last.step, last.step),
            reason=reason,
            evidence={
                "missing": int(detail["left_count"]),
                "trained": int(detail["of"]),
                "threshold": 0,
            },
            healthy="each trained tensor is in one of the files",
        )


def _writes(run: Run) -> list[LedgerEntry]:
    return [e for e in run.ledger if e.op == "write" and "left_count" in e.detail]


def _is_saved(run: Run) -> bool:
    """Tell whether the model was saved whole, or by its own method, after an update."""
    updated = False
    for entry in run.ledger:
        updated |= entry.op == "step"
        if entry.op == "save" and updated:
            return True
    return False


def _reason(writes: Sequence[LedgerEntry]) -> str:
    last = writes[-1].detail
    halves = {e.step for e in writes if e.detail["moments"] and e.detail["left_count"]}
    if not last["has"] and any(entry.detail["empty"] for entry in writes):
        return "empty"
    if (last.get("over") and last["moments"]) or len(halves) > 1:
        return "moments"
    if not last.get("over"):
        return ""
    if last["torn"]:
        return "torn"
    if not last["has"]:
        return "other-adapter" if last["others"] else ""
    return "beside"
