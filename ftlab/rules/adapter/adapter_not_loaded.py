"""The rule ADP026, adapter-not-loaded.

## What it does
Finds adapters that stand on the model without the values of the file they came from.

## Why is this bad?
Loading goes by name, and what is not found is left as it was made: B stays 0, and the
model answers exactly like its base. PEFT warns of missing keys once; a Trainer's
resume, `load_adapter` and `set_peft_model_state_dict` say nothing.

## Evidence
Before the first step: the keys of the adapter's file against those that the model would
write, and the values of those that are in both (equal within 1 %). Keys that nobody
reads are told apart by what they are like: a wrapper's or an adapter's name in them,
PEFT's prefix once more or once less, a longer or shorter head (an adapter of a causal
model on the bare transformer), or nothing that fits. Without the file three states are
proof: nothing of the model is trainable and every B is exactly 0; the adapter's own
configuration names another class than its base has and every B is 0; training is at a
step above 0 and every B is 0. A fresh adapter is none of them. Give the folder:
`ftlab.preflight(model, adapter=folder)`. By hand: `max(p.abs().max() for n, p in
model.named_parameters() if "lora_B" in n)` is 0, and `safetensors.safe_open(file,
"pt").keys()` against the model's names.

## What to try
1. *other-class*: load on the class that was trained and take its `.model`, or pass
   `key_mapping` to from_pretrained.
2. *compiled*, *parallel*: drop `_orig_mod.` or `module.` from the file's keys; compile
   in place (ADP021) or save the unwrapped model next time.
3. *wrapped-twice*: `PeftModel.from_pretrained(base, folder)` on the bare base, without
   get_peft_model before it.
4. *adapter-name*: rename the keys, or load with `adapter_name` as it was saved.
5. *other-model*, *values*: see that this folder belongs to this model.

## Known problems
A folder whose adapter was trained on since it was loaded differs in its values: pass it
before the first step. A pickled `adapter_model.bin` is not opened.

## References
- huggingface/transformers#36594 (lora_B is 0 with AutoModel), huggingface/peft#1579
- huggingface/peft#2566, #2115, #2957, huggingface/lerobot#3459
- MakazhanAlpamys/Soup#335 (resume of a compiled adapter starts at 0)
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.rule import Rule
from ftlab.rules.saving import (
    Described,
    adapter_file,
    first_facts,
    has_adapters,
    needs_model,
    span,
    start,
)
from ftlab.rules.words import counted
from ftlab.runlog.run import Run

_CAUSES = {
    "compiled": (
        "The file was saved from modules wrapped by torch.compile: '_orig_mod.' is in "
        "its keys.",
        "Drop '_orig_mod.' from the file's keys and load it again; compile in place "
        "with layer.compile() next time.",
    ),
    "parallel": (
        "The file was saved from a wrapped model: 'module.' is in its keys.",
        "Drop the wrapper's name from the file's keys; save the unwrapped model.",
    ),
    "adapter-name": (
        "The adapter's name is in the file's keys, where PEFT's files have none.",
        "Save with save_pretrained, or drop the name from the keys.",
    ),
    "wrapped-twice": (
        "PEFT was put on a model that has it already, or on the bare one: its prefix "
        "stands in the model's names once more or once less than in the file's.",
        "PeftModel.from_pretrained(base, folder) on the bare base model, without "
        "get_peft_model before it.",
    ),
    "other-class": (
        "The adapter belongs to a model with a head, and was put on the bare "
        "transformer, or the other way round: all paths begin differently.",
        "Load the class that was trained (AutoModelForCausalLM) and take its .model, "
        "or pass key_mapping to from_pretrained.",
    ),
    "other-model": (
        "The file's keys are not those of this model: it is another adapter's, or the "
        "targets are others.",
        "See that the folder belongs to this model and its target_modules.",
    ),
    "values": (
        "The adapter's tensors are not those of the file: it was not loaded, or into "
        "another adapter.",
        "PeftModel.from_pretrained(base, folder), and set_adapter to the loaded one.",
    ),
    "zero": (
        "The adapter was loaded and nothing of it was found in the file (or it was "
        "made from a saved configuration, with inference_mode in it): every B is 0.",
        "Load on the class that was trained, and mind PEFT's warning of missing keys; "
        "ftlab.preflight(model, adapter=folder) says which keys were not read.",
    ),
    "resumed-at-zero": (
        "Training goes on at a later step with an adapter that is fresh: the "
        "checkpoint holds it under names that loading did not find.",
        "Look for '_orig_mod.' or 'module.' in the checkpoint's keys; "
        "ftlab.preflight(model, adapter=checkpoint) compares them.",
    ),
}


def _places(reason: str, names: Sequence[str]) -> list[Place]:
    """Put in front what has to be looked at: the file where it is known, else B."""
    file = Place("file", "adapter keys")
    params = [Place("param", name) for name in names]
    if reason == "zero":
        return [*params, Place("config", "inference_mode"), file]
    return [file, *params]


class AdapterNotLoaded(Rule):
    """Finds adapters that do not have the values that were saved."""

    code = "ADP026"
    name = "adapter-not-loaded"
    since = "0.1.0"
    status = "stable"
    requires = (needs_model,)
    caused_by = ("ADP014",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters."""
        return has_adapters(run)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield what the file proves, or else what the state of the adapters does."""
        file = adapter_file(run)
        if file.get("keys"):
            yield from self._by_file(run, file)
            return
        yield from self._by_state(run)

    def _by_file(self, run: Run, file: Described) -> Iterator[Finding]:
        unread, keys = list(file.get("unread", ())), int(file["keys"])
        zero, other = list(file.get("live_zero_b", ())), list(file.get("different", ()))
        if unread:
            words = (
                f"{len(unread)} of {counted(keys, 'key')} of the file are not read by "
                f"the model, such as {unread[0]}"
            )
            missing = list(file.get("absent", ()))
            yield self._finding(run, str(file.get("reason")), words, missing)
        elif zero or other:
            words = (
                f"{counted(len(zero or other), 'tensor')} "
                f"{'are 0' if zero else 'differ'} that the file has otherwise: "
                f"{in_words(zero or other)}"
            )
            yield self._finding(run, "values", words, zero or other)

    def _by_state(self, run: Run) -> Iterator[Finding]:
        facts, trainable = start(run), int(first_facts(run).model.get("trainable", 1))
        for name, row in (facts.get("adapters") or {}).items():
            if not row["pairs"] or row["zero_b"] < row["pairs"]:
                continue
            wanted, live = row["saved_from"], str(facts.get("base_class", ""))
            elsewhere = bool(wanted and live and wanted != live)
            resumed = first_facts(run).step > 0 and row["trainable"]
            config = (first_facts(run).model.get("peft") or {}).get(name) or {}
            modes = first_facts(run).model.get("training_modes") or {}
            # Loading leaves a model in evaluation mode, and says inference_mode; what
            # was made for training and is frozen was not loaded: ADP010.
            loaded = not trainable and config.get("inference_mode") is not False
            loaded = loaded and not modes.get("training")
            if not (elsewhere or resumed or loaded):
                continue
            reason = "other-class" if elsewhere else "zero"
            reason = "resumed-at-zero" if resumed and not elsewhere else reason
            told = f" (saved from {wanted}, put on {live})" if elsewhere else ""
            tensors = [f"{each}.lora_B.{name}.weight" for each in row["scaling"]]
            words = f"every B of the adapter {name!r} is 0{told}: {in_words(tensors)}"
            yield self._finding(run, reason, words, tensors)

    def _finding(
        self, run: Run, reason: str, words: str, names: Sequence[str]
    ) -> Finding:
        cause, fix = _CAUSES[reason]
        first = first_facts(run).step
        return self.finding(
            Severity.ERROR,
            f"before step {first}: {words}",
            cause=cause,
            fix=fix,
            places=_places(reason, names),
            steps=span(run, first),
            evidence={"reason": reason, "tensors": len(names)},
            healthy="every key of the file is read, and B is what it is there",
        )
