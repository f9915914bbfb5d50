"""The rule DAT060, messages-malformed.

## What it does
Finds conversations whose parts do not fit together: roles out of order, unknown or
silent; calls of tools that cannot be read, do not fit the tool, or whose tool or result
belongs to another row; places for pictures without a picture, or the reverse.

## Why is this bad?
Templates and collators raise on such rows, or write them in silence as something that
is never served. The model then learns answers to the wrong question, calls that no
program can read, or descriptions of a picture that it does not see.

## Evidence
Every conversation. From 0.001 of them a warning, a convention of ours and no
measurement; above 0.5 it is how this data is made, and nothing is told.
- Roles: `roles-out-of-order`, `unknown-role`; `empty-system` from 0.01, where the other
  rows share at most 8 system messages that say something.
- Calls (`tool_calls`, and messages of `function_call`): arguments that are a text and
  begin with a brace are read as JSON; `arguments-of-python` are those that
  `ast.literal_eval` reads. Names are looked up in the row's column `tools`, a list or
  JSON, where every tool in it has a name. `arguments-unfit`: a name that is `required`
  there is missing, or one is given that is not among the `properties` (where
  `additionalProperties` and the like allow no others), and none of the next 3 messages
  says that the call was wrong. `schema-null`: one of the `properties` is null, which
  JSON Schema does not have; always a note, for many programs take these out.
  `arguments-null`: a call gives such a property a null. A `tool_call_id` is looked up
  where the calls before it have ids.
- Pictures: `<image>` at the beginning or the end of a question, or on a line of its
  own, in a row without a picture in a column (`image`, `images`, `video` ...) and among
  the parts of its messages, in a dataset in which other rows have one. Where `images`
  is a list, places and pictures are counted: places are parts of messages
  (`{"type": "image"}` that holds nothing else) or, where there are none, `<image>` as
  above. A row without any place is no fault, for most templates write it.

By hand: `[message["role"] for message in row["messages"]]`,
`json.loads(call["function"]["arguments"])`, `"<image>" in text and not row["images"]`.

## What to try
1. Put messages in order, join what one speaker says in a row, and rename roles to
   system, user, assistant and tool. Give all rows the system message that they will be
   asked with, or none.
2. Make broken calls anew with a higher limit of tokens;
   `json.dumps(ast.literal_eval(arguments))` where they were written by `str`.
3. Spell the tool in calls as in `tools`; a prefix that ends with a dot is no matter.
4. Mend the join that has lost the pictures; or leave these rows out.

## Known problems
Several calls and results of tools in a row are in order. Told all the same: a row that
is to teach what happens when a tool does not exist.

## References
- transformers, chat templates (most raise "roles must alternate")
- OpenAI, function calling: arguments are a text that holds JSON
- huggingface/trl#5517 (how templates write calls); `remove_none_values` (why Arrow's
  tables hold properties that are null); `prepare_multimodal_messages` (raises)
- haotian-liu/LLaVA, docs/Finetune_Custom_Data.md
- hiyouga/LlamaFactory#6135, #7640 ("less than the number of <image> tokens")
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import NEVER, Kind

KINDS = (
    Kind(
        "roles-out-of-order",
        "roles out of order",
        "Messages were lost, doubled, or sorted in another way.",
        "Put these conversations in order (system, user, assistant, user, ...); join "
        "what one speaker says in a row into one message.",
        meant_above=0.5,
    ),
    Kind(
        "unknown-role",
        "a role that chat templates do not know",
        "The role is misspelt, or from another notation.",
        "Rename it to system, user, assistant or tool.",
        meant_above=0.5,
    ),
    Kind(
        "empty-system",
        "a system message that says nothing, which others have",
        "The system message was lost, or none was written as an empty one.",
        "Write the system message of the other rows, or leave the message out.",
        0.01,
        0.5,
        among=("messages",),
    ),
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
        meant_above=0.5,
        among=("messages",),
    ),
    Kind(
        "arguments-unfit",
        "arguments of a call that the tool does not take, or lacks",
        "An argument was renamed in tools or in the call, lost, or made up.",
        "Spell arguments as in tools, and give all that are required; else leave these "
        "rows out.",
        meant_above=0.5,
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
        meant_above=0.5,
        among=("messages",),
    ),
    Kind(
        "picture-missing",
        "more places for pictures than pictures",
        "A picture was lost where texts and pictures were joined.",
        "Leave these rows out, or add their pictures.",
        left_out=True,
    ),
    Kind(
        "picture-not-placed",
        "more pictures than places for them",
        "Parts or marks of the messages were lost, or pictures of another row were "
        "added: processors raise, leave the picture out, or show the model another one "
        "than the text is about.",
        "Leave these rows out, or write one part or mark for each picture.",
        meant_above=0.5,
        left_out=True,
    ),
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class MessagesMalformed(RowRule):
    """Finds messages whose roles, calls or pictures do not fit together."""

    code = "DAT060"
    kinds = KINDS
