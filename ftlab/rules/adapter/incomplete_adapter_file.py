"""The rule ADP028, incomplete-adapter-file.

## What it does
Finds adapter files that do not contain what the model needs: files written while the
run was watched, and the one that the adapter was loaded from.

## Why is this bad?
It shows only when the model is loaded again, on a different machine, weeks later: a
random head, an adapter that adds nothing, NaN in every output. Sharded training writes
tensors without elements; a patched `state_dict` writes none at all.

## Evidence
Files as they are on disk, read back right after `save_pretrained` or a Trainer's
checkpoint, and the folder passed as `adapter`. There is no threshold.
- *empty*: no key at all, or tensors without elements. *merged-away*: after the adapter
  was unloaded in the run.
- *not-finite*: NaN or infinity among the values.
- *zero*: every B of the file is 0, and in the model not (after a save), or the adapter
  was loaded so (before the first step).
- *other-in-root*: the same of what was loaded, and a folder below holds an adapter that
  is not 0: PEFT saves each that is not called "default" in a folder of its name.
- *outdated*: a pickled `adapter_model.bin` was written beside an older
  `adapter_model.safetensors` of other values, which is what loading reads.
- *absent*: tensors of the model's adapter that the file does not have, modules_to_save
  among them, or trainable parameters that no file has and that ADP020 did not foresee.
  Adapters that selected_adapters leaves out, prompts and merged models are not judged.
- *adapter-name*: the same, and each of them is in a module that another adapter is
  called like. peft 0.21.2 takes the keys of all modules called so for that adapter's.
- *no-adapter*, *unreadable*: the folder holds a whole model or nothing, or a file that
  is cut off.
By hand: `f = safetensors.safe_open(path, "pt")`, then
`{k: f.get_tensor(k).abs().max() for k in f.keys()}`.

## What to try
1. Save again with `model.save_pretrained(folder)`, without a custom state_dict.
2. ZeRO-3, FSDP: gather the parameters first (transformers 5 does; before,
   `stage3_gather_16bit_weights_on_model_save`).
3. *not-finite*: go back to the previous checkpoint; NUM001 says where it began.
4. *adapter-name*: call no adapter `q_proj`, `score`, `layers` or the like.
5. *outdated*: delete the older file, and save as safetensors.
6. *absent*: modules_to_save must be the same when saving and when loading.

## Known problems
An adapter that is saved before it was trained has B = 0 in the model too, and is not
reported when it is saved. A pickled `adapter_model.bin` is not opened: *not checked*.

## References
- huggingface/trl#4416, huggingface/peft#2892, #2450, #939 (empty files of ZeRO-3)
- huggingface/peft#699, #1059 (what is in the folder of several adapters)
- huggingface/peft#2032, #2871 (saved after merge_and_unload)
- tloen/alpaca-lora#319, #446, huggingface/peft#286 (443 bytes)
- huggingface/sentence-transformers#3980, unslothai/unsloth#3317 (heads)
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.saving import adapter_file, needs_peft_model, saving, span
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words

_CAUSES = {
    "empty": (
        "The file contains no values: the parameters were sharded and not gathered, or "
        "a patched state_dict returned nothing.",
        "Gather the parameters before saving (ZeRO-3, FSDP), and save with plain "
        "model.save_pretrained(folder).",
    ),
    "merged-away": (
        "The adapter was removed from the model before saving: merge_and_unload "
        "returns the merged model, and the remaining PeftModel has no adapter.",
        "Use what merge_and_unload returns: merged = model.merge_and_unload(), then "
        "merged.save_pretrained(folder); or save the adapter first.",
    ),
    "not-finite": (
        "The adapter's weights were NaN or infinite when they were saved.",
        "Go back to the last checkpoint whose values are finite; NUM001 names the step "
        "at which it began.",
    ),
    "zero": (
        "Every B in the file is 0, so the file adds nothing to any base.",
        "Save the trained model with model.save_pretrained(folder), without an older "
        "state_dict.",
    ),
    "other-in-root": (
        "This folder contains several adapters: 'default' itself, which was never "
        "trained, and the others, each in a subfolder of its name.",
        "Load the subfolder: PeftModel.from_pretrained(base, folder + '/name'); save "
        "with selected_adapters=[name], or delete 'default' first.",
    ),
    "outdated": (
        "The adapter was saved with safe_serialization=False into a folder with an "
        "adapter_model.safetensors, which PEFT reads first.",
        "Delete the old file, or save without safe_serialization=False.",
    ),
    "absent": (
        "The file was saved from a configuration with fewer parts, or not by "
        "save_pretrained; what is missing keeps its random values.",
        "Save with save_pretrained of the trained model; use the same target_modules "
        "and modules_to_save when loading.",
    ),
    "adapter-name": (
        "A different adapter has the name of a module: PEFT drops every key that "
        "contains this name from the file.",
        "Rename adapters so that no module has the same name, and save again.",
    ),
    "no-adapter": (
        "This is not an adapter's folder: it contains a full model, or no weights.",
        "Pass the folder that contains adapter_model.safetensors and "
        "adapter_config.json.",
    ),
    "unreadable": (
        "The file is truncated or damaged, as by a full disk or an interrupted copy.",
        "Save or copy it again.",
    ),
}

_TAKEN_OFF = (
    Place("call", "merge_and_unload"),
    Place("call", "save_pretrained"),
    Place("file", "adapter_model.safetensors"),
)

_FOLDER = {
    "no weights": "no-adapter",
    "full model": "no-adapter",
    "unreadable weights": "unreadable",
    "unreadable configuration": "unreadable",
    "no configuration": "no-adapter",
}


_UNKNOWN = {
    "pickled": (
        "adapter_model.bin is a pickle, and pickles are not opened",
        "save it with safe_serialization=True",
    ),
    "gone": (
        "the adapter's folder does not exist",
        "pass the folder that the adapter was loaded from",
    ),
}


class IncompleteAdapterFile(Rule):
    """Finds files from which the adapter cannot come back."""

    code = "ADP028"
    status = "stable"
    requires = needs_peft_model
    caused_by = ("EXP014", "NUM001", "ADP020")

    def check(self, run: Run) -> Results:
        """Yield what is wrong with the file that was loaded, then with those saved."""
        file = adapter_file(run)
        yield from self._loaded(run, file)
        for problem in file.get("problems", ()):
            if problem in _UNKNOWN:
                yield self.cannot_tell(*_UNKNOWN[problem])
        foreseen = set(saving(run).get("unsaved", ()))
        named = list(run.facts.model.get("peft") or ())
        for entry in run.ledger:
            if entry.op == "save" and entry.detail.get("kind") == "adapter":
                found = _of_save(entry.detail, foreseen)
                if found is not None:
                    reason, words, names = found
                    if reason == "empty" and _is_taken_off(run, entry):
                        reason = "merged-away"
                    if reason == "absent" and _are_named(names, named):
                        reason = "adapter-name"
                    where = f"saved to {entry.detail.get('folder')}"
                    steps = (entry.step, entry.step)
                    yield self._finding(reason, f"{where}: {words}", names, steps)

    def _loaded(self, run: Run, file: Mapping[str, Any]) -> Results:
        steps = span(run)
        for problem in file.get("problems", ()):
            if problem in _FOLDER:
                words = f"loaded from {file.get('folder')}: {problem}"
                yield self._finding(_FOLDER[problem], words, (), steps)
        broken = list(file.get("broken", ()))
        if broken:
            words = (
                f"{counted(len(broken), 'tensor')} of the file contain NaN or infinity"
            )
            yield self._finding("not-finite", f"loaded: {words}", broken, steps)
        if file.get("b") and file.get("zero_b") == file.get("b"):
            words = f"loaded: all {file['b']} B of the file are 0"
            if below := list(file.get("below", ())):
                words += f", but those in the subfolder {in_words(below)} are not"
            reason = "other-in-root" if below else "zero"
            yield self._finding(reason, words, (), steps)
        absent = list(file.get("absent", ()))
        if absent and not file.get("unread"):
            words = f"loaded: the file lacks {in_words(absent)}"
            yield self._finding("absent", words, absent, steps)

    def _finding(
        self, reason: str, words: str, names: Sequence[str], steps: tuple[int, int]
    ) -> Finding:
        cause, fix = _CAUSES[reason]
        before = f"before step {steps[0]}, " if words.startswith("loaded") else ""
        said = f"{before}{words}" if before else f"step {steps[0]}, {words}"
        return self.finding(
            Severity.WARNING if reason == "no-adapter" else Severity.ERROR,
            said,
            cause=cause,
            fix=fix,
            places=[
                *(_TAKEN_OFF if reason == "merged-away" else ()),
                Place("file", "adapter keys"),
                *(Place("param", name) for name in names if reason == "absent"),
                *([Place("config", "modules_to_save")] if reason == "absent" else ()),
            ],
            steps=steps,
            reason=reason,
            evidence={"tensors": len(names)},
            healthy="the file contains every tensor of the adapter, finite, with the "
            "model's values",
        )


def _is_taken_off(run: Run, save: LedgerEntry) -> bool:
    """Tell whether the adapter was unloaded before the save."""
    place = save.step, save.index
    return any(e.op == "unload" and (e.step, e.index) < place for e in run.ledger)


def _are_named(left: Sequence[str], adapters: Sequence[str]) -> bool:
    """Tell whether each of these has an adapter's name as that of a module."""
    paths = [re.split(r"\.(?:lora_|modules_to_save\.)", name)[0] for name in left]
    return all(set(path.split(".")) & set(adapters) for path in paths)


def _of_save(
    detail: Mapping[str, Any], foreseen: set[str]
) -> tuple[str, str, list[str]] | None:
    """Return reason, words and names of what is wrong with one save."""
    shapeless, broken = (
        list(detail.get("shapeless", ())),
        list(detail.get("broken", ())),
    )
    if detail.get("outdated"):
        return "outdated", "there is an older adapter_model.safetensors next to it", []
    if detail.get("keys") == 0:
        return "empty", "the file has no key", []
    if shapeless:
        words = f"{counted(len(shapeless), 'tensor')} have no elements"
        return "empty", words, shapeless
    if broken:
        words = f"{counted(len(broken), 'tensor')} hold NaN or infinity"
        return "not-finite", words, broken
    b, zero = detail.get("b", 0), detail.get("zero_b", 0)
    if b and zero == b and detail.get("live_zero_b", b) < b:
        return "zero", f"all {b} B are 0, but in the model they are not", []
    left = [name for name in detail.get("unsaved", ()) if name not in foreseen]
    if left and not detail.get("renamed"):
        return "absent", f"no file contains {in_words(left)}", left
    return None
