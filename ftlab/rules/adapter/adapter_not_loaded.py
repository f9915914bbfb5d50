"""The rule ADP026, adapter-not-loaded.

## What it does
Finds adapters on the model that do not have the values of their file, and loads, of
adapters or of any weights, that ignored keys they were given.

## Why is this bad?
Loading goes by name, and what is not found keeps its initial values: B stays 0, and the
model behaves exactly like its base. PEFT warns of missing keys once; a Trainer's
resume, `load_adapter` and `set_peft_model_state_dict` say nothing.

## Evidence
At each load in the run (`load_state_dict`, PEFT's `set_peft_model_state_dict` and
`load_adapter`): keys that were given and not read although the model has the same
tensor under another name and was not given it, or all keys where none was read; and
parts of an adapter that were skipped because their shape differs. There is no
threshold. A later load in the same step that was read, without a forward in between,
cancels one. *moments-without-weights*: every B that has moments of two steps or more is
exactly 0. *moments-of-other-weights*: a model's own weights are judged so by its norms,
of whose weights and biases there must be two: each has moments of Adam (more than half
of them not 0, the root of the largest second one above 1e-5) of two steps or more, a
learning rate of 1e-5 at least and 24 bits, in which that moves a 1; and all are 1 or 0
throughout. Measured on a tiny Llama, AdamW at 1e-5: after 2 steps none is.
*inactive*: an adapter that was made first is active, and all of its B are 0; one that
came later and is frozen has others. A warning where nothing is trained (no optimizer,
evaluation mode), else info: a new task next to old ones looks the same.

Before the first step: the keys of the adapter's file against those that the model would
write, and the values of those that are in both (equal within 1 %), for the adapter of
the model that has the file's values, else the active one. *other-slot*: that adapter is
not active, was not loaded for use (inference_mode), and all B of the active one are 0;
a warning, and not where a step activates it. *not-resumed-yet*: the values are not the
file's, a Trainer trains, and the folder is a checkpoint of one, which `train` reads
when it begins; only noted. Keys that nobody reads are told apart by what they are like:
a wrapper's or an adapter's name in them, PEFT's prefix once more or once less, a longer
or shorter head (an adapter of a causal model on the bare transformer), or nothing that
fits. *base-names*: weights of the base stand in its own folder, on this machine, under
a name with PEFT's or a wrapper's parts in it alone, and one of them has other values in
the model. Measured with transformers 5.23, peft 0.21.2: all adapted projections are
drawn anew, with a warning.

*outdated-file*: `adapter_model.bin` in the folder was written later than
`adapter_model.safetensors`, stores pieces of the same sizes and other bytes, and the
adapter has the values of the latter, as PEFT reads it first; also at each
`load_adapter`. The pickle is not opened: it is an archive, and its pieces are compared
as they are.

Without the file three states are proof: nothing of the model is trainable and every B
is exactly 0; the adapter's own configuration names another class than its base has and
every B is 0; training is at a step above 0 and every B is 0. A fresh adapter is none of
them. Give the folder:
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
5. *other-model*, *values*: check that this folder belongs to this model.
6. *prefix*: strip it from the keys; *other-shape*: build the adapter with the rank of
   the file; *inactive*, *other-slot*: `model.set_adapter(name)`, or load under the
   name of the adapter that is trained.
7. Check what loading returns: `model.load_state_dict(state, strict=False)` only lists
   `unexpected_keys`.

## Known problems
A folder whose adapter was trained on since it was loaded differs in its values: pass it
before the first step. A pickled `adapter_model.bin` is not opened. Loads before
watching began leave no trace but the state of the model: without its folder, a fresh
adapter at step 0 cannot be told from one that was not loaded. Prompts are loaded under
other names by PEFT, and are not judged. An average whose own code skips names that do
not match (`_orig_mod.`) is not seen.

## References
- huggingface/transformers#36594 (lora_B is 0 with AutoModel), huggingface/peft#1579
- huggingface/peft#2566, #2115, #2957, huggingface/lerobot#3459
- huggingface/peft#2699, huggingface/sentence-transformers#3865
- peft `peft_model.py`, `load_adapter`: says that it activates nothing
- huggingface/peft#553 (safetensors are read first), sshh12/multi_token#12
- huggingface/peft#3548 (unexpected keys no longer hold the adapter's name)
- cloneofsimo/lora#9, instructlab/training#141 (a base that is saved as it is wrapped)
- MakazhanAlpamys/Soup#335, wandb/senpai#2899 (an adapter, an average: both compiled)
"""

