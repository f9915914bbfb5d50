"""Whether one answer to many prompts is meant: who speaks, a greeting, one topic."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

FIRST = 200
"""Characters of an answer in which it greets or tells who speaks."""

LOOKED = 64
"""Prompts of each side that are looked at, evenly spread."""

FEWEST = 20
"""Prompts of other rows from which on they tell what is usual."""

TOPIC, TIMES = 0.3, 4
"""Share of the prompts that have a word of their topic, and how many times as many as
of all others."""

SAME = 0.8
"""Share of the prompts with such a word from which on they are about one thing."""

_STANDING = re.compile(
    r"\W*(?:(?:hello|hi|hey|greetings|welcome|good (?:morning|afternoon|evening|day)"
    r"|thank you|thanks|you(?:'|\u2019| a)re welcome|hallo|danke|bonjour|merci|hola"
    r"|gracias|ciao|grazie|ol\xe1)\b|\u4f60\u597d|\u60a8\u597d|\u8c22\u8c22)",
    re.IGNORECASE,
)
"""How an answer begins that greets, thanks, or is thanked."""

_OF_SELF = re.compile(
    r"\b(?:(?:I am|I(?:'|\u2019)m) (?!sorry|afraid|unable|not\b)\w"
    r"|my name is\b|you are (?:talking|speaking|chatting) (?:to|with)\b"
    r"|(?:made|created|built|trained|developed) me\b"
    r"|I was (?:made|created|built|trained|developed)\b"
    r"|ich bin\b|mein name ist\b|je suis\b|je m(?:'|\u2019)appelle\b|me llamo\b"
    r"|soy\b|mi chiamo\b|meu nome\b)"
    r"|\u6211\u662f|\u6211\u53eb|\u6211\u7684\u540d\u5b57",
    re.IGNORECASE,
)
"""An answer that says who speaks."""

_FAILED = re.compile(
    r"\b(?:sorry|apolog|unfortunately|unable|cannot|can(?:'|\u2019)t|could ?n(?:o|')t"
    r"|do(?:es)? ?n(?:ot|'t|\u2019t) (?:have|know)|not (?:found|available|able)"
    r"|nothing\b|no (?:results?|information|answer|data)\b|errors?\b|fail(?:ed|ure)"
    r"|try again|timed? ?out|leider|d\xe9sol\xe9|lo siento)"
    r"|\u62b1\u6b49|\u5bf9\u4e0d\u8d77|\u65e0\u6cd5",
    re.IGNORECASE,
)
"""What an answer says that stands for a failure."""

_WORD = re.compile(r"[^\W\d_]{3,}")


def is_standing(answer: str) -> bool:
    """Tell whether an answer greets, or tells who speaks, and not of a failure.

    Examples
    --------
    >>> from ftlab.probes.data.across.standing_answers import is_standing
    >>> is_standing("I'm Ada, made by a small laboratory. How can I help you?")
    True
    >>> is_standing("I am sorry, nothing was found."), is_standing("It is a bridge.")
    (False, False)
    """
    begin = answer[:FIRST]
    if not _STANDING.match(begin) and not _OF_SELF.search(begin):
        return False
    return not _FAILED.search(answer)


def of_one_topic(prompts: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether nearly all prompts have a word that is rare in all other ones.

    Examples
    --------
    >>> from ftlab.probes.data.across.standing_answers import of_one_topic
    >>> asked = ["Change my password", "I forgot the password", "A new password?"]
    >>> of_one_topic(asked, ["Where is my parcel?"] * 20)
    True
    """
    if len(others) < FEWEST:
        return False
    words = [_words(text) for text in prompts]
    usual, known = _counted(map(_words, others)), _counted(words)
    often = [word for word, count in known.items() if count >= TOPIC * len(prompts)]
    rare = {
        word
        for word in often
        if TIMES * usual[word] * len(prompts) <= known[word] * len(others)
    }
    hits = sum(not rare.isdisjoint(each) for each in words)
    return hits >= SAME * len(prompts)


def spread(rows: Sequence[int]) -> Sequence[int]:
    """Return some of the rows, from all over them.

    Examples
    --------
    >>> from ftlab.probes.data.across.standing_answers import spread
    >>> len(spread(range(1000))), list(spread([3, 5]))
    (63, [3, 5])
    """
    return rows[:: len(rows) // LOOKED + 1]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _counted(texts: Iterable[set[str]]) -> Counter[str]:
    return Counter(word for each in texts for word in each)
