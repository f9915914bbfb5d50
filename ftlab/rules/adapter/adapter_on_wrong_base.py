"""The rule ADP024, adapter-on-wrong-base.

## What it does
Finds adapters on a base whose weights differ from those they were trained on.

## Why is this bad?
Two checkpoints of one architecture have the same names and shapes: an adapter of one
loads silently on the other (v0.1 and v0.2, base and instruct) and adds a change made
for other weights. Quality is poor, and merging makes it permanent.

## Evidence
Sixteen values of each of up to 48 adapted base weights, recorded when the training run
began, against the same values now. Of one dtype they must be equal to the last bit; of
two, within 1/64 of the value, twice the rounding of bfloat16. Initialisations that
write to the base (PiSSA, OLoRA...) are compared within 5 %. A weight counts as another
one when more than one of its values differs, and the finding needs half of the weights,
or all that differ are named as info. Needs the facts of the training run:
`ftlab.preflight(model, adapter=folder, trained_in=run_folder)`. Without them the names
in `base_model_name_or_path` and of the loaded base are compared, and a difference of
their last part is info.
By hand: `torch.equal(w_now, w_then)` for one `base_layer.weight`, or its sum in both.

## What to try
1. Load the base that `adapter_config.json` names, at the same revision.
2. Check whether the base was resized, merged into or quantised since.

## Known problems
4-bit and 8-bit weights cannot be sampled: *not checked* where one side is quantised. A
base that was fine-tuned a little differs in its last bits and is reported as a
different one, which it is.

## References
- huggingface/peft#1388, #2502 (merged model differs from the adapter model)
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.base_samples import Compared, compare
from ftlab.rules.reading.base_weights import merged_already
from ftlab.rules.reading.saving import (
    adapter_file,
    has_adapters,
    needs_model,
    span,
    start,
)
from ftlab.rules.rule import Rule
from ftlab.runlog.run import Run

SHARE = 0.5
"""Share of the sampled weights that must differ for a warning."""

PLAIN = ("True", "False", "gaussian")
"""Ways to begin that leave the base as it is."""

ROUGH = 0.05
"""Relative difference allowed after the others: they compute on the base, with SVDs."""


class AdapterOnWrongBase(Rule):
    """Finds base weights that an adapter was not trained on."""

    code = "ADP024"
    name = "adapter-on-wrong-base"
    since = "0.1.0"
    status = "stable"
    requires = (needs_model,)
    caused_by = ("ADP023",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters, and something to compare them with."""
        facts = start(run)
        known = bool(facts.get("trained_as")) or bool(adapter_file(run))
        return not run.facts.model or (has_adapters(run) and known)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all base weights that differ."""
        facts = start(run)
        trained = facts.get("trained_as") or {}
        if not trained:
            yield from self._by_name(run)
            return
        rows = (facts.get("adapters") or {}).values()
        plain = all(row["init"] in PLAIN for row in rows)
        least = 0.0 if plain else ROUGH
        compared = compare(trained.get("base") or {}, facts.get("base") or {}, least)
        if compared is None:
            yield self.cannot_tell(
                "no base weight could be sampled both when the adapter was trained and "
                "now: quantised, offloaded or sharded weights are not",
                "compare with a base in 16 or 32 bits",
            )
        elif compared.different and not any(merged_already(facts)):
            yield self._finding(run, compared)

    def _by_name(self, run: Run) -> Iterator[Finding]:
        file = adapter_file(run)
        saved, live = str(file.get("saved_base", "")), str(file.get("live_base", ""))
        if saved and live and _last_part(saved) != _last_part(live):
            yield self.finding(
                Severity.INFO,
                f"before step 0: the adapter was saved for {saved!r}, but its base is "
                f"now {live!r}",
                cause="The loaded base model has a different name than the one in "
                "adapter_config.json; equal shapes load silently.",
                fix=f"Load {saved!r} as the base, or check that both names refer to "
                "the same weights.",
                places=[Place("config", "base_model_name_or_path")],
                steps=span(run),
                evidence={"reason": "name", "saved": saved, "loaded": live},
                healthy="the base is the one named in adapter_config.json",
            )

    def _finding(self, run: Run, compared: Compared) -> Finding:
        names: Sequence[str] = compared.different
        many = len(names) >= SHARE * compared.weights
        return self.finding(
            Severity.WARNING if many else Severity.INFO,
            f"before step 0: {len(names)} of the {compared.weights} sampled base "
            f"weights differ from those the adapter was trained on: {in_words(names)}",
            cause="The adapter was loaded on a different checkpoint of the same "
            "shapes, or the base was changed since (merged into, resized, fine-tuned).",
            fix="Load the base that the adapter was trained on: "
            "base_model_name_or_path in adapter_config.json, at the same revision.",
            places=[
                *(Place("param", name) for name in names),
                Place("config", "base_model_name_or_path"),
            ],
            steps=span(run),
            evidence={
                "different": len(names),
                "weights": compared.weights,
                "largest_difference": compared.largest,
                "threshold": compared.tolerance,
            },
            healthy="every sampled base weight is the same as in the training run",
        )


def _last_part(name: str) -> str:
    return name.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
