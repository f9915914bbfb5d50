"""The rule ADP020, trained-weights-not-saved.

## What it does
Finds parameters that are trained and that saving the adapter leaves out.

## Why is this bad?
`save_pretrained` of a PeftModel, and every checkpoint of a Trainer, write the adapter's
own tensors and the copies in modules_to_save, nothing else. A head, norms or embeddings
that were unfrozen by hand learn, the evaluation in the same process is good, and the
reloaded model has the old ones: for new tokens, random rows.

## Evidence
What PEFT's own `get_peft_model_state_dict` selects of the model's parameters, against
those with `requires_grad`, compared by identity; nothing is saved for it. Embeddings
count as saved when PEFT would add them by itself: they are targets, or the base model's
configuration is on this machine and has another vocabulary size. There is no threshold.
Where that depends on a base model that is not here, it is *not checked*.
A warning where a Trainer trains, for it saves by PEFT, and from the first save on; a
note in a loop of one's own until then, for it may save by other means.
By hand: `set(k for k, p in model.named_parameters() if p.requires_grad)` against
`peft.get_peft_model_state_dict(model)`.

## What to try
1. `LoraConfig(..., modules_to_save=["lm_head"])` before get_peft_model, instead of
   requires_grad_(True) after it; the task type (`SEQ_CLS`) does it for heads.
2. For new tokens: `trainable_token_indices=[...]`, modules_to_save with both
   embeddings, or `model.save_pretrained(folder, save_embedding_layers=True)`.
3. `bias="all"` or `"lora_only"` for biases.
4. Save them yourself beside the adapter, and load them after it.

## Known problems
Who saves such weights in code of their own beside the adapter is warned too. Prompt
learning is not judged. A merged model is saved whole; the warning is about the adapter.

## References
- huggingface/peft#577, #2738 (a trainable head that is not in the file)
- huggingface/peft#1335, #1147, #1689, #2589, #1457 (resized embeddings)
- huggingface/sentence-transformers#3980
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.rule import Rule
from ftlab.rules.saving import (
    has_adapters,
    is_saved_by_peft,
    needs_model,
    saving,
    span,
)
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class TrainedWeightsNotSaved(Rule):
    """Finds trainable parameters that no adapter's file will hold."""

    code = "ADP020"
    name = "trained-weights-not-saved"
    since = "0.1.0"
    status = "stable"
    layer = "rollback"
    requires = (needs_model,)
    caused_by = ("ADP016",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters."""
        return has_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all of them."""
        facts = saving(run)
        untrained = _untrained(run)
        lost = [name for name in facts.get("unsaved", ()) if name not in untrained]
        if lost:
            yield self._finding(run, lost)
        elif unknown := list(facts.get("undecided", ())):
            yield self.cannot_tell(
                f"PEFT saves {in_words(unknown)} only if the base model has another "
                "vocabulary size, and its configuration is not on this machine",
                "model.save_pretrained(folder, save_embedding_layers=True) saves them "
                "in any case",
            )

    def _finding(self, run: Run, lost: Sequence[str]) -> Finding:
        trained = max(len(run.names()), len(lost))
        modules = dict.fromkeys(name.split(".")[-2] for name in lost if "." in name)
        wanted = ", ".join(repr(name) for name in modules)
        return self.finding(
            Severity.WARNING if is_saved_by_peft(run) else Severity.INFO,
            f"from step {run.facts.step}: saving the adapter leaves out {len(lost)} of "
            f"{counted(trained, 'trainable tensor')}: {in_words(lost)}",
            cause="They were unfrozen beside the adapter: PEFT writes the adapter's "
            "own tensors and modules_to_save, so these are lost on reload.",
            fix="Name them in the configuration before get_peft_model: "
            f"modules_to_save=[{wanted}] (new tokens: trainable_token_indices, or "
            "save_pretrained(..., save_embedding_layers=True)).",
            places=[
                *(Place("param", name) for name in lost),
                Place("config", "modules_to_save"),
                Place("file", "adapter keys"),
            ],
            steps=span(run, run.facts.step),
            evidence={"left_out": len(lost), "trainable": trained, "threshold": 0},
            healthy="every trainable tensor is in what save_pretrained writes",
        )


def _untrained(run: Run) -> set[str]:
    """Name what is in no optimizer: OPT002 speaks of it, and nothing of it is lost."""
    optimizers = run.facts.optimizers
    return set(optimizers[0].get("missing", ())) if optimizers else set()
