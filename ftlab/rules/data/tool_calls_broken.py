"""The rule DAT069, tool-calls-broken.

## What it does
Finds calls of tools whose arguments are no JSON, or do not fit the tool, or whose tool
the row does not have, tools with properties that are null, and results that name a call
that was never made.

## Why is this bad?
The model learns to write calls that no program can read. Templates that parse the
arguments raise; the others write them as they are, and nobody notices.

## Evidence
The calls of every conversation: `tool_calls`, and messages of `function_call`.
Arguments that are a text and begin with a brace are read as JSON; `arguments-of-python`
are those that `ast.literal_eval` reads. Names are looked up in the row's column
`tools`, a list or JSON, where every tool in it has a name. `arguments-unfit`: a name
that is `required` there is missing, or one is given that is not among the `properties`
(where `additionalProperties` and the like allow no others), and none of the next 3
messages says that the call was wrong. `schema-null`: one of the `properties` of a tool
is null, which JSON Schema does not have; it is always a note, for many programs take
these out. `arguments-null`: a call gives such a property a null. A `tool_call_id`
is looked up where the calls before it have ids. From 0.001 of the conversations, a
convention of ours; where more than 0.5 have a name or an id that is not found, it is
how this data is made, and nothing is told.
By hand: `json.loads(call["function"]["arguments"])` for every call.

## What to try
1. Leave such rows out, or make the calls anew with a higher limit of tokens.
2. `json.dumps(ast.literal_eval(arguments))` where they were written by `str`.
3. Spell the tool in calls as in `tools`; a prefix that ends with a dot is no matter.

## Known problems
A row that is to teach what happens when a tool does not exist.

## References
- OpenAI, function calling: arguments are a text that holds JSON
- huggingface/trl#5517 (how templates write calls)
- huggingface/trl, `remove_none_values` (why Arrow's tables hold such properties)
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

KINDS = (
    Kind(
        "arguments-broken",
        "arguments of a call that are no JSON",
        "The call was cut off where it was generated, or written by hand.",
        "Leave these rows out, or make the calls anew; json.dumps writes arguments.",
        left_out=True,
        among=("messages",),
    ),
    Kind(
        "arguments-of-python",
        "arguments of a call as Python's str() writes them, which is no JSON",
        "str(arguments) or an f-string wrote a dictionary where json.dumps was meant: "
        "the model learns single quotes and None.",
        "json.dumps(ast.literal_eval(arguments)) writes them as JSON.",
        among=("messages",),
    ),
    Kind(
        "unknown-tool",
        "a call of a tool that the row does not have",
        "The tool was renamed in tools or in the call, or it was made up.",
        "Spell it as in tools, or add it there; else leave these rows out.",
        0.001,
        0.5,
        among=("messages",),
    ),
    Kind(
        "arguments-unfit",
        "arguments of a call that the tool does not take, or lacks",
        "An argument was renamed in tools or in the call, lost, or made up.",
        "Spell arguments as in tools, and give all that are required; else leave these "
        "rows out.",
        0.001,
        0.5,
        among=("messages",),
    ),
    Kind(
        "arguments-null",
        "a call with arguments that are null, and so are their properties",
        "Arrow gives all calls of a table the arguments of each, as null: the model "
        "learns to write arguments of other tools.",
        "Keep arguments as a text of JSON; or drop what is null when rows are read: "
        "dataset.with_transform(trl.trainer.utils.remove_none_values).",
        among=("messages",),
    ),
    Kind(
        "schema-null",
        "a tool with a property that is null",
        "Arrow gives all tools of a table the properties of each: templates write them "
        "into the prompt as null.",
        "Keep tools as a text of JSON; or drop what is null when rows are read: "
        "dataset.with_transform(trl.trainer.utils.remove_none_values).",
        NEVER,
        among=("messages",),
    ),
    Kind(
        "result-of-no-call",
        "a result whose tool_call_id is that of no call",
        "Results were joined to the calls of other rows, or ids were made anew.",
        "Give the result the id of its call; look whether it is its result at all.",
        0.001,
        0.5,
        among=("messages",),
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class ToolCallsBroken(RowRule):
    """Finds calls that cannot be read or carried out, and results of none."""

    code = "DAT069"
    name = "tool-calls-broken"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
