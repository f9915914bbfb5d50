"""Goes through all rows once.

Who calls whom: `Scan.take` is given row after row; it reads each, looks at its texts
and hands these to `Counting`, which tells `Scan` how many tokens they have.
`Scan.finish` waits for the last ones.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from ftlab.probes.data.across.answer_leaks import AnswerLeaks
from ftlab.probes.data.across.answer_lengths import CutAnswers
from ftlab.probes.data.across.divided_words import DividedWords
from ftlab.probes.data.across.echoes import Echoes
from ftlab.probes.data.across.habits import Habits
from ftlab.probes.data.across.instructed_echoes import InstructedEchoes
from ftlab.probes.data.across.label_leaks import LabelLeaks
from ftlab.probes.data.across.label_lists import LabelLists
from ftlab.probes.data.across.labels import Labels
from ftlab.probes.data.across.language_columns import LanguageColumns
from ftlab.probes.data.across.lost_letters import LostLetters
from ftlab.probes.data.across.page_frames import PageFrames
from ftlab.probes.data.across.python_literals import PythonLiterals
from ftlab.probes.data.across.repeated_prompts import RepeatedPrompts
from ftlab.probes.data.across.sheet_dates import SheetDates
from ftlab.probes.data.across.short_nones import ShortNones
from ftlab.probes.data.across.solution_leaks import SolutionLeaks
from ftlab.probes.data.across.text_verdicts import TextVerdicts
from ftlab.probes.data.across.unfilled_prompts import UnfilledPrompts
from ftlab.probes.data.answers.answer_faults import answer_faults, is_answer
from ftlab.probes.data.answers.rejected import is_reason, last_wanted
from ftlab.probes.data.counting import Counting
from ftlab.probes.data.files.entries import Broken, Entry, Source, excerpt_of
from ftlab.probes.data.looks import Looks
from ftlab.probes.data.places import Places
from ftlab.probes.data.row_sets import Findings
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.row_access import mapping_of
from ftlab.probes.data.rows.row_faults import row_faults
from ftlab.probes.data.rows.row_keys import KeyFile, prompt_key, prompt_of, row_key
from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.text_store import BETWEEN, TextStore, compared, said_in
from ftlab.probes.data.texts.content_faults import content_faults
from ftlab.probes.data.texts.glance import DIVIDED, Glance
from ftlab.probes.data.texts.secrets import without_secrets
from ftlab.probes.data.token_counts import LONG, RENDERED
from ftlab.records.data_scan import Spot
from ftlab.records.printable import printable

UNKNOWN_SHARE = 0.02
"""Share of unknown tokens from which on a row is named."""


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
        self.given = AnswerLeaks()
        self.solved = SolutionLeaks()
        self.answers = CutAnswers()
        self.habits = Habits()
        self.nones = ShortNones()
        self.dates = SheetDates()
        self.echoes = Echoes()
        self.instructed = InstructedEchoes()
        self.repeats = RepeatedPrompts()
        self.fields = UnfilledPrompts()
        self.literals = PythonLiterals()
        self.lost = LostLetters()
        self.frames = PageFrames()
        self.divided = DividedWords()
        self.labels = Labels()
        self.lists = LabelLists()
        self.languages = LanguageColumns()
        self.verdicts = TextVerdicts()
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
        glance = self._looks.glances.at(read)
        size = int if self._looks.counter is None else self._looks.counter.size
        faults = row_faults(row, read, glance.words, size)
        for name, column, said in (*read.faults, *faults):
            self.report(name, number, column, says=said)
        if (empty := self.habits.look(number, row, read)) is not None:
            self.report("empty-system", number, empty.where)
        self._look(number, read, glance)
        self.labels.add(row, read)
        if read.kind != "messages":
            self._look_at_columns(number, row, read)
        header = number in self.findings.rows.get("header-as-row", ())
        self._keep(None if header else read, glance.whole)
        self._count(number, read, len(glance.whole))

    def _take_broken(self, number: int, value: Broken) -> None:
        says, self.rows = value.says, number + value.rows
        self.report("unreadable-row", number, "", value.char, says, value.excerpt)
        for lost in range(number + 1, self.rows):
            self.findings.add("unreadable-row", lost)
        for _ in range(value.rows):
            self.labels.add({}, None)
            self._keep(None, "")

    def _look_at_columns(
        self, number: int, row: Mapping[str, Any], read: RowParts
    ) -> None:
        if read.kind == "text":
            self.frames.look(number, read)
            self.lists.look(number, row, read)
        elif read.kind in ("prompt", "prompt and answer"):
            self.solved.look(number, row, read)
        if read.kind == "prompt and answer":
            self._look_at_pair(number, read)

    def _look(self, number: int, read: RowParts, glance: Glance) -> None:
        for part in read.parts:
            self.roles[part.role] += 1
        for part, fault in itertools.chain(
            answer_faults(read),
            content_faults(read, self._looks.foreign, glance),
            self._looks.marks.faults(read, glance),
        ):
            if not is_reason(fault.name, part, read):
                self.report_in(number, part, *fault)
        if read.label is not None:
            self.verdicts.look(number, read)
        if read.kind != "preference" and (asked := prompt_of(read.parts)):
            answer = read.parts[len(asked)].text
            self.leaks.look(number, asked, answer)
            self.given.look(number, asked, answer)
        self.nones.look(number, read)
        self.dates.look(number, read)
        self.fields.look(number, read, glance)
        self.literals.look(number, read)
        self.lost.look(number, read)
        if DIVIDED in glance.words:
            self.divided.look(number, read)

    def _look_at_pair(self, number: int, read: RowParts) -> None:
        self.echoes.look(number, read)
        self.languages.look(number, read)
        self.instructed.look(number, read)
        if (repeated := self.repeats.look(number, read)) is not None:
            self.report_in(number, read.parts[1], *repeated)

    def report_in(
        self, number: int, part: Part, name: str, char: int, says: str
    ) -> None:
        """Count a row for what stands in one of its texts."""
        if self.findings.add(name, number):
            shown = _shown(part.text, char) if char >= 0 else ""
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
        return _shown(said.replace(BETWEEN, "\n").strip(), 0)

    def end(self, number: int) -> str:
        """Return how a row ends; ``""`` where the texts are not kept."""
        text = "" if self.texts is None else said_in(self.texts[number]).rstrip()
        return _shown(text, max(len(text) - 20, 0))

    def _keep(self, read: RowParts | None, whole: str) -> None:
        """Write down what tells this row from others."""
        blank = not whole or whole.isspace()
        says = read is not None and (read.kind == "tokens" or not blank)
        self.keys.append(row_key(read) if says and read else self._own_key())
        if self.prompts is not None:
            asked = prompt_key(read) if says and read else None
            self.prompts.append(self._own_key() if asked is None else asked)
        if self.texts is not None:
            self.texts.append(compared(read) if read is not None else "")

    def _own_key(self) -> int:
        """Return a key that no other row has."""
        return hash(("no row", len(self.keys)))

    def _count(self, number: int, read: RowParts, size: int) -> None:
        if read.kind == "tokens" or not read.parts:
            if read.kind == "tokens":
                self._measure(number, read, len(read.beside), -1)
            return
        if size > LONG:
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
        last = last_wanted(read)
        if is_answer(read.parts[last]) and read.label is not False:
            self.answers.add(number, read.parts[last], own[last])
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
        self.labels.close()
        for file in (self.keys, self.prompts, self.texts):
            if file is not None:
                file.close()


def _shown(text: str, char: int) -> str:
    return excerpt_of(without_secrets(text), char)
