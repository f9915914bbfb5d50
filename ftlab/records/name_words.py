"""Many long names of parameters and modules in few words, for people.

The words are for reading only. Whoever needs a name to work with takes it from a
finding's places, which hold every name as it is.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_WRAPPER = re.compile(r"^(?:base_model\.model\.)?(?:model\.)?(?=[A-Za-z])")
_FACTOR = re.compile(r"\.(lora_(?:embedding_)?[AB]|lora_magnitude_vector)\.(.+)$")
_NUMBER = re.compile(r"(?:^|\.)(\d+)(?:\.|$)")


class _Parts(NamedTuple):
    """A name cut at the number of its layer: ``layers`` ``3`` ``mlp.up`` ``weight``."""

    head: str
    number: int
    middle: str
    tail: str


def short_name(name: str) -> str:
    """Return ``name`` without wrappers, and a LoRA factor without what is usual.

    Examples
    --------
    >>> from ftlab.records.name_words import short_name
    >>> start = "base_model.model.model.layers.0.self_attn.q_proj"
    >>> short_name(f"{start}.lora_A.default.weight")
    'layers.0.self_attn.q_proj.lora_A'
    >>> short_name(f"{start}.lora_B.second.weight")
    'layers.0.self_attn.q_proj.lora_B.second'
    """
    bare = _WRAPPER.sub("", name)
    factor = _FACTOR.search(bare)
    if factor is None:
        return bare
    adapter = factor[2].removesuffix(".weight")
    kept = factor[1] if adapter == "default" else f"{factor[1]}.{adapter}"
    return f"{bare[: factor.start()]}.{kept}"


def listed(names: Sequence[str], shown: int = 2) -> str:
    """Return the first names and how many more there are.

    Examples
    --------
    >>> from ftlab.records.name_words import listed
    >>> listed(["a", "b", "c", "d"])
    'a, b and 2 more'
    """
    head = ", ".join(names[:shown])
    rest = len(names) - shown
    return f"{head} and {rest} more" if rest > 0 else head


def in_words(names: Iterable[str], shown: int = 2) -> str:
    """Name tensors or modules briefly: what repeats over layers is said once.

    ``*`` stands for several modules; the number behind it counts the names that are
    meant, which need not be all that the pattern would match.

    Examples
    --------
    >>> from ftlab.records.name_words import in_words
    >>> kinds = ["self_attn.q_proj", "self_attn.k_proj", "mlp.up_proj", "mlp.down_proj"]
    >>> names = [
    ...     f"model.layers.{n}.{k}.lora_A.default.weight"
    ...     for n in range(4)
    ...     for k in kinds
    ... ]
    >>> in_words(names)
    'layers.0-3.*.lora_A (16)'
    >>> in_words(names[:2])
    'layers.0.self_attn.{q_proj,k_proj}.lora_A'
    >>> in_words(["lm_head.weight", "a.bias", "b.bias", "c.bias"])
    'lm_head.weight, a.bias and 2 more'
    """
    patterns = _patterns([short_name(name) for name in names])
    head = ", ".join(words for words, _ in patterns[:shown])
    rest = sum(count for _, count in patterns[shown:])
    return f"{head} and {rest} more" if rest else head


def _patterns(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return patterns in the order of ``names``, and how many names each stands for."""
    whole: dict[tuple[str, str], list[_Parts]] = {}
    for name in names:
        parts = _cut(name)
        whole.setdefault((parts.head, parts.tail), []).append(parts)
    alike: dict[object, list[list[_Parts]]] = {}
    for (head, _), members in whole.items():
        places = frozenset((each.number, each.middle) for each in members)
        key = (head, places) if members[0].number >= 0 else members[0]
        alike.setdefault(key, []).append(members)
    return [
        (_pattern(groups), sum(len(each) for each in groups))
        for groups in alike.values()
    ]


def _cut(name: str) -> _Parts:
    found = _NUMBER.search(name)
    if found is None:
        return _Parts(name, -1, "", "")
    head, rest = name[: found.start()], name[found.end() :]
    factor = re.search(r"(?:^|\.)lora_.*$", rest)
    at = factor.start() if factor else rest.rfind(".") if "." in rest else 0
    middle, tail = rest[: max(at, 0)], rest[max(at, 0) :].lstrip(".")
    return _Parts(head, int(found[1]), middle, tail)


def _pattern(groups: Sequence[Sequence[_Parts]]) -> str:
    """Write groups that differ in their tails only as one pattern."""
    members = groups[0]
    if members[0].number < 0:
        return members[0].head
    numbers = sorted({each.number for each in members})
    middles = list(dict.fromkeys(each.middle for each in members))
    tails = _one_of([group[0].tail for group in groups], most=4)
    parts = [members[0].head, _ranges(numbers), _one_of(middles, most=2), tails]
    text = ".".join(part for part in parts if part)
    exact = len(members) == len(numbers) * len(middles) and "*" not in text
    return text if exact else f"{text} ({sum(len(group) for group in groups)})"


def _ranges(numbers: Sequence[int], most: int = 3) -> str:
    """Write ``0-3,7``; many gaps become ``*``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    if len(runs) > most:
        return "*"
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def _one_of(words: Sequence[str], most: int) -> str:
    """Write alternatives as ``mlp.{up,down}``; more than ``most`` become ``*``."""
    if len(words) == 1:
        return words[0]
    if len(words) > most:
        return "*"
    split = [word.split(".") for word in words]
    same = 0
    while all(len(each) > same + 1 for each in split) and (
        len({each[same] for each in split}) == 1
    ):
        same += 1
    start = "".join(f"{part}." for part in split[0][:same])
    return start + "{" + ",".join(".".join(each[same:]) for each in split) + "}"
