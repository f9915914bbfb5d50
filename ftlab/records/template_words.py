"""What chat templates leave out, in words, and texts that are quoted in sentences."""

DROPPED = {
    "system": "system messages are",
    "developer": "developer messages are",
    "user": "the user's messages are",
    "assistant": "answers are",
    "system once answered": "system messages of answered conversations are",
    "reasoning": "reasoning is",
    "reasoning in history": "the reasoning of earlier answers is",
    "tool calls": "tool calls are",
    "tool results": "results of tools are",
    "tools": "the tools on offer are",
    "list content": "contents given as lists are",
    "text content": "contents given as texts are",
}
"""How each of `TemplateFacts.drops` begins a sentence."""


def short(text: str) -> str:
    """Quote a text, or its beginning.

    Examples
    --------
    >>> from ftlab.records.template_words import short
    >>> short("a" * 60)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'"
    """
    return repr(text if len(text) <= 48 else text[:45] + "...")
