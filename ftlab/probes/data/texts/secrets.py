"""Keys and passwords of known form that stand in texts."""

import re
from collections.abc import Iterator
from functools import partial

from ftlab.probes.data.answers.answer_faults import Placed
from ftlab.probes.data.rows.parts import RowParts
from ftlab.probes.data.texts.address_passwords import password_in, without_passwords
from ftlab.probes.data.texts.text_faults import TextFault

FORMS = {
    "ghp_": ("a token of GitHub", r"ghp_[A-Za-z0-9]{36,255}"),
    "github_pat_": ("a token of GitHub", r"github_pat_[A-Za-z0-9_]{60,255}"),
    "AKIA": ("a key of AWS", r"AKIA[A-Z2-7]{16}"),
    "AIza": ("a key of Google", r"AIza[\w-]{35}"),
    "xoxb-": ("a token of Slack", r"xoxb-\d{9,13}-[\w-]{20,80}"),
    "hf_": ("a token of Hugging Face", r"hf_[A-Za-z]{34,40}"),
    "sk-": (
        "a key of a model's service",
        r"sk-(?=[\w-]*[A-Za-z0-9]{20})[\w-]{32,200}",
    ),
    "-----BEGIN ": (
        "a private key",
        r"-----BEGIN (?:[A-Z]{2,8} )?PRIVATE KEY-----(?:\s|\\n)+"
        r"(?:[A-Za-z0-9+/]{40,}={0,2}(?:\s|\\n)+){2,}[A-Za-z0-9+/=]*",
    ),
}
"""By how they begin: what they are, and their whole form."""

_SEARCHES = [
    (begins, name, re.compile(rf"(?<![A-Za-z0-9_]){form}(?![A-Za-z0-9_])"))
    for begins, (name, form) in FORMS.items()
]

LETTERS = 0.4
"""Share of different characters in a drawn key, of as many as it may have at most."""

MOST, SEEN = 36, 80
"""Characters of a key that may all be different, and in which words are looked for."""

_EXAMPLE = re.compile(
    r"example|your|xxxx|\*\*\*|dummy|sample|placeholder|redacted|test|1234|abcd|0000|fake",
    re.IGNORECASE,
)
"""What keys in manuals hold."""


def secrets(row: RowParts) -> Iterator[Placed]:
    """Yield the keys in the texts of a row.

    Examples
    --------
    >>> from ftlab.probes.data.rows.row_parts import parts_of
    >>> from ftlab.probes.data.texts.secrets import secrets
    >>> key = "AKIA" + "Q3EGRV7JXNTW5KPZ"
    >>> ((part, fault),) = secrets(parts_of({"text": f"my key is {key}!"}))
    >>> part.where, fault.char, fault.says
    ('text', 10, 'a key of AWS')
    """
    for part in row.parts:
        for begins, name, search in _SEARCHES:
            if begins in part.text and (found := _drawn(search, part.text, begins)):
                yield part, TextFault("secret-in-text", found.start(), name)
                break
        else:
            at = password_in(part.text) if "@" in part.text else -1
            if at >= 0:
                yield part, TextFault("secret-in-text", at, "a password in an address")


def without_secrets(text: str) -> str:
    """Write stars in place of what may be a key: places are shown, and keys are not.

    Examples
    --------
    >>> from ftlab.probes.data.texts.secrets import without_secrets
    >>> without_secrets("is AKIA" + "Q3EGRV7JXNTW5KPZ!")
    'is AKIA****************!'
    """
    for begins, _, search in _SEARCHES:
        if begins in text:
            text = search.sub(partial(_stars, begins=begins), text)
    return without_passwords(text) if "@" in text else text


def _drawn(search: re.Pattern[str], text: str, begins: str) -> re.Match[str] | None:
    """Return the first key that is no example."""
    for found in search.finditer(text):
        key = found.group()[len(begins) :]
        different = len(set(key)) / min(len(key), MOST)
        words = key.islower() and not any(map(str.isdigit, key))
        example = words or _EXAMPLE.search(key, 0, SEEN)
        if different >= LETTERS and not example:
            return found
    return None


def _stars(key: re.Match[str], begins: str) -> str:
    return begins + "*" * (len(key.group()) - len(begins))
