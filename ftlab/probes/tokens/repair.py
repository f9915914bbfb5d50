"""A batch with its ends put right, as a copy, and what to change in the code."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ftlab.probes.tokens.columns import is_flat
from ftlab.probes.tokens.ends import ends_of
from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.segments import STARTS, padding_of
from ftlab.records.errors import BadValueError
from ftlab.records.template import TemplateFacts
from ftlab.records.token_ends import EndReport, Repaired, RowEnds
from ftlab.records.token_row import IGNORED, TokenBatch, TokenRow


def repaired(
    batch: Mapping[str, Any],
    tokenizer: Any = None,
    *,
    facts: TemplateFacts | None = None,
) -> Repaired:
    """Return a batch in which ends are trained and padding is not.

    Labels of the tokens that end a trained answer are put back, and those of padding
    and of an opening without an answer taken out; padding is taken out of the
    attention; the second of two BOS is left out. The batch that is given is not
    changed.

    Parameters
    ----------
    batch
        With ``input_ids``; tensors, arrays or lists.
    tokenizer, facts
        See `ftlab.probes.tokens.rows.read_batch`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from ftlab.probes.tokens.repair import repaired
    >>> tokenizer = SimpleNamespace(
    ...     eos_token_id=2,
    ...     pad_token_id=2,
    ...     convert_ids_to_tokens=lambda ids: [str(i) for i in ids],
    ...     decode=lambda ids: "".join(map(str, ids)),
    ... )
    >>> made = repaired(
    ...     {
    ...         "input_ids": [[5, 6, 2, 2]],
    ...         "attention_mask": [[1, 1, 1, 0]],
    ...         "labels": [[5, 6, -100, -100]],
    ...     },
    ...     tokenizer,
    ... )
    >>> made.batch["labels"]
    [[5, 6, 2, -100]]
    >>> print(made.changes[0])
    sample 0: the label of the end at position 2 is put back
    """
    if "input_ids" not in batch:
        msg = "A repair needs the batch that holds input_ids, by itself."
        raise BadValueError(msg)
    read = read_batch(batch, tokenizer, facts=facts)
    report = ends_of(read, facts)
    bench = _Bench(batch, read)
    rows = [row for row in read.rows if row.source.startswith("sample ")]
    for at, row in enumerate(rows):
        ends = next(each for each in report.rows if each.source == row.source)
        bench.mend(at, row, ends)
    advice = tuple(dict.fromkeys(_advice(report, read, facts)))
    return Repaired(bench.made, tuple(bench.changes), advice)


class _Bench:
    """A copy of a batch, column by column once it is changed."""

    def __init__(self, batch: Mapping[str, Any], read: TokenBatch) -> None:
        self.changes: list[str] = []
        self.made: dict[str, Any] = dict(batch)
        self._special = read.special
        self._own: set[str] = set()

    def mend(self, at: int, row: TokenRow, ends: RowEnds) -> None:
        """Put one row right, what moves its positions last."""
        hidden = self._hidden(row)
        if row.labels is not None:
            self._mend_labels(at, row, ends, hidden)
        self._mend_attention(at, row, hidden)
        packed = any(self.made.get(name) is not None for name in (*STARTS, "seq_idx"))
        if ends.doubled_bos and not packed:
            for place in reversed(ends.doubled_bos):
                self._leave_out(at, place, left=bool(hidden[0]))
            self._say(row, "the second BOS is left out")

    def _hidden(self, row: TokenRow) -> NDArray[np.bool_]:
        hidden = padding_of(row.ids, None, row.labels, self._special)
        if row.attention is not None:
            hidden |= row.attention == 0
        return hidden

    def _mend_labels(
        self, at: int, row: TokenRow, ends: RowEnds, hidden: NDArray[np.bool_]
    ) -> None:
        for answer in ends.answers:
            place = answer.terminator
            if place is not None and answer.trained and answer.end_trained is False:
                self._write("labels", at, place, int(row.ids[place]))
                said = f"the label of the end at position {place} is put back"
                self._say(row, said)
        padded = np.flatnonzero(hidden & row.trained)
        for place in padded.tolist():
            self._write("labels", at, place, IGNORED)
        if len(padded):
            self._say(row, f"{len(padded)} labels of padding are taken out")
        if ends.generation_prompt is not None:
            for place in range(ends.generation_prompt, len(row.ids)):
                self._write("labels", at, place, IGNORED)
            self._say(row, "the opening of another answer is not trained")

    def _mend_attention(
        self, at: int, row: TokenRow, hidden: NDArray[np.bool_]
    ) -> None:
        wrong = hidden if row.attention is None else hidden & (row.attention != 0)
        if not wrong.any() or self.made.get("position_ids") is not None:
            return
        if self.made.get("attention_mask") is None:
            self.made["attention_mask"] = _ones_like(self.made["input_ids"])
            self._own.add("attention_mask")
        elif row.attention is None and "attention_mask" not in self._own:
            return  # a mask of another shape, which knows better
        for place in np.flatnonzero(wrong).tolist():
            self._write("attention_mask", at, place, 0)
        self._say(row, f"{int(wrong.sum())} positions of padding are not attended to")

    def _leave_out(self, at: int, place: int, *, left: bool) -> None:
        pad = min(self._special.get("pad", frozenset({0})))
        fills = {"input_ids": pad, "labels": IGNORED}
        for name in list(self.made):
            line = self._line(name, at)
            if line is None:
                continue
            values = [*line[:place], *line[place + 1 :]]
            if name == "position_ids":
                values = [*line[: len(line) - 1]]
            fill = [fills.get(name, 0)]
            self._replace(name, at, [*fill, *values] if left else [*values, *fill])
        if self.made.get("attention_mask") is None:
            self.made["attention_mask"] = _ones_like(self.made["input_ids"])
            self._own.add("attention_mask")
            edge = 0 if left else len(self._line("attention_mask", at) or [0]) - 1
            self._write("attention_mask", at, edge, 0)

    def _line(self, name: str, at: int) -> list[Any] | None:
        """Return a row of a column that goes by token."""
        value, ids = self.made[name], self.made["input_ids"]
        flat = is_flat(ids)
        own = value if flat else _nth(value, at)
        beside = ids if flat else ids[at]
        listed = own.tolist() if hasattr(own, "tolist") else own
        if not isinstance(listed, list | tuple) or len(listed) != len(beside):
            return None
        return None if listed and isinstance(listed[0], list | tuple) else [*listed]

    def _write(self, name: str, at: int, place: int, value: int) -> None:
        column = self._copied(name)
        (column if is_flat(column) else column[at])[place] = value

    def _replace(self, name: str, at: int, values: list[Any]) -> None:
        for place, value in enumerate(values):
            self._write(name, at, place, value)

    def _copied(self, name: str) -> Any:
        if name not in self._own:
            value = self.made[name]
            clone = getattr(value, "clone", None)
            self.made[name] = clone() if clone is not None else copy.deepcopy(value)
            self._own.add(name)
        return self.made[name]

    def _say(self, row: TokenRow, what: str) -> None:
        self.changes.append(f"{row.source}: {what}")


def _nth(value: Any, at: int) -> Any:
    try:
        return value[at]
    except (IndexError, KeyError, TypeError):
        return None


def _ones_like(ids: Any) -> Any:
    if hasattr(ids, "new_ones"):
        return ids.new_ones(ids.shape)
    if isinstance(ids, np.ndarray):
        return np.ones_like(ids)
    if is_flat(ids):
        return [1] * len(ids)
    return [_ones_like(row) for row in ids]


def _advice(
    report: EndReport, read: TokenBatch, facts: TemplateFacts | None
) -> Iterator[str]:
    answers = [each for row in report.rows for each in row.answers]
    if any(each.trained and each.end_trained is False for each in answers):
        yield _untrained(read, facts)
    if any(each.terminator is None and not each.cut for each in answers):
        yield (
            "Nothing ends the answers: let the template write tokenizer.eos_token "
            "behind an answer, or append it to the texts."
        )
    if any(each.terminator is None and each.cut for each in answers):
        yield (
            "Rows end within an answer: raise max_length, or leave out rows that are "
            "longer."
        )
    if any(row.doubled_bos for row in report.rows):
        yield (
            "The text already begins with BOS: tokenise it with "
            "add_special_tokens=False, or by apply_chat_template(tokenize=True)."
        )
    if any(row.generation_prompt is not None for row in report.rows):
        yield "Render rows for training with add_generation_prompt=False."
    if any(row.joined for row in report.rows):
        yield (
            "Conversations of a packed row see each other: give position_ids that "
            "begin anew with each of them and no attention_mask, as padding_free=True "
            "does."
        )
    if report.unheard:
        stops = [*report.generation_stops, *report.unheard]
        yield f"model.generation_config.eos_token_id = {stops}"


def _untrained(read: TokenBatch, facts: TemplateFacts | None) -> str:
    if read.special.get("pad", frozenset()) & read.special.get("eos", frozenset()):
        return (
            "PAD is EOS, and the collator leaves both out of the labels: give the "
            "tokenizer a pad token of its own, or mask labels where attention_mask is "
            "0."
        )
    if facts is not None and facts.marks_cover_end is False:
        return (
            "The template's {% generation %} stops before the token that ends an "
            "answer: put that token before {% endgeneration %}."
        )
    return "Let the labels hold the token that ends an answer too."