from collections.abc import Sequence

from ftlab.rules.reading.loads import loads_of, lost_loads, outdated_loads, words_of
from ftlab.rules.reading.saving import (
    Described,
    adapter_file,
    first_facts,
    has_adapters,
    idle_beside_fresh,
    idle_of_file,
    is_activated,
    needs_model,
    span,
    start,
)
from ftlab.rules.reasons.adapters_at_zero import (
    adapters_at_zero,
    weights_without_values,
)
from ftlab.rules.reasons.not_loaded_causes import CAUSES
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import counted, in_words


def _places(reason: str, names: Sequence[str]) -> list[Place]:
    """Put in front what has to be looked at: the file where it is known, else B."""
    file = Place("file", "adapter keys")
    params = [Place("param", name) for name in names]
    if reason == "zero":
        return [*params, Place("config", "inference_mode"), file]
    if reason == "moments-of-other-weights":
        return [Place("call", "load_state_dict"), *params]
    if reason == "base-names":
        return [Place("call", "from_pretrained"), *params]
    return [file, *params]


def _outdated(folder: str, adapter: str) -> str:
    return (
        f"the adapter {adapter!r} has the values of "
        f"{folder}/adapter_model.safetensors, but adapter_model.bin next to it is "
        "newer and has different ones"
    )


