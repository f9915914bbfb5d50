"""How much an entry of target_modules matters that matched nothing."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ftlab.records.finding import Severity
from ftlab.rules.reading.module_roles import role_of
from ftlab.rules.reading.wiring import Described

OUTSIDE_BLOCKS = frozenset(
    (
        "lm_head",
        "head",
        "output",
        "embed_out",
        "embed_in",
        "embed_tokens",
        "wte",
        "wpe",
        "word_embeddings",
    )
)
"""What models call their embeddings and their head."""

NEAR = 0.75
"""Likeness (difflib) from which a name counts as misspelled: one letter of four."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much an entry that matched nothing matters, and which layers it left."""

    severity: Severity
    why: str
    missed: tuple[str, ...] = ()


def judge(
    entry: str, blocks: Sequence[Described], bare: Sequence[Described]
) -> Verdict:
    """Say how much one entry of ``target_modules`` matters that matched nothing."""
    role = role_of(entry)
    ends = {block["pattern"].rpartition(".")[2]: block for block in bare}
    near = misspelled(entry, ends)
    if near:
        names = tuple(ends[near]["names"])
        why = f"{entry!r} is spelled almost like {near!r}, which has no adapter"
        return Verdict(Severity.WARNING, why, names)
    if entry.rpartition(".")[2] in OUTSIDE_BLOCKS:
        why = f"embeddings and head are not called {entry!r} here"
        return Verdict(Severity.INFO, why)
    same = [block for block in bare if role and role_of(block["pattern"]) == role]
    adapted = {role_of(block["pattern"]) for block in blocks if block["adapted"]}
    if role and role in adapted:
        why = f"the model has different names for the role of {entry!r} ({role})"
        return Verdict(Severity.INFO, why)
    names = tuple(name for block in (same or bare) for name in block["names"])
    why = (
        f"no layer is called {entry!r} here: most likely a name from a different model"
    )
    return Verdict(Severity.WARNING, why, names)


def misspelled(entry: str, names: Iterable[str]) -> str:
    """Return the name that an entry is spelled nearly like, if any.

    A name that other models use is no misspelling: qkv_proj is near k_proj.
    """
    if role_of(entry):
        return ""
    last = entry.rpartition(".")[2]
    near = difflib.get_close_matches(last, list(names), n=1, cutoff=NEAR)
    return near[0] if near else ""
