"""The rule DAT039, messages-left-out.

## What it does
Finds messages that hold what is not in the ids that were made of them: whole messages,
tool calls, the reasoning of a last answer, also where its content opens with it, and
the indentation of an answer's first line.

## Why is this bad?
The chat template has left it out without a word. What the data was to teach is not
trained; a system text that is there at serving was never seen. Code that is stripped
lacks the indentation of its first line alone, and the model learns to write it so.

## Evidence
The messages that were given to `ftlab.tokens`; and of the first 16 rows of a Trainer's
dataset those that hold messages beside `input_ids`, as TRL's do, and were not cut
(32,768 tokens at most): letters and digits of a message, in stretches of 8 to 24
between line ends and quotes, are searched for in the decoded ids, and none is there. An
answer begins with four spaces, a tab, or two spaces that later lines have too, and its
first line stands nowhere in the decoded ids behind two spaces or a tab, which the
tokenizer keeps. In 2 rows at least (or the only one) and in half of them it is a
warning, else a note.
Measured: a template that writes a system text only before a last question has it in 0
of 16 trained rows, and in each prompt; one that strips texts, as Llama 3's does, takes
the indentation from 16 of 16 answers. 16 rows of 40 tokens take 11 ms.
By hand: `tokenizer.decode(row["input_ids"])` beside `row["messages"]`.

## What to try
1. A template that writes it, in training as in serving.
2. Write it into `content` yourself: a system text into the first question, code between
   fences.

## Known problems
Other outer white space and texts that are rewritten in part count as written. Packed
datasets hold no messages any more: look at them with
`ftlab.tokens(tokenizer, messages)`.

## References
- huggingface/trl#5517 (templates that drop tool calls)
- meta-llama/llama3#104 (the template that strips)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.template_words import DROPPED
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.rule import Need, Rule
from ftlab.runlog.run import Run

ROWS, SHARE = 2, 0.5
"""Rows that lack it, and their share of those looked at."""

INDENTATION = "indentation"
"""The kind of what stripped texts lack."""

_WORDS = {
    **DROPPED,
    "tool": DROPPED["tool results"],
    INDENTATION: "the indentation of an answer's first line is",
}


def _told(run: Run) -> Mapping[str, Any]:
    found = first_facts(run).training.get("left_out")
    return found if isinstance(found, Mapping) else {}


class MessagesLeftOut(Rule):
    """Finds what the data says and the ids do not."""

    code = "DAT039"
    name = "messages-left-out"
    since = "0.1.0"
    status = "preview"
    requires = (
        Need(
            "messages beside the ids of the dataset",
            "ftlab.watch(trainer) with a dataset that keeps its messages",
            lambda run: bool(_told(run)),
        ),
    )

    def applies(self, run: Run) -> bool:
        """Tell whether the dataset has messages, or nothing is known of the run."""
        return not run.facts.model or bool(_told(run))

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each kind."""
        told = _told(run)
        for each in told["found"]:
            yield self._finding(each, int(told["rows"]))

    def _finding(self, found: Mapping[str, Any], looked: int) -> Finding:
        rows = int(found["rows"])
        many = rows >= max(min(ROWS, looked), SHARE * looked)
        what = _WORDS.get(str(found["kind"]), f"{found['kind']} is")
        stripped = found["kind"] == INDENTATION
        return self.finding(
            Severity.WARNING if many else Severity.INFO,
            (f"in {rows} of the first {looked} rows " if looked > 1 else "")
            + f"{what} not in the ids",
            cause="The chat template strips texts of their outer white space."
            if stripped
            else "The chat template leaves it out without a word.",
            fix="A template that writes it, in training as in serving, or "
            + ("code between fences." if stripped else "a content that holds it."),
            places=[
                Place("data", f"message {found['message']} of row {found['row']}"),
                Place("config", "tokenizer.chat_template"),
            ],
            steps=(-1, -1),
            evidence={
                "reason": str(found["kind"]),
                "rows": rows,
                "looked": looked,
                "threshold": SHARE,
            },
            healthy="ids that hold what the messages say",
        )
