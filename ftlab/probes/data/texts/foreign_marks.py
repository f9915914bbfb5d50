"""Marks of other programs in texts: of other models' templates, and of citations."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.text_faults import TextFault
from ftlab.probes.tokens.pieces import text_tokenizer
from ftlab.records.template import TemplateFacts

OPENINGS = (
    "<|im_start|>",
    "<|start_header_id|>",
    "<|begin_of_text|>",
    "<start_of_turn>",
    "<|start|>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "[INST]",
    "<s>[INST]",
    "<s> [INST]",
    "<<SYS>>",
)
ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<|end|>",
    "[/INST]",
    "<</SYS>>",
    "</s>",
)
"""What well-known templates write before and behind a message."""

FOREIGN = (*OPENINGS, *ENDS, "\u3010", "oai")
"""What a text holds that has such a mark, or one of a citation."""

_CITATION = re.compile(
    r"\u3010\d+(?::\d+)?\u2020[^\u3011\n]{0,80}\u3011"
    r"|:contentReference\[oaicite|\[oai_citation:\d"
)


class ForeignMarks:
    """Looks for marks that say nothing to this tokenizer, and for those of citations.

    A text may speak of templates: their marks count where a message begins or ends.

    Parameters
    ----------
    tokenizer
        Whose tokens are no foreign marks; ``None``: only citations are looked for.
    facts
        Of the chat template, whose own marks are not foreign either.

    Examples
    --------
    >>> from ftlab.probes.data.texts.foreign_marks import ForeignMarks
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> row = parts_of({"prompt": "Why?", "completion": "So it is【4†source】."})
    >>> [(fault.name, fault.char) for _, fault in ForeignMarks(None).faults(row)]
    [('citation-mark', 8)]
    """

    def __init__(self, tokenizer: Any, facts: TemplateFacts | None = None) -> None:
        known = _known(tokenizer, facts)
        of_others = tokenizer is not None
        self._openings = tuple(m for m in OPENINGS if of_others and m not in known)
        self._ends = tuple(m for m in ENDS if of_others and m not in known)

    def faults(self, row: RowParts) -> Iterator[Placed]:
        """Yield the marks that stand in the texts of a row."""
        opens = self._openings if row.kind == "messages" else ()
        ends = () if row.kind == "text" else self._ends
        for part in row.parts:
            text = part.text
            if found := _mark(text, opens, ends):
                yield part, TextFault("foreign-mark-in-content", *found)
            if ("oai" in text or "\u3010" in text) and (
                cited := _CITATION.search(text)
            ):
                says = repr(cited.group())
                yield part, TextFault("citation-mark", cited.start(), says)


def _mark(
    text: str, opens: tuple[str, ...], ends: tuple[str, ...]
) -> tuple[int, str] | None:
    begun, end = text.lstrip(), text.rstrip()
    if begun.startswith(opens):
        mark = next(each for each in opens if begun.startswith(each))
        return len(text) - len(begun), repr(mark)
    if end.endswith(ends):
        mark = next(each for each in ends if end.endswith(each))
        struck = mark == "</s>" and "<s>" in text[1:]
        return None if struck else (len(end) - len(mark), repr(mark))
    return None


def _known(tokenizer: Any, facts: TemplateFacts | None) -> set[str]:
    """Return the marks that are tokens, or of the template."""
    inner = text_tokenizer(tokenizer)
    vocabulary: Mapping[str, int] = getattr(inner, "get_vocab", dict)()
    written = (
        " ".join((*facts.openings.values(), *facts.ends.values())) if facts else ""
    )
    return {m for m in (*OPENINGS, *ENDS) if m in vocabulary or m in written}
