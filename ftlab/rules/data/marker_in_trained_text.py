"""The rule DAT055, marker-in-trained-text.

## What it does
Finds samples in which what comes before an answer stands once more within what is
trained.

## Why is this bad?
Labels begin behind the first place in which a marker such as `### Response:` stands. A
user who has pasted one has the rest of his question trained as an answer; of several
turns, all that comes behind the first marker is trained, questions included. The model
learns to go on with a question of its own.

## Evidence
Samples of the batches, 4 different ones at least, with labels that begin within the
text. Two and more tokens before the first label are the same in 90 % of them: the
marker. It stands once more, all of it with labels, in at least 1 sample. Labels that
are made turn by turn leave the marker of each turn out. The number of tokens keeps
chance away: a colon alone is met in any text.
Measured: labels behind the first `### Answer` of conversations of two turns hold the
second one in each of 16 rows, labels turn by turn in none; of 16 rows of which 4 have a
marker in the question, in these 4.
By hand: decode `labels[labels != -100]` and look for the marker.

## What to try
1. Roles as the chat template writes them, with `{% generation %}` around answers.
2. The last marker of a row that holds one question, the marker of each turn of others.
3. Texts of users without strings that mean something to the collator.

## Known problems
Who trains on all that follows the first prompt, on purpose, is warned. An answer that
quotes the marker looks the same.

## References
- huggingface/trl#3223, #1184 (markers of turns that do not alternate)
- LlamaFactory, Axolotl: `train_on_inputs`, roles to train on
"""

from collections import Counter
from collections.abc import Iterator

from ftlab.records.finding import Finding, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE, LEAST = 4, 0.9, 2
"""Samples, the share of them that has the marker, and its tokens."""


class MarkerInTrainedText(Rule):
    """Finds markers of answers within what is trained."""

    code = "DAT055"
    name = "marker-in-trained-text"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT014", "DAT030")

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        known = [
            each
            for each in samples.sights
            if is_causal(each.sample) and len(each.sample.border) > LEAST
        ]
        marker = _marker([each.sample for each in known])
        sick = [each for each in known if marker and each.sample.again >= len(marker)]
        if sick:
            yield self._finding(samples, marker, sick, len(known))

    def _finding(
        self, samples: Samples, marker: tuple[int, ...], sick: list[Sight], seen: int
    ) -> Finding:
        steps, first = steps_of(sick), sick[0].sample
        said = " ".join(map(samples.piece, marker))
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: labels begin behind {said}, which stands once more "
            f"within what is trained in {len(sick)} of {seen} samples, in sample "
            f"{first.row} up to token {first.again_at - 1}",
            cause="Labels begin behind the first marker of a row: it stands in the "
            "text of a user, or further turns follow.",
            fix="Mask turn by turn, by the chat template's own {% generation %} or by "
            "roles; search the last marker where a row holds one answer.",
            places=token_places(sick, lambda each: each.again_at - len(marker)),
            steps=steps,
            evidence={
                "samples": len(sick),
                "of": seen,
                "threshold": 1,
                "tokens": len(marker),
                "sample": first.row,
                "position": first.again_at - len(marker),
            },
            healthy="no marker of an answer within what is trained",
        )


def _marker(samples: list[SampleFacts]) -> tuple[int, ...]:
    """Return what comes before the first label in nearly all samples."""
    if len(samples) < SAMPLES:
        return ()
    befores = [each.border[:-1] for each in samples]
    for length in range(max(map(len, befores)), LEAST - 1, -1):
        ((found, count),) = Counter(b[-length:] for b in befores).most_common(1)
        if count >= SHARE * len(samples) and len(found) == length:
            return found
    return ()