class AdapterNotLoaded(Rule):
    """Finds adapters that do not have the values that were saved."""

    code = "ADP026"
    status = "stable"
    requires = needs_model
    caused_by = ("ADP014",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters, or something was loaded."""
        loaded = loads_of(run) or start(run).get("base_file")
        return has_adapters(run) or bool(loaded or weights_without_values(run)[0])

    def check(self, run: Run) -> Results:
        """Yield what the file proves, or else what the state of the adapters does."""
        yield from self._by_load(run)
        count, vectors = weights_without_values(run)
        if count:
            words = (
                f"the optimizer has updated {count} weights and biases of norms, but "
                f"all have their initial values, 1 or 0: {in_words(vectors)}"
            )
            yield self._finding(run, "moments-of-other-weights", words, vectors)
        if base := start(run).get("base_file"):
            yield self._base_names(run, base)
        file = adapter_file(run)
        if file.get("keys"):
            yield from self._by_file(run, file)
            if slots := idle_of_file(run):
                yield from self._other_slot(run, *slots)
            return
        idle = idle_beside_fresh(run)
        if idle:
            yield from self._inactive(run, *idle)
        else:
            for zeros in adapters_at_zero(run):
                yield self._finding(run, zeros.reason, zeros.words, zeros.tensors)

    def _by_load(self, run: Run) -> Results:
        for entry in lost_loads(run):
            detail, who = entry.detail, words_of(entry)
            words = (
                f"{who} ignored {detail['lost']} of {counted(detail['keys'], 'key')}, "
                f"such as {detail['example']}"
            )
            yield self._finding(run, str(detail["reason"]), words, (), entry.step)
        for entry in loads_of(run):
            if shapes := list(entry.detail.get("misshapen", ())):
                words = (
                    f"{words_of(entry)} skipped {counted(len(shapes), 'tensor')} of a "
                    f"different shape: {in_words(shapes)}"
                )
                yield self._finding(run, "other-shape", words, (), entry.step)
        for entry in outdated_loads(run):
            words = _outdated(entry.detail["folder"], entry.detail["adapter"])
            yield self._finding(run, "outdated-file", words, (), entry.step)

    def _base_names(self, run: Run, base: Described) -> Finding:
        names = list(base["names"])
        words = (
            f"{base['lost']} of the {base['keys']} keys of {base['folder']} were not "
            f"read, such as {base['example']}, and the model has different values: "
            f"{in_words(names)}"
        )
        return self._finding(run, "base-names", words, names)

    def _by_file(self, run: Run, file: Described) -> Results:
        unread, keys = list(file.get("unread", ())), int(file["keys"])
        zero, other = list(file.get("live_zero_b", ())), list(file.get("different", ()))
        if unread:
            words = (
                f"{len(unread)} of {counted(keys, 'key')} of the file are not read by "
                f"the model, such as {unread[0]}"
            )
            missing = list(file.get("absent", ()))
            yield self._finding(run, str(file.get("reason")), words, missing)
        elif shapes := list(file.get("misshapen", ())):
            words = (
                f"{counted(len(shapes), 'tensor')} of the adapter have a different "
                f"shape than in the file: {in_words(shapes)}"
            )
            yield self._finding(run, "other-shape", words, shapes)
        elif "a newer pickle beside" in file.get("problems", ()) and not other:
            words = _outdated(str(file["folder"]), str(file.get("adapter")))
            yield self._finding(run, "outdated-file", words, ())
        elif zero or other:
            words = (
                f"{counted(len(zero or other), 'tensor')} "
                f"{'are 0, unlike' if zero else 'differ from'} the file: "
                f"{in_words(zero or other)}"
            )
            # A Trainer reads its checkpoint when it begins to train.
            later = file.get("checkpoint") and run.facts.training.get("trainer_class")
            reason = "not-resumed-yet" if later else "values"
            yield self._finding(run, reason, words, zero or other)

    def _finding(
        self,
        run: Run,
        reason: str,
        words: str,
        names: Sequence[str],
        step: int | None = None,
    ) -> Finding:
        cause, fix = CAUSES[reason]
        first = first_facts(run).step
        return self.finding(
            Severity.INFO if reason == "not-resumed-yet" else Severity.ERROR,
            f"before step {first}: {words}"
            if step is None
            else f"step {step}: {words}",
            cause=cause,
            fix=fix,
            places=_places(reason, names),
            steps=span(run, first) if step is None else (step, step),
            reason=reason,
            evidence={"tensors": len(names)},
            healthy="every key of the file is read, and B has the file's values",
        )

    def _inactive(self, run: Run, fresh: str, idle: str) -> Results:
        cause, fix = CAUSES["inactive"]
        first = first_facts(run)
        modes = first.model.get("training_modes") or {}
        used = not first.optimizers and not modes.get("training")
        # A teacher is activated within the first step.
        if not used and (not len(run.steps) or is_activated(run, idle)):
            return
        yield self.finding(
            Severity.WARNING if used else Severity.INFO,
            f"before step {first.step}: the adapter {fresh!r} is active but adds "
            f"nothing, while {idle!r}, which was trained, is not active",
            cause=cause,
            fix=fix,
            places={"call": ["set_adapter", "load_adapter"]},
            steps=span(run, first.step),
            reason="inactive",
            evidence={"active": fresh, "trained": idle},
            healthy="the loaded adapter is the active one",
        )

    def _other_slot(self, run: Run, fresh: str, filled: str) -> Results:
        rows, first = start(run)["adapters"], first_facts(run)
        # Two that are trained in turn are seen to be activated within the first steps.
        if is_activated(run, filled):
            return
        if rows[filled]["trainable"] and first.optimizers and not len(run.steps):
            return
        cause, fix = CAUSES["other-slot"]
        tensors = [
            f"{module}.lora_B.{fresh}.weight" for module in rows[fresh]["scaling"]
        ]
        yield self.warning(
            f"before step {first.step}: the folder was loaded into the adapter "
            f"{filled!r}, which is not active, and {fresh!r}, which is, adds nothing",
            cause=cause,
            fix=fix,
            places={
                "call": ["set_peft_model_state_dict", "set_adapter"],
                "param": tensors,
            },
            steps=span(run, first.step),
            reason="other-slot",
            evidence={"active": fresh, "filled": filled},
            healthy="the adapter that the folder was loaded into is the active one",
        )
