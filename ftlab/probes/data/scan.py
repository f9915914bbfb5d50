"""Goes through all rows once.

Who calls whom: `Scan.take` is given row after row; it reads each, looks at its texts
and hands these to `Counting`, which tells `Scan` how many tokens they have.
`Scan.finish` waits for the last ones.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ftlab.probes.data.across.answer_lengths import AnswerLengths
from ftlab.probes.data.across.label_leaks import LabelLeaks
from ftlab.probes.data.across.labels import Labels
from ftlab.probes.data.across.prompt_in_completion import PromptsInCompletions
from ftlab.probes.data.answers.answer_faults import answer_faults
from ftlab.probes.data.answers.missing_values import MissingValues
from ftlab.probes.data.counting import Counting
from ftlab.probes.data.files.entries import Broken, Entry, Source, excerpt_of
from ftlab.probes.data.places import Places
from ftlab.probes.data.row_sets import Findings
from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.rows.messages import mapping_of
from ftlab.probes.data.rows.parts import ROLES, Part, RowParts, is_answer
from ftlab.probes.data.rows.pictures import has_picture
from ftlab.probes.data.rows.row_faults import row_faults
from ftlab.probes.data.rows.row_keys import KeyFile, prompt_key, prompt_of, row_key
from ftlab.probes.data.text_store import BETWEEN, TextStore, compared, said_in
from ftlab.probes.data.texts.characters import character_faults
from ftlab.probes.data.texts.json_escapes import escaped_texts
from ftlab.probes.data.texts.special_tokens import SpecialTokens
from ftlab.probes.data.token_counts import LONG, RENDERED, RowLengths, TokenCounter
from ftlab.records.data_scan import Spot
from ftlab.records.printable import printable

UNKNOWN_SHARE = 0.02
"""Share of unknown tokens from which on a row is named."""


SYSTEMS = 8
"""Different system messages up to which one of them was meant for all rows."""


@dataclass(frozen=True, slots=True)
class Looks:
    """What rows are looked at with.

    Attributes
    ----------
    marks
        Looks for special tokens.
    counter, lengths
        Count tokens; ``None`` without a tokenizer: characters are counted.
    limit
        Tokens behind which a training cuts a row off; 0 where nobody knows.
    prompts
        Whether the keys of prompts are kept, for the evaluation data.
    texts
        Whether the texts are kept in a file, to be compared later.
    """

    marks: SpecialTokens
    counter: TokenCounter | None = None
    lengths: RowLengths | None = None
    limit: int = 0
    prompts: bool = False
    texts: bool = True


class Scan:
    """What was found so far.

    Parameters
    ----------
    sources
        What the rows come from.
    looks
        What they are looked at with.
    """

    def __init__(self, sources: list[Source], looks: Looks) -> None:
        self.rows = 0
        self.formats: Counter[str] = Counter()
        self.roles: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()
        self.findings = Findings()
        self.leaks = LabelLeaks()
        self.prompted = PromptsInCompletions()
        self.answers = AnswerLengths()
        self.missing = MissingValues()
        self.labels = Labels()
        self.systems: set[str] = set()
        self.pictures = False
        self.keys = KeyFile()
        self.prompts = KeyFile() if looks.prompts else None
        self.texts = TextStore() if looks.texts else None
        self.first_rows: list[tuple[RowParts, int]] = []
        self.counting = Counting(looks.counter, self._counted)
        self._looks, self._places = looks, Places(sources)

    def take(self, source: int, entry: Entry) -> None:
        """Look at a row."""
        number = self.rows
        self.rows += 1
        self._places.add(number, source, entry.at)
        if isinstance(entry.value, Broken):
            self._take_broken(number, entry.value)
            return
        row = mapping_of(entry.value)
        read = parts_of(row)
        self.formats[read.kind] += 1
        self.pictures = self.pictures or has_picture(row, read)
        size = int if self._looks.counter is None else self._looks.counter.size
        for name, column, said in (*read.faults, *row_faults(row, read, size)):
            self.report(name, number, column, says=said)
        self._look(number, read)
        self.labels.look(number, row, read)
        header = number in self.findings.rows.get("header-as-row", ())
        self._keep(None if header else read)
        self._count(number, read)

    def _take_broken(self, number: int, value: Broken) -> None:
        says, self.rows = value.says, number + value.rows
        self.report("unreadable-row", number, "", value.char, says, value.excerpt)
        for lost in range(number + 1, self.rows):
            self.findings.add("unreadable-row", lost)
        for _ in range(value.rows):
            self._keep(None)

    def _look(self, number: int, read: RowParts) -> None:
        for part in read.parts:
            self.roles[part.role] += 1
        for part, fault in itertools.chain(
            answer_faults(read),
            character_faults(read),
            escaped_texts(read),
            self._looks.marks.faults(read),
        ):
            self.report_in(number, part, *fault)
        if read.kind == "messages" and read.parts:
            self._look_at_system(number, read.parts[0])
        if read.kind != "preference" and (asked := prompt_of(read.parts)):
            self.leaks.look(number, asked, read.parts[len(asked)].text)
        if (repeated := self.prompted.look(number, read)) is not None:
            self.report_in(number, read.parts[1], *repeated)
        self.missing.look(number, read)

    def _look_at_system(self, number: int, part: Part) -> None:
        if ROLES.get(part.role) != "s":
            return
        if not part.text.strip() and not part.says_more:
            self.report("empty-system", number, part.where)
        elif len(self.systems) <= SYSTEMS:
            self.systems.add(part.text)

    def report_in(
        self, number: int, part: Part, name: str, char: int, says: str
    ) -> None:
        """Count a row for what stands in one of its texts."""
        if self.findings.add(name, number):
            shown = excerpt_of(part.text, char) if char >= 0 else ""
            self._keep_spot(name, number, part.where, char, says, shown)

    def report(
        self,
        name: str,
        number: int,
        column: str = "",
        char: int = -1,
        says: str = "",
        excerpt: str | Callable[[int], str] = "",
    ) -> None:
        """Count a row, and keep the place if it is among the first."""
        if self.findings.add(name, number):
            shown = excerpt if isinstance(excerpt, str) else excerpt(number)
            self._keep_spot(name, number, column, char, says, shown)

    def _keep_spot(
        self, name: str, number: int, column: str, char: int, says: str, excerpt: str
    ) -> None:
        # a lone half of a character cannot be printed, and is no reason to fail
        shown, said, where = (printable(each) for each in (excerpt, says, column))
        place = self._places[number]
        self.findings.keep(name, Spot(number, place, where, char, said, shown))

    def place(self, number: int) -> str:
        """Return where a row is."""
        return self._places[number]

    def beginning(self, number: int) -> str:
        """Return how a row begins; ``""`` where the texts are not kept."""
        if self.texts is None:
            return ""
        said = said_in(self.texts[number])
        return excerpt_of(said.replace(BETWEEN, "\n").strip(), 0)

    def end(self, number: int) -> str:
        """Return how a row ends; ``""`` where the texts are not kept."""
        text = "" if self.texts is None else said_in(self.texts[number]).rstrip()
        return excerpt_of(text, max(len(text) - 20, 0))

    def _keep(self, read: RowParts | None) -> None:
        """Write down what tells this row from others."""
        says = read is not None and (
            read.kind == "tokens" or any(part.text.strip() for part in read.parts)
        )
        self.keys.append(row_key(read) if says and read else self._own_key())
        if self.prompts is not None:
            asked = prompt_key(read) if says and read else None
            self.prompts.append(self._own_key() if asked is None else asked)
        if self.texts is not None:
            self.texts.append(compared(read) if read is not None else "")

    def _own_key(self) -> int:
        """Return a key that no other row has."""
        return hash(("no row", len(self.keys)))

    def _count(self, number: int, read: RowParts) -> None:
        if read.kind == "tokens" or not read.parts:
            if read.kind == "tokens":
                self._measure(number, read, len(read.beside), -1)
            return
        for part in read.parts:
            if len(part.text) > LONG:
                says = f"{len(part.text):,} characters"
                self.report_in(number, part, "huge-row", -1, says)
        self.counting.add(number, read)

    def _counted(
        self, number: int, read: RowParts, own: list[int], unknown: list[int]
    ) -> None:
        """Take in how many tokens the texts of a row have."""
        lengths = self._looks.lengths
        total, before = lengths.length(read, own) if lengths else (sum(own), -1)
        self._measure(number, read, total, before)
        last = read.last_wanted
        if is_answer(read.parts[last]) and read.label is not False:
            self.answers.add(number, read.parts[last].text, own[last])
        if unknown and sum(unknown) > UNKNOWN_SHARE * sum(own):
            self._report_unknown(number, read, unknown)
        if len(self.first_rows) < RENDERED and read.kind == "messages":
            self.first_rows.append((read, total))

    def _measure(self, number: int, read: RowParts, total: int, before: int) -> None:
        self.lengths[total] += 1
        limit = self._looks.limit
        if not limit or total <= limit or read.kind == "prompt":
            return
        if read.kind == "text" and not self._looks.marks.is_ended(read.parts[-1].text):
            self.report("text-cut-off", number, says=f"{total:,} tokens")
            return
        away = before >= limit
        more = f", the answer from {before:,} on" if away else ""
        says = f"{total:,} tokens{more}"
        self.report("answer-cut-away" if away else "answer-cut-off", number, says=says)

    def _report_unknown(self, number: int, read: RowParts, unknown: list[int]) -> None:
        at = max(range(len(unknown)), key=unknown.__getitem__)
        says = f"{unknown[at]:,} unknown tokens"
        part = read.parts[at]
        char = next((at for at, c in enumerate(part.text) if not c.isascii()), 0)
        self.report_in(number, part, "unknown-tokens", char, says)

    def finish(self) -> None:
        """Count what is still waiting."""
        self.counting.finish()

    def close(self) -> None:
        """Let files and the thread go."""
        self.counting.close()
        for file in (self.keys, self.prompts, self.texts):
            if file is not None:
                file.close()
