"""What the rows of a dataset are looked at with."""

from dataclasses import dataclass, field

from ftlab.probes.data.texts.foreign_marks import ForeignMarks
from ftlab.probes.data.texts.glance import Glances
from ftlab.probes.data.texts.token_marks import TokenMarks
from ftlab.probes.data.token_counts import RowLengths, TokenCounter


@dataclass(frozen=True, slots=True)
class Looks:
    """What rows are looked at with.

    Attributes
    ----------
    marks, foreign
        Look for control strings.
    counter, lengths
        Count tokens; ``None`` without a tokenizer: characters are counted.
    limit
        Tokens behind which a training cuts a row off; 0 where nobody knows.
    prompts
        Whether the keys of prompts are kept, for the evaluation data.
    texts
        Whether the texts are kept in a file, to be compared later.
    """

    marks: TokenMarks
    counter: TokenCounter | None = None
    lengths: RowLengths | None = None
    limit: int = 0
    prompts: bool = False
    texts: bool = True
    foreign: ForeignMarks = field(default_factory=lambda: ForeignMarks(None))
    glances: Glances = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "glances", Glances(self.marks.words))
