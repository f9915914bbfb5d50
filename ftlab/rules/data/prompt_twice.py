"""The rule DAT014, prompt-twice.

## What it does
Finds samples that begin with a prompt and then with the same prompt once more.

## Why is this bad?
The second one stands where the answer belongs, and is trained or rated as its
beginning: the model learns to repeat a question before it answers. In preference
training both answers begin with it, and margins are told of what is behind.

## Evidence
The ids of some samples, padding left out. What a sample begins with is followed by
itself, 4 different words at least, and by more that is no control token; up to 4 tokens
at its beginning may be others, where their text is the same but for a space in front.
In 0.9 of all samples, or in 0.5 where control tokens are repeated too, which no
quotation has; 4 different samples at least. What repeats itself up to the end is none.
Measured: a `prompt` column and completions that begin with it give 32 of 32 rows;
answers that quote the question, and prompts of several examples, none: what stands
before and behind a question is not quoted.
By hand: `tokenizer.decode(batch["input_ids"][0])`.

## What to try
1. Take the prompt out of the completions: `text.removeprefix(prompt)`.
2. Or give no prompt column: TRL finds the prompt that `chosen` and `rejected` share.

## Known problems
Where prompts are bare questions and all answers begin with the whole of them, nothing
tells the two apart. A prompt that was cut at its beginning is not seen.

## References
- TRL, dataset formats: explicit and implicit prompts
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import Twice
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES = 4
"""Different samples that begin twice."""

SHARE, MARKED = 0.9, 0.5
"""Share of all samples; and where the repeated text holds control tokens."""

SPACES = "\u0120\u2581 "
"""How vocabularies write a space in front of a word."""


class PromptTwice(Rule):
    """Finds prompts that stand twice in a row."""

    code = "DAT014"
    name = "prompt-twice"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        found = [
            (sight, twice)
            for sight in samples.sights
            if (twice := sight.sample.twice) is not None and _same(samples, twice)
        ]
        marked = sum(bool(twice.controls) for _, twice in found)
        share = MARKED if 2 * marked > len(found) else SHARE
        if len(found) >= max(SAMPLES, share * len(samples.sights)):
            yield self._finding(samples, found, share)

    def _finding(
        self, samples: Samples, found: list[tuple[Sight, Twice]], share: float
    ) -> Finding:
        sights = [sight for sight, _ in found]
        places = {id(sight.sample): twice.again for sight, twice in found}
        steps, (first, twice) = steps_of(sights), found[0]
        row = first.sample.row
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {len(found)} of {len(samples.sights)} samples begin "
            f"with the same text twice in a row; sample {row} has tokens {twice.start} "
            f"to {twice.again - 1} again from {twice.again} on",
            cause="The prompt is put in front of completions that begin with it.",
            fix="Take the prompt out of the completions, or leave out the prompt "
            "column.",
            places=token_places(sights, lambda sample: places[id(sample)]),
            steps=steps,
            evidence={
                "samples": len(found),
                "all": len(samples.sights),
                "threshold": share,
                "sample": row,
                "position": twice.again,
            },
            healthy="one prompt, and an answer behind it",
        )


def _same(samples: Samples, twice: Twice) -> bool:
    """Tell whether both beginnings are one text, but for a space in front."""
    begin = samples.ids("bos")
    one, two = (
        [i for i in ids if i not in begin] for ids in (twice.first, twice.second)
    )
    if not one and not two:
        return True
    known = [[samples.pieces.get(each) for each in ids] for ids in (one, two)]
    texts = ["".join(p or "" for p in pieces).lstrip(SPACES) for pieces in known]
    return all(map(all, known)) and texts[0] == texts[1]
