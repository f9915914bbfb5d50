"""The rule DAT075, mark-flag-idle.

## What it does
Finds `add_bos_token` or `add_eos_token` in `tokenizer_config.json` that has no effect,
where the samples are not as it says.

## Why is this bad?
The configuration says that each text begins with BOS, and none does; or that none does,
and each has one, which a template then writes a second time. Who serves the model
relies on the flag.

## Evidence
What is put around a text by the tokenizer that transformers loads from the folder,
against the flag; and of the samples of the run, 4 at least: with the flag on that none
begins (or ends) with the token, with it off that all do. Samples to which the template
gives what the flag does not are as it says, and nothing is found.
Measured with transformers 5.23: for a fast tokenizer without a class of its own the
post-processor in `tokenizer.json` decides, whatever the flag says.
By hand: `tokenizer("a").input_ids`.

## What to try
1. Set `tokenizer.add_bos_token` after loading, look at `tokenizer("a").input_ids`, and
   save: the post-processor is written with it.
2. Or let the template write BOS, and set the flag to false.

## Known problems
Where no samples were seen (`ftlab.tokenizer_files`) the flag alone is told.

## References
- unslothai/unsloth#7903, unslothai/notebooks#251
"""

from collections.abc import Mapping

from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import samples_of
from ftlab.rules.reading.tokenizer_folder import FolderRule, Told
from ftlab.runlog.run import Run

SAMPLES = 4
"""Samples that say whether the mark is there."""
_KINDS: Mapping[str, str] = {"add_bos_token": "bos", "add_eos_token": "eos"}


class MarkFlagIdle(FolderRule):
    """Finds flags for BOS and EOS that have no effect."""

    code = "DAT075"
    name = "mark-flag-idle"
    since = "0.1.0"
    status = "preview"
    reason = "flag-idle"
    cause = (
        "The post-processor in tokenizer.json decides what is put around a text; the "
        "flag is stored and not applied."
    )
    fix = (
        "Set tokenizer.add_bos_token (or add_eos_token) after loading, look at "
        'tokenizer("a").input_ids, and save the tokenizer.'
    )
    healthy = "samples that begin and end as the flags say"

    def matters(self, run: Run, told: Told) -> bool:
        """Tell whether the samples, where there are any, are not as the flag says."""
        kind, samples = _KINDS.get(told.agreement.subject, ""), samples_of(run)
        ids = samples.ids(kind)
        if not run.steps.step.size:
            return True
        if len(samples.sights) < SAMPLES or not ids:
            return False
        marked = [_has(each.sample, kind, ids) for each in samples.sights]
        on = "on" in told.agreement.says.values()
        return not any(marked) if on else all(marked)


def _has(sample: SampleFacts, kind: str, ids: frozenset[int]) -> bool:
    edge = sample.start if kind == "bos" else sample.end - 1
    return any(each.id in ids and each.position == edge for each in sample.controls)
