"""The rule DAT091, answers-that-are-none.

## What it does
Finds answers that say nothing: a placeholder, a missing value that became text, the
message of a service that failed, a mark with nothing behind it, reasoning alone, in the
text or in a field of its own; texts and contexts that are the page of an error; answers
and prompts in which a field of a template was not filled in.

## Why is this bad?
They look like answers and are trained as such: the model learns to say `nan`, to tell
of rate limits, or to think and stop.

## Evidence
Whole answers, and fields alone within one. `placeholder-answer`: `{answer}`, `[insert
answer here]`, `[object Object]`, `TODO`, `TBD`, lorem ipsum. `missing-value-as-answer`:
`nan`, `undefined` and the errors of spreadsheets, where more than half of the answers
have more than 30 characters (of short answers such a word may be one), and the prompt
does not speak of JavaScript, spreadsheets or these values; of short answers `nan`,
`NaN`, `<NA>`, `NaT` and those errors alone, in 3 rows at least and 0.01, where more
than 0.3 of the answers are different ones, so no classes, and the prompt asks for no
number or sound. `None`, `null` and `N/A`, and `xxx` as a placeholder, count where 0.9
of the answers have more than 60 characters, of 50 rows at least, and the prompt speaks
of no value, list or return. `unfilled-field` from 0.01, and not above 0.5:
`{field_name}` within an answer that holds no code, unless the prompt has braces or
speaks of templates. `unfilled-prompt` from 0.001: `{name}`, `{{name}}`, `${name}` or
`[CONTEXT]` in two prompts or more behind the same 40 characters, where 10 others, and
0.1 as many at least, have a text between what stands around it; not where the prompt
speaks of templates, nor where 0.05 of their answers have braces. `field-in-all-prompts`
from 0.5: the same in 0.9 of the prompts, of 50 at least, and a text in none.
`missing-value-as-input`: the same, in a column beside the prompt. `error-as-answer`: up
to 600 characters that begin as such messages do, to a prompt that does not speak of
errors; where nothing but a service says so (a rate limit of an organization, `Error
code: 500 - {`), and for pages of HTML whose title is an error, to any prompt that does
not ask what a status, a limit, a time-out or a page says. `error-page-as-text`, not
above 0.5: texts alone of up to 600 characters that begin as pages of errors and of
checks for robots do, and hold what servers sign these with (`Ray ID:`, nginx); so do
whole answers, and texts that a question is asked about (`context`, `document`), where
nothing beside them speaks of errors, pages or servers. These
and `answer-behind-mark` from 0.001 of the rows, a convention of ours;
`missing-value-as-input` from 0.01. From 0.001 too, `answer-in-reasoning`: an empty
content beside `reasoning_content`, `reasoning` or `thinking`, where the message holds
nothing else, and a user or nobody speaks next; and `reasoning-never-closed`: an answer
that begins with `<think>` and has no `</think>`. That it comes to an answer is told
where the last 200 characters name one, and that it was cut where its last line has 4
words or more and ends with a letter or a comma. `answer-behind-mark`, and
`reasoning-without-answer`, `<think>` alone or `</think>` with nothing behind it, are
how such rows are made above 0.5 (prompts, reasoning alone), and not told.
`model-named-in-answer`, in its first 200 characters, and `refusal-as-answer`, up to 600
characters that begin with a no to the request, are always notes: which prompts are to
be refused, no look at rows can tell. In `rejected`, and where a label is false, all but
a missing value is a reason to reject the answer, and not told.
Measured: on 71 healthy sets with 45,639 rows, two of reasoning and one of refusals
among them, none of these is a warning.
By hand: `collections.Counter(row["completion"] for row in rows).most_common(20)`.

## What to try
1. Leave these rows out: `report.filtered(path)`; ask again for what failed.
2. `frame.fillna("")` before `astype(str)`.

## Known problems
A placeholder or an error may be the right answer to a question about it.

## References
- pandas, `DataFrame.astype` (missing values become the text "nan")
- vllm-project/vllm#48865 (a reply without `</think>` becomes reasoning alone)
"""

from ftlab.records.finding import Severity
from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

