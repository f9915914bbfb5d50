"""What models say unasked: who they are, that they will not, and that here it comes."""

import re
from collections.abc import Set as AbstractSet

from ftlab.probes.data.answers.answer_faults import asks_about
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.texts.text_faults import TextFault

FIRST, SHORT = 200, 600
"""Characters in which a model names itself, and up to which an answer is a refusal."""

_MODEL = re.compile(
    r"\b[Aa]s an (?:AI|artificial intelligence)(?: language)?(?: model)?\b"
    r"|\b[Aa]s a (?:large )?language model(?:,| I\b)"
    r"|\bI(?:['\u2019]m| am) (?:just |only )?an AI\b"
)
NAMED = ("AI", "anguage model", "intelligence")
"""What all of these hold."""

_OF_YOU = re.compile(
    r"\b(?:who|what) are you|\bare you\b|\byour ?self\b|\byour name|\bchatbot",
    re.IGNORECASE,
)
"""A prompt with one of these asks who it is that answers."""

_SORRY = (
    r"(?:I(?:['\u2019]m| am)(?: really| very)? (?:sorry|afraid)|(?:[Mm]y )?[Ss]orry"
    r"|(?:[Mm]y )?[Aa]pologies|I apologi[sz]e|Unfortunately)"
    r"(?:[,.;:]? (?:but|that))?[,.;:]?\s+(?:[Bb]ut )?"
)
_UNABLE = (
    r"I(?:['\u2019]m| am)? (?:can(?:['\u2019]t|not| not)|(?:unable|not able) to"
    r"|(?:won['\u2019]t|will not)(?: be able to)?) "
)
_HELP = (
    r"(?:assist|help)(?: you)? with (?:that|this|it|your|the|such)\b"
    r"|ful?fil?l (?:this|that|your|the|such)\b|comply with\b"
)
_GIVE = r"|(?:provide|answer|complete|generate|create|translate|do|write|assist|help)\b"
_REFUSAL = re.compile(rf"(?:{_SORRY}{_UNABLE}(?:{_HELP}{_GIVE})|{_UNABLE}(?:{_HELP}))")
"""An excuse and a no to whatever it is, or a no to the whole request."""

_CHATTER = re.compile(
    r"(?:Sure(?: thing)?|Certainly|Of course|Absolutely|No problem)[!,.:]?\s+"
    r"(?:[Hh]ere(?:['\u2019]s| is| are| you go| it is)"
    r"|I(?:['\u2019](?:d|ll)| can| would)\b)"
    r"[^\n]{0,120}\n+\S"
)


def of_model(part: Part, row: RowParts, words: AbstractSet[str]) -> TextFault | None:
    r"""Find what a model has said that was to answer.

    In an answer that was rejected it may be the reason for that.

    Parameters
    ----------
    words
        Which of `NAMED` stand in the row.

    Examples
    --------
    >>> from ftlab.probes.data.answers.model_voices import of_model
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> said = ["As an AI, I have no eyes.", "I can't help with that."]
    >>> said.append("Sure! Here's a list:\n\n- One")
    >>> rows = [parts_of({"prompt": "Why?", "completion": each}) for each in said]
    >>> [of_model(row.parts[-1], row, {"AI"}).name for row in rows]
    ['model-named-in-answer', 'refusal-as-answer', 'chatter-before-answer']
    """
    text = part.text
    if not words.isdisjoint(NAMED):
        found = _MODEL.search(text[:FIRST])
        if found and not (found.group()[0] == "I" and asks_about(row, _OF_YOU)):
            return _fault("model-named-in-answer", found)
    if part.column == "rejected":
        return None
    first = text[:1]
    if first in "ISMAU" and len(text) <= SHORT and (found := _REFUSAL.match(text)):
        return _fault("refusal-as-answer", found)
    if first in "SCOAN" and (found := _CHATTER.match(text)):
        return _fault("chatter-before-answer", found)
    return None


def _fault(name: str, found: re.Match[str]) -> TextFault:
    said = found.group().partition("\n")[0]
    return TextFault(name, found.start(), said)
