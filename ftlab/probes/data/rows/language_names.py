"""Columns that are called by a language: `en`, `zh_TW`, `srp_Cyrl`, `text_en`.

Two of them make a translation; one alone may be another word: `is`, `no`, `it`.
"""

import re
from functools import lru_cache

from ftlab.probes.data.rows.layout_names import LANGUAGES, LAYOUTS, Names

_WORDS_THREE = (
    "ara arb ben bul cat ces cmn dan deu ell eng est fas fin fra heb hin hrv hun ind "
    "ita jpn kor lav lit nld nno nob pol por ron rus slk slv spa srp swa swe tam tel "
    "tha tur ukr urd vie zho"
)
_THREE = frozenset(_WORDS_THREE.split())
_WORDS_REGIONS = (
    "ae ar at au be bg bo br by ca ch cl cn co cz de dk ec ee eg es fi fr gb gr hk hr "
    "hu id ie il in ir is it jp kr lt lu lv ma mo mx my ng nl no nz pe ph pk pl pt ro "
    "rs ru sa se sg si sk th tr tw ua us uy ve vn za 419"
)
_REGIONS = frozenset(_WORDS_REGIONS.split())
_SCRIPTS = (
    "latn|cyrl|arab|hans|hant|hani|deva|grek|hebr|jpan|hang|kore|thai|beng|taml|telu"
    "|geor|armn|ethi|khmr|laoo|mymr|gujr|guru|knda|mlym|orya|sinh|tibt|tfng|olck|mong"
)
_TAG = re.compile(
    r"(?P<before>(?:text|sentence|sent|content|translation|title|source|target)_)?"
    rf"(?P<language>[a-z]{{2,10}})(?:_(?P<script>{_SCRIPTS}))?"
    r"(?:_(?P<region>[a-z]{2}|\d{3}))?(?P<behind>_(?:text|sentence|translation))?"
)
"""A tag as BCP 47, POSIX and FLORES write it, in small letters and with `_`."""


def affixes(name: str) -> str | None:
    """Return what stands around a language in a name; ``None`` where none is named.

    Examples
    --------
    >>> from ftlab.probes.data.rows.language_names import affixes
    >>> affixes("zh_tw"), affixes("text_en"), affixes("row_name"), affixes("is_ok")
    ('', 'text_', None, None)
    """
    found = _TAG.fullmatch(name)
    if found is None:
        return None
    language, script, region = found["language"], found["script"], found["region"]
    exact = bool(script) and len(language) <= 3
    known = language in LANGUAGES or language in _THREE or exact
    indonesian = language == region == "id"
    if not (known or indonesian) or (region and region not in _REGIONS):
        return None
    return f"{found['before'] or ''}{found['behind'] or ''}"


@lru_cache(LAYOUTS)
def language_columns(names: Names) -> tuple[str, ...]:
    """Return the columns of a translation, two at least; none where there are fewer.

    Examples
    --------
    >>> from ftlab.probes.data.rows.language_names import language_columns
    >>> from ftlab.probes.data.rows.layout_names import known_names
    >>> language_columns(known_names(("id", "zh-CN", "zh-TW")))
    ('zh-CN', 'zh-TW')
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        if (around := affixes(name)) is not None:
            groups.setdefault(around, []).append(names[name])
    most = max(groups.values(), key=len, default=[])
    return tuple(most) if len(most) > 1 else ()
