"""Completions that begin with their prompt, or are nothing but their prompt.

Where texts are corrected, those that are right stay as they are: what is the same to
the letter is judged once all rows are known.
"""

from ftlab.probes.data.row_sets import RowSet
from ftlab.probes.data.rows.parts import RowParts, TextFault

SHORTEST = 20
"""Characters from which on a prompt is no name that an answer begins with."""

SHORTER, SHARED = 0.6, 0.5
"""Shares of length and of words from which on two texts are alike."""

ALIKE = 0.05
"""Share of the other rows above which completions are like their prompt on purpose."""

FIRST, STEP = 1000, 16
"""Rows that are all compared, and which of those behind them."""

_WHOLE = tuple(".?!\u3002\uff1f\uff01\u061f")
"""What a sentence ends with: a completion may go on with anything else."""


class PromptsInCompletions:
    """Watches pairs of a prompt and a completion.

    Attributes
    ----------
    column
        Of the completions.

    Examples
    --------
    >>> from ftlab.probes.data.across.prompt_in_completion import PromptsInCompletions
    >>> from ftlab.probes.data.rows.formats import parts_of
    >>> prompts = PromptsInCompletions()
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
        if prompt.message >= 0:
            return None
        self._rows += 1
        whole, said = prompt.text.strip(), answer.text.strip()
        if len(whole) >= SHORTEST and said.startswith(whole):
            behind = said[len(whole) :]
            if not behind:
                self._same.add(number)
                self.column = answer.column
                return None
            ends = whole.endswith(_WHOLE) or "\n" in prompt.text
            if ends and any(map(str.isalnum, behind)):
                return TextFault("prompt-in-completion", 0, "the prompt once more")
        elif self._rows <= FIRST or not self._rows % STEP:
            self._others += 1
            self._alike += _are_alike(whole.casefold(), said.casefold())
        return None

    def found(self) -> list[int]:
        """Return the rows whose completion is their prompt, unless others are like it.

        Those are texts that are corrected, or written in another way.
        """
        if self._alike > ALIKE * self._others:
            return []
        return self._same.numbers().tolist()


def _are_alike(one: str, two: str) -> bool:
    """Tell whether two texts are as long, and of the same words for the most part."""
    shorter, longer = sorted((one, two), key=len)
    if len(shorter) < SHORTER * len(longer):
        return False
    words, others = set(shorter.split()), set(longer.split())
    return len(words & others) >= SHARED * max(len(words), len(others))
