"""Messages of services that failed, kept as answers."""

import re
from collections.abc import Set as AbstractSet

from ftlab.probes.data.answers.answer_faults import asks_about
from ftlab.probes.data.rows.parts import Part, RowParts
from ftlab.probes.data.rows.row_parts import PAIRS
from ftlab.probes.data.texts.error_pages import html_error
from ftlab.probes.data.texts.text_faults import TextFault

MESSAGE = 600
"""Characters up to which a text may be the message of an error."""

RAISED = "Error"
"""What every name of an exception holds."""

_RAISED = (
    r"(?:RateLimit|APIConnection|APITimeout|APIStatus|ServiceUnavailable"
    r"|InvalidRequest|BadRequest|InternalServer|Overloaded)Error\b"
)
_ERROR = re.compile(
    r"(?:(?:an )?(?:unexpected )?error(?: occurred)?:? ?)?"
    r"(?:"
    r"error code: ?[45]\d\d\b"
    r"|(?:HTTP(?:/\d\.\d)? ?(?:error )?)?(?:400 bad request|401 unauthorized"
    r"|403 forbidden|429 too many requests|500 internal server error|502 bad gateway"
    r"|503 service (?:temporarily )?unavailable|504 gateway time-?out)"
    r"(?=\s*(?:\Z|[\n:<{(.-]))"
    r"|rate limit (?:reached|exceeded|error)"
    r"|you exceeded your current quota|incorrect api key|invalid api key"
    r"|(?:that|the) (?:model|server|engine) is (?:currently )?overloaded"
    r"|(?:the )?request timed out|upstream (?:request timeout|connect error)"
    rf"|{_RAISED}"
    r"|HTTPS?ConnectionPool\(host="
    r"|this model's maximum context length is \d"
    r")"
    r"|\{ ?[\"']error[\"']: ?(?:\{|[\"'])",
    re.IGNORECASE,
)
"""How the messages of services begin that did not answer."""

_ERROR_BEGINS = frozenset(
    {"an", "un", "er", "ht", "40", "42", "50", "ra", "yo", "in", "th", "mo", "re", "up"}
    | {"ap", "se", "ba", "ov"}
)
"""The first two letters of all these: most answers begin otherwise."""

_BEGINS = re.compile(
    r"an |unexpected |error|http|4\d\d |50\d |rate limit|you exceeded|incorrect api"
    r"|invalid api|th(?:at|e) (?:model|server|engine|request)|request t|upstream "
    r"|this model's|\w+Error\b",
    re.IGNORECASE,
)
"""How they begin: the first words cost less than all that may follow."""

_OF_MODULE = re.compile(rf"[\w.]+\.{_RAISED}", re.IGNORECASE)

_ASKED = re.compile(
    r"error|https?\b|status|exception|\bapi\b|time-?d?.?out|limit|quota|overload|json"
    r"|\b[45]\d\d\b",
    re.IGNORECASE,
)
"""A prompt with one of these words may be answered by such a message."""

_SURE = re.compile(
    r"(?:[\w.]+Error: )?(?:error:? )?(?:"
    r"rate limit reached for \S+ (?:in|on) (?:organization|project|tokens|requests)"
    r"|error code: ?[45]\d\d - \{"
    r"|you exceeded your current quota, please"
    r"|incorrect api key provided: \S"
    r"|(?:that|the) model is currently overloaded with other"
    r"|the server had an error while processing your request"
    r"|this model's maximum context length is \d+ tokens"
    r"|HTTPS?ConnectionPool\(host=['\"][\w.-]+['\"], port="
    r")",
    re.IGNORECASE,
)
"""Messages that no answer begins with, whatever was asked."""

_ALONE = re.compile(r"(?:error: )?(?:the )?request timed out\.?", re.IGNORECASE)
"""A message that is one where it is the whole answer, and no translation."""

_OF_ERRORS = re.compile(
    r"\berror (?:message|page|code|response|text|body|string)|\bstatus code|\bHTTP\b"
    r"|rate.?limit|time-?d?.?out|quota|overload|\bapi (?:key|error)|gateway|nginx"
    r"|openai|\berror\b[^\n]{0,40}\b(?:mean|say|return|print|log|write)"
    r"|\b(?:what|which|explain|write|show|describe)\b[^\n]{0,40}\berrors?\b"
    r"|\b[45]\d\d\b",
    re.IGNORECASE,
)
"""A prompt with one of these asks for such a message, or for what it means."""

_OF_PAGES = re.compile(r"html|\bxml\b|\bpage|template|website", re.IGNORECASE)
"""A prompt with one of these may be answered by a page, and so by one of an error."""

_TO_ENGLISH = re.compile(r"\benglish\b|anglais|englisch", re.IGNORECASE)

_ANSWERS = frozenset(answer for _, answer in PAIRS)


def may_have_failed(text: str, words: AbstractSet[str]) -> bool:
    """Tell by the beginning of an answer whether it may be such a message.

    Parameters
    ----------
    words
        Whether `RAISED` stands in the row.

    Examples
    --------
    >>> from ftlab.probes.data.answers.failed_requests import may_have_failed
    >>> may_have_failed("The request timed out.", ()), may_have_failed("So.", ())
    (True, False)
    """
    begins = text[:1] in "<{" or text[:2].casefold() in _ERROR_BEGINS
    return begins or RAISED in words


def failed_request(text: str, part: Part, row: RowParts) -> TextFault | None:
    """Return what an answer says in place of one, where a service has failed.

    Parameters
    ----------
    text
        The answer, without the white space around it.
    part, row
        Where it stands.

    Examples
    --------
    >>> from ftlab.probes.data.answers.failed_requests import failed_request
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> said = "Error: Rate limit reached for gpt-4o in organization org-1 on tokens"
    >>> row = parts_of({"prompt": "Why json.load(f)?", "completion": said})
    >>> failed_request(said, row.parts[1], row).says
    "begins with 'Error: Rate limit reached for gpt-4o in organization'"
    """
    if text.startswith("<"):
        says = html_error(text)
        meant = not says or asks_about(row, _OF_PAGES) or asks_about(row, _OF_ERRORS)
        return None if meant else TextFault("error-as-answer", 0, says)
    begins = text.startswith("{") or (
        text[:2].casefold() in _ERROR_BEGINS and _BEGINS.match(text) is not None
    )
    if not begins and RAISED not in text:
        return None
    if begins and _ALONE.fullmatch(text) and _translates(part, row):
        return None
    found = _SURE.match(text) or (_ALONE.fullmatch(text) if begins else None)
    if found is None or asks_about(row, _OF_ERRORS):
        found = _ERROR.match(text) if begins else None
        found = found or _OF_MODULE.match(text)
        if found is None or asks_about(row, _ASKED):
            return None
    return TextFault("error-as-answer", 0, f"begins with {found.group()!r}")


def _translates(part: Part, row: RowParts) -> bool:
    """Tell whether an answer is what a message is called in another language."""
    written = part.message < 0 and part.column not in _ANSWERS
    return written or asks_about(row, _TO_ENGLISH)
