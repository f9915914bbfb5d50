"""The rule ADP020, trained-weights-not-saved.

## What it does
Finds trained parameters that saving omits: those outside an adapter, or the adapter
itself where its base model was saved instead.

## Why is this bad?
`save_pretrained` of a PeftModel, and every checkpoint of a Trainer, write the adapter's
own tensors and the copies in modules_to_save, nothing else. A head, norms or embeddings
that were unfrozen by hand are trained, the evaluation in the same process is good, but
the reloaded model has the old ones: for new tokens, random rows. A base model that is
saved with its adapter still on it (`model.get_base_model().save_pretrained(folder)`) is
worse off: its adapted layers are in the file under PEFT's names, from_pretrained finds
none of them, and initializes these layers randomly.

## Evidence
What PEFT's own `get_peft_model_state_dict` selects of the model's parameters, against
those with `requires_grad`, compared by identity; nothing is saved for it. Embeddings
count as saved when PEFT would add them by itself: they are targets, or the base model's
configuration is on this machine and has another vocabulary size. There is no threshold.
Where that depends on a base model that is not here, it is *not checked*.
A warning where a Trainer saves checkpoints, for it saves by PEFT, and from the first
save on; a note until then in a loop of one's own, and with `save_strategy="no"`: who
saves later may do it by other means.
*wrapped-base*: a model that was saved whole, read back from the disk, has keys with
`.base_layer.` or `.lora_A.` in them. An error, and a warning where the adapter was
saved in the run as well. *unloaded*: after updates the adapter was taken off with
`unload()`, unmerged, a model was saved whole, by its own method or by hand (all of its
weights in one `torch.save` or `save_file`), and no adapter was, nor was a state dict
with one taken since the last update; nor has a base weight changed since the start, as
by a merge that somebody wrote. A warning. *other-merged*: the same after another
adapter was merged than those that an optimizer holds, by its name or as the active one.
*other-adapter*: after updates, all adapters that were saved at one step are others than
those that an optimizer holds, and none of these was saved in the run. A warning.
Measured with transformers 5.23, peft 0.21.2: of 21 keys of a tiny Llama 4 are found
under no name when such a folder is loaded, and drawn anew.
By hand: `[k for k in safe_open(file, "pt").keys() if "base_layer" in k]`, and
`set(k for k, p in model.named_parameters() if p.requires_grad)` against
`peft.get_peft_model_state_dict(model)`.

## What to try
1. `LoraConfig(..., modules_to_save=["lm_head"])` before get_peft_model, instead of
   requires_grad_(True) after it; the task type (`SEQ_CLS`) does it for heads.
2. For new tokens: `trainable_token_indices=[...]`, modules_to_save with both
   embeddings, or `model.save_pretrained(folder, save_embedding_layers=True)`.
3. `bias="all"` or `"lora_only"` for biases.
4. Save them yourself next to the adapter, and load them after it.
5. *wrapped-base*, *unloaded*: `model.save_pretrained(folder)` of the PeftModel, or
   `model.merge_and_unload().save_pretrained(folder)` for a model without PEFT. A file
   that exists still holds everything: rename `base_layer.` away and add the adapter.

## Known problems
Saving such weights with custom code next to the adapter is reported too. Prompt
learning is not judged. A merged model is saved completely; the warning is about the
adapter.

## References
- huggingface/peft#577, #2738 (a trainable head that is not in the file)
- huggingface/peft#1335, #1147, #1689, #2589, #1457 (resized embeddings)
- huggingface/sentence-transformers#3980
- instructlab/training#141 (whole unmerged checkpoints, adapters dropped on loading)
"""

from collections.abc import Sequence

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.adapter_states import held_adapters
from ftlab.rules.reading.saving import is_saved_by_peft, needs_peft_model, saving, span
from ftlab.rules.reasons.merged_adapters import others_merged
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words


