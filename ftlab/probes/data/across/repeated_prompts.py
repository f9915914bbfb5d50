"""Completions that begin with their prompt, or are nothing but their prompt.

Where texts are corrected, those that are right stay as they are: what is the same to
the letter is judged once all rows are known.
"""

from ftlab.probes.data.across.echoes import ALIKE, FIRST, STEP, are_alike
from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.rows.row_parts import KNOWN_PAIRS
from ftlab.probes.data.texts.text_faults import TextFault

SHORTEST = 20
"""Characters from which on a prompt is no name that an answer begins with."""

_WHOLE = tuple(".?!\u3002\uff1f\uff01\u061f")
"""What a sentence ends with."""

_REQUESTS = frozenset(
    {"please", "write", "explain", "tell", "give", "describe", "summarise", "summarize"}
    | {"list", "translate", "name", "create", "generate"}
)
"""What a prompt begins with that is whole without a full stop."""


class RepeatedPrompts:
    """Watches pairs of a prompt and a completion.

    Attributes
    ----------
    column
        Of the completions.

    Examples
    --------
    >>> from ftlab.probes.data.across.repeated_prompts import RepeatedPrompts
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> prompts = RepeatedPrompts()
    >>> asked = "Why is the sky blue in the evening?"
    >>> told = [f"{asked} For the light.", asked, "For the light."]
    >>> for at, said in enumerate(told):
    ...     print(prompts.look(at, parts_of({"prompt": asked, "completion": said})))
    TextFault(name='prompt-in-completion', char=0, says='the prompt once more')
    None
    None
    >>> prompts.found()
    [1]
    """

    def __init__(self) -> None:
        self.column = ""
        self._same = RowSet()
        self._rows = self._others = self._alike = 0

    def look(self, number: int, read: RowParts) -> TextFault | None:
        """Take a row in, and return what is wrong whatever the others are."""
        if read.kind != "prompt and answer" or len(read.parts) != 2:
            return None
        prompt, answer = read.parts
        if (prompt.column, answer.column) not in KNOWN_PAIRS or prompt.message >= 0:
            return None
        self._rows += 1
        whole, said = prompt.text.strip(), answer.text.strip()
        if whole == said:
            if len(whole) >= SHORTEST:
                self._same.add(number)
                self.column = answer.column
            return None
        if _repeats(prompt.text, whole, said):
            return TextFault("prompt-in-completion", 0, "the prompt once more")
        if self._rows <= FIRST or not self._rows % STEP:
            self._others += 1
            self._alike += are_alike(whole.casefold(), said.casefold())
        return None

    def found(self) -> list[int]:
        """Return the rows whose completion is their prompt, unless others are like it.

        Those are texts that are corrected, or written in another way.
        """
        if self._alike > ALIKE * self._others:
            return []
        return self._same.numbers().tolist()


def _repeats(text: str, whole: str, said: str) -> bool:
    """Tell whether a completion holds its prompt, and something behind it."""
    if len(whole) < SHORTEST or not said.startswith(whole):
        return False
    behind = said[len(whole) :]
    if not any(map(str.isalnum, behind)):
        return False  # a full stop that was missing
    asks = whole.partition(" ")[0].casefold() in _REQUESTS and behind[0] == "\n"
    return asks or whole.endswith(_WHOLE) or "\n" in text
