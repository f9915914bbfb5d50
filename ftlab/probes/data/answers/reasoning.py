"""Answers of models that reason: a reasoning never closed, or nothing behind it."""

from ftlab.probes.data.rows.parts import TextFault

MARKS = {f"<{name}>": f"</{name}>" for name in ("think", "thinking", "reasoning")}
"""What stands before a reasoning, and behind it."""


def reasoning_fault(text: str) -> TextFault | None:
    r"""Return what is missing behind the reasoning of an answer.

    Examples
    --------
    >>> from ftlab.probes.data.answers.reasoning import reasoning_fault
    >>> reasoning_fault("<think>\nIt is 2 + 3.\n\nThat makes 5.").says
    '<think> is never closed'
    >>> reasoning_fault("<think>\nIt is 2 + 3.\n</think>").says
    'nothing behind the reasoning'
    >>> reasoning_fault("<think>\nIt is 2 + 3.\n</think>\n\nThat makes 5.")
    """
    said = text.strip() if "<" in text else ""
    for opened, closed in MARKS.items():
        if said.endswith(closed) or said == opened:
            says = "nothing behind the reasoning"
            return TextFault("reasoning-without-answer", 0, says)
        # the mark of a reasoning ends its line, or a text follows at once
        spoken_of = said[len(opened) : len(opened) + 1] in (" ", "`", "'", '"')
        if said.startswith(opened) and closed not in said and not spoken_of:
            return TextFault("reasoning-never-closed", 0, f"{opened} is never closed")
    return None
