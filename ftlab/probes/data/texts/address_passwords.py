"""Passwords within addresses: ``postgres://user:password@host``."""

import itertools
import re

_ADDRESS = re.compile(
    r"://(?P<user>[^\s:/@?#\"'<>]{0,40}):(?P<word>[^\s:/@?#\"'<>{}()\[\]$%*]{8,64})"
    r"@(?P<host>[\w.-]+)"
)
_NOWHERE = re.compile(
    r"localhost|127\.|0\.0\.0\.0|(?:my|your)|host(?:name)?\b|server\b|.*example"
    r"|.*\.(?:test|invalid|local)\b",
    re.IGNORECASE,
)
"""Hosts of examples, and one's own machine."""

TURNS = 4
"""Changes between small letters, capitals and figures: words and a year have fewer."""

_WORD = re.compile(
    r"pass|pwd|secret|admin|root|user|login|change|welcome|qwert|demo|foo|bar|hello"
    r"|token|key|postgres|mysql|mongo|redis|rabbit|guest|tiger|super|strong|example|your"
    r"|xxxx|dummy|sample|placeholder|redacted|test|fake|abcd|1234|0000",
    re.IGNORECASE,
)
_AS_LETTERS = str.maketrans("013457", "oieast")
"""Figures that stand for letters: ``p4ssw0rd`` is a word."""


def password_in(text: str) -> int:
    """Return where a password begins that stands in an address; -1 where none does.

    Examples
    --------
    >>> from ftlab.probes.data.texts.address_passwords import password_in
    >>> password_in("postgres://app:Rt7" + "kQz2mWx@db1/prod")
    15
    >>> password_in("postgres://app:password@db1/prod")
    -1
    """
    for found in _ADDRESS.finditer(text):
        if _is_drawn(found["word"]) and not _NOWHERE.match(found["host"]):
            return found.start("word")
    return -1


def without_passwords(text: str) -> str:
    """Write stars in place of passwords in addresses, drawn or not.

    Examples
    --------
    >>> from ftlab.probes.data.texts.address_passwords import without_passwords
    >>> without_passwords("postgres://app:password@db1/prod")
    'postgres://app:********@db1/prod'
    """
    return _ADDRESS.sub(_stars, text)


def _stars(found: re.Match[str]) -> str:
    return f"://{found['user']}:{'*' * len(found['word'])}@{found['host']}"


def _is_drawn(word: str) -> bool:
    turns = sum(a != b for a, b in itertools.pairwise(map(_class, word)))
    if turns < TURNS or not any(map(str.isdigit, word)):
        return False
    figures = "".join(filter(str.isdigit, word))
    letters = "".join(filter(str.isalpha, word))
    spelt = (word, word.translate(_AS_LETTERS), figures, letters)
    return not any(map(_WORD.search, spelt))


def _class(char: str) -> int:
    return char.isdigit() + 2 * char.isupper() + 4 * char.islower()