KINDS = (
    Kind(
        "placeholder-answer",
        "a placeholder in place of an answer",
        "A template was not filled in, or somebody meant to write the answer later.",
        "Leave these rows out, or write the answers.",
        left_out=True,
    ),
    Kind(
        "missing-value-as-answer",
        "a missing value that was written as an answer",
        "A missing answer became text: astype(str) writes nan, a spreadsheet #N/A.",
        "Leave these rows out; drop missing answers before they become text.",
        left_out=True,
    ),
    Kind(
        "unfilled-field",
        "a field of a template in an answer",
        "The prompt or the answer was made of a template, and a field was not filled "
        "in: the model learns to write {field_name}.",
        "Fill the fields in (str.format raises on one that is missing), or leave these "
        "rows out.",
        0.01,
        0.5,
    ),
    Kind(
        "unfilled-prompt",
        "a field of a template in a prompt, where other prompts have a text",
        "The template was not filled in: the answer is to something that the model "
        "does not see, and it learns to make it up.",
        "Fill the fields in (str.format raises on one that is missing), or leave these "
        "rows out.",
        left_out=True,
    ),
    Kind(
        "field-in-all-prompts",
        "the same field of a template in all prompts",
        "The template was never filled in: the model does not see what is asked about.",
        "Fill the field in: prompt.format(name=...) raises on one that is missing.",
        0.5,
    ),
    Kind(
        "missing-value-as-input",
        "a missing value that was written beside the prompt",
        "An optional column became text: astype(str) writes nan.",
        "Write an empty text: frame.fillna('') before astype(str).",
        0.01,
    ),
    Kind(
        "error-as-answer",
        "the message of a failed request as an answer",
        "The service that wrote the answers failed, and its message was kept.",
        "Leave these rows out, or ask again.",
        left_out=True,
    ),
    Kind(
        "error-page-as-text",
        "the page of an error as a text",
        "The server refused the crawler, or asked whether it was one, and its page was "
        "kept.",
        "Leave these rows out, or fetch them again.",
        0.001,
        0.5,
        left_out=True,
    ),
    Kind(
        "answer-behind-mark",
        "a mark that an answer follows, and nothing behind it",
        "An empty answer was put into a template, or the answer was cut off.",
        "Leave these rows out.",
        0.001,
        0.5,
        left_out=True,
    ),
    Kind(
        "reasoning-without-answer",
        "reasoning with no answer behind it",
        "The answer was cut by a limit behind its reasoning, or lost where the reply "
        "was divided: the model learns to think and to stop.",
        "Generate these answers anew with a higher max_new_tokens, or leave them out.",
        0.001,
        0.5,
        left_out=True,
    ),
    Kind(
        "answer-in-reasoning",
        "an empty answer beside reasoning in a field of its own",
        "What divides replies took the answer for reasoning, mostly where </think> is "
        "missing, or a limit ended the reply while it was thinking: the model learns "
        "to think and to stop.",
        "Write what the reasoning ends with as the content, where it is an answer; "
        "generate the others anew with a higher max_new_tokens, or leave them out.",
        left_out=True,
    ),
    Kind(
        "reasoning-never-closed",
        "reasoning whose end mark is missing",
        "The mark behind the reasoning was lost, and the answer stands in it; or a "
        "limit cut the answer while its writer was still thinking. The model learns "
        "not to close its reasoning.",
        "Where an answer stands at the end, write the mark (</think>) before it; "
        "generate the others anew with a higher max_new_tokens, or leave them out.",
        left_out=True,
    ),
    Kind(
        "model-named-in-answer",
        "an answer that calls itself a language model",
        "The model that wrote these answers speaks of itself, mostly to refuse.",
        "Leave them out where the trained model is to answer: "
        "report.filtered(path, drop=['model-named-in-answer']).",
        NEVER,
        severity=Severity.INFO,
    ),
    Kind(
        "refusal-as-answer",
        "an answer that refuses to give one",
        "The model that wrote these answers refused: right where harm is asked for, "
        "and learnt as an answer to ordinary questions where these were asked.",
        "Look at their prompts; leave out the ordinary ones: "
        "report.filtered(path, drop=['refusal-as-answer']).",
        NEVER,
        severity=Severity.INFO,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class AnswersThatAreNone(RowRule):
    """Finds answers that say nothing."""

    code = "DAT091"
    name = "answers-that-are-none"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
