"""The rule DAT060, roles-confused.

## What it does
Finds conversations in which one speaker follows himself, an answer comes first, a
system message comes late or says nothing, a tool answers that nobody called, or a role
is not known.

## Why is this bad?
Templates raise on such rows, or write them in silence as something that is never
served. An answer to the wrong question is learnt as one.

## Evidence
The roles of every conversation. From 0.001 of them a warning, a convention of ours and
no measurement; above 0.5 it is how this data is made, and nothing is told.
`empty-system`: from 0.01, where the other rows share at most 8 system messages that say
something.
By hand: `[message["role"] for message in row["messages"]]`.

## What to try
1. Give all rows the system message that they will be asked with, or none.
2. Join what one speaker says in a row; put the messages in order.
3. Rename roles to system, user, assistant and tool.

## Known problems
Several calls and results of tools in a row are in order.

## References
- transformers, chat templates (most raise "roles must alternate")
"""

from ftlab.rules.reading.dataset import RowRule
from ftlab.rules.reading.row_kind import Kind

KINDS = (
    Kind(
        "roles-out-of-order",
        "roles out of order",
        "Messages were lost, doubled, or sorted in another way.",
        "Put these conversations in order (system, user, assistant, user, ...); join "
        "what one speaker says in a row into one message.",
        0.001,
        0.5,
    ),
    Kind(
        "unknown-role",
        "a role that chat templates do not know",
        "The role is misspelt, or from another notation.",
        "Rename it to system, user, assistant or tool.",
        0.001,
        0.5,
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
)
"""The kinds of faults, each with the share of rows from which on it is a warning."""


class RolesConfused(RowRule):
    """Finds conversations whose speakers are out of order, unknown or silent."""

    code = "DAT060"
    name = "roles-confused"
    since = "0.1.0"
    status = "preview"
    kinds = KINDS