class TrainedWeightsNotSaved(Rule):
    """Finds trainable parameters that no adapter's file will hold."""

    code = "ADP020"
    status = "stable"
    layer = "rollback"
    requires = needs_peft_model
    caused_by = ("EXP014", "ADP016", "ADP003")

    def check(self, run: Run) -> Results:
        """Yield one finding for all of them."""
        yield from self._without_adapter(run)
        facts = saving(run)
        untrained = _untrained(run)
        lost = [name for name in facts.get("unsaved", ()) if name not in untrained]
        if lost:
            yield self._finding(run, lost)
        elif unknown := list(facts.get("undecided", ())):
            yield self.cannot_tell(
                f"PEFT saves {in_words(unknown)} only if the base model has a "
                "different vocabulary size, but its configuration is not on this "
                "machine",
                "model.save_pretrained(folder, save_embedding_layers=True) saves them "
                "in any case",
            )

    def _without_adapter(self, run: Run) -> Results:
        """Yield the first model that was saved whole without what was trained."""
        apart = any(_is_save(entry, "adapter") for entry in run.ledger)
        for entry in run.ledger:
            if _is_save(entry, "model") and entry.detail.get("inside"):
                yield self._wrapped(entry, apart=apart)
                return
            if _is_save(entry, "model") and not apart and _is_bare(run, entry):
                yield self._unloaded(entry)
                return
            if _is_save(entry, "model") and not apart:
                if wrong := others_merged(run, entry):
                    yield self._merged(entry, *wrong)
                return
        if apart and (others := _others_saved(run)):
            yield self._others(*others)

    def _wrapped(self, entry: LedgerEntry, *, apart: bool) -> Finding:
        detail = entry.detail
        return self.finding(
            Severity.WARNING if apart else Severity.ERROR,
            f"step {entry.step}, saved to {detail['folder']}: {detail['inside']} of "
            f"{counted(detail['keys'], 'key')} contain PEFT's names, such as "
            f"{detail['example']}",
            cause="The base model inside the PeftModel was saved with the adapter on "
            "it: from_pretrained finds none of these keys and initializes the adapted "
            "layers randomly.",
            fix="model.save_pretrained(folder) of the PeftModel, or "
            "model.merge_and_unload().save_pretrained(folder).",
            places={"call": "save_pretrained", "file": "adapter keys"},
            steps=(entry.step, entry.step),
            reason="wrapped-base",
            evidence={"keys": detail["inside"]},
            healthy="a fully saved model has no key with base_layer in it",
        )

    def _unloaded(self, entry: LedgerEntry) -> Finding:
        return self.warning(
            f"step {entry.step}, saved to {entry.detail['folder']}: the model without "
            "the trained adapter, which was not saved",
            cause="unload() removes the adapter without merging it: the saved model is "
            "the base model from before training.",
            fix="Use merge_and_unload() instead of unload(), or save the PeftModel "
            "first.",
            places={"call": ["unload", "save_pretrained"]},
            steps=(entry.step, entry.step),
            reason="unloaded",
            evidence={"keys": int(entry.detail.get("keys", 0))},
            healthy="the adapter is saved, or merged into what is saved",
        )

    def _merged(self, entry: LedgerEntry, merged: set[str], held: set[str]) -> Finding:
        trained = ", ".join(sorted(map(repr, held)))
        return self.warning(
            f"step {entry.step}, saved to {entry.detail['folder']}: the model with "
            f"{', '.join(sorted(map(repr, merged)))} merged into it, but {trained} was "
            "trained",
            cause="merge_and_unload() merges the adapters it is given, or else the "
            "active ones; the trained one is neither merged nor saved.",
            fix=f"model.set_adapter({trained}) before merge_and_unload(), or "
            f"merge_and_unload(adapter_names=[{trained}]).",
            places={"call": ["merge_and_unload", "set_adapter", "save_pretrained"]},
            steps=(entry.step, entry.step),
            reason="other-merged",
            evidence={"adapters": len(held)},
            healthy="the trained adapter is among the merged ones",
        )

    def _others(self, entry: LedgerEntry, saved: set[str], held: set[str]) -> Finding:
        trained = ", ".join(sorted(map(repr, held)))
        return self.warning(
            f"step {entry.step}, saved to {entry.detail['folder']}: the adapter "
            f"{', '.join(sorted(map(repr, saved)))}, but {trained} was trained",
            cause="selected_adapters does not name the adapter that the optimizer "
            "holds: the trained one is in no file.",
            fix=f"model.save_pretrained(folder, selected_adapters=[{trained}]), or "
            "omit selected_adapters.",
            places={"call": "save_pretrained", "file": "adapter keys"},
            steps=(entry.step, entry.step),
            reason="other-adapter",
            evidence={"adapters": len(held)},
            healthy="the trained adapter is among the saved ones",
        )

    def _finding(self, run: Run, lost: Sequence[str]) -> Finding:
        trained = max(len(run.names()), len(lost))
        modules = dict.fromkeys(name.split(".")[-2] for name in lost if "." in name)
        wanted = ", ".join(repr(name) for name in modules)
        return self.finding(
            Severity.WARNING if is_saved_by_peft(run) else Severity.INFO,
            f"from step {run.facts.step}: saving the adapter omits {len(lost)} of "
            f"{counted(trained, 'trainable tensor')}: {in_words(lost)}",
            cause="They were unfrozen separately: PEFT saves only the adapter's own "
            "tensors and modules_to_save, so these are lost on reload.",
            fix="Name them in the configuration before get_peft_model: "
            f"modules_to_save=[{wanted}] (new tokens: trainable_token_indices, or "
            "save_pretrained(..., save_embedding_layers=True)).",
            places={"param": lost, "config": "modules_to_save", "file": "adapter keys"},
            steps=span(run, run.facts.step),
            evidence={"left_out": len(lost), "trainable": trained, "threshold": 0},
            healthy="save_pretrained writes every trainable tensor",
        )


def _is_save(entry: LedgerEntry, kind: str) -> bool:
    return entry.op == "save" and entry.detail.get("kind") == kind


def _is_bare(run: Run, save: LedgerEntry) -> bool:
    """Tell whether a trained adapter was taken off, unmerged, before the save."""
    if save.detail.get("adapter_taken") or save.detail.get("base_changed"):
        return False
    merged = updated = False
    for entry in run.ledger:
        if entry is save:
            return False
        updated |= entry.op == "step"
        if entry.op in ("merge", "unmerge"):
            merged = entry.op == "merge"
        if entry.op == "unload" and updated and not merged:
            return entry.detail.get("call") == "unload"
    return False


def _others_saved(run: Run) -> tuple[LedgerEntry, set[str], set[str]] | None:
    """Return a save after updates, its adapters, and those that no save holds.

    One that was combined after an update may be made of what was trained.
    """
    held, updated = held_adapters(run), False
    made: set[str] = set()
    last: LedgerEntry | None = None
    names: set[str] = set()
    for entry in run.ledger:
        updated |= entry.op == "step"
        if updated and entry.detail.get("call") == "add_weighted_adapter":
            made.add(str(entry.detail.get("adapters", "")))
        if _is_save(entry, "adapter") and "adapters" in entry.detail:
            names |= set(entry.detail["adapters"])
            last = entry if updated else last
    if last is None or not held or names & (held | made):
        return None
    return last, names, held


def _untrained(run: Run) -> set[str]:
    """Name what is in no optimizer: OPT002 speaks of it, and nothing of it is lost."""
    optimizers = run.facts.optimizers
    return set(optimizers[0].get("missing", ())) if optimizers else set()
