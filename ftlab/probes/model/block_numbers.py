"""Blocks that differ from the others in what is frozen, and whose numbers begin alike.

``"layers.1" in name`` is true of ``layers.1``, ``layers.10`` and ``layers.11``. Where a
model has more than ten blocks, such a test shows in the set of blocks that it chose: it
holds each block whose number begins with a certain digit, and no other one above nine.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ftlab.probes.adapter.adapter_tree import bounded
from ftlab.probes.naming import clean_name

DIGITS = 10
"""Numbers of one digit; with fewer blocks no number begins with another one."""

_Learning = dict[str, bool]
"""Name of a parameter within its block -> whether it requires a gradient."""


def blocks_by_digits(model: torch.nn.Module) -> list[dict[str, Any]]:
    """Find lists of blocks of which some are chosen by how their number begins.

    Returns
    -------
    list
        Of each list of blocks: its ``path``, how many ``blocks`` it has, those that are
        ``chosen``, those of them that are ``caught`` (two digits), the ``begins`` that
        they have in common, whether they are ``frozen``, whether the chosen are both
        ``ends`` of the list, and the ``parameters`` of the caught.
    """
    found = []
    for path, module in model.named_modules():
        listed = isinstance(module, torch.nn.ModuleList | torch.nn.Sequential)
        if listed and len(module) > DIGITS:
            found += [each for each in _chosen(path, module) if each][:1]
    return found


def begins_of(chosen: Sequence[int], all_of: Sequence[int]) -> list[int]:
    """Give the digits by which ``chosen`` numbers were found, none where by others.

    Lists of ten, chosen one by one, come to look so by chance. So only a minority
    counts, and its numbers of one digit must stand in a row.

    Examples
    --------
    >>> from ftlab.probes.model.block_numbers import begins_of
    >>> begins_of([1, 10, 11], range(12))
    [1]
    >>> begins_of([10, 11], range(12)), begins_of([0, 1, 2], range(12))
    ([], [])
    """
    inside = set(chosen)
    longer = [number for number in all_of if number >= DIGITS]
    begins = [
        digit
        for digit in sorted(inside)
        if 0 < digit < DIGITS and any(_begins(each, digit) for each in longer)
    ]
    expected = {each for each in longer if any(_begins(each, d) for d in begins)}
    exact = expected == {each for each in inside if each >= DIGITS}
    if not expected or not exact or len(chosen) > len(all_of) / 2:
        return []
    short = [number for number in chosen if number < DIGITS]
    return begins if _in_a_row(short) and not _in_a_row(chosen) else []


def _chosen(path: str, blocks: Any) -> Iterator[dict[str, Any]]:
    states: dict[int, _Learning] = {
        number: {name: p.requires_grad for name, p in block.named_parameters()}
        for number, block in enumerate(blocks)
    }
    kinds = {frozenset(state) for state in states.values()}
    alike: dict[tuple[tuple[str, bool], ...], list[int]] = defaultdict(list)
    for number, state in states.items():
        alike[tuple(sorted(state.items()))].append(number)
    groups = list(alike.values())
    if len(kinds) != 1 or len(groups) != 2:
        return
    for chosen, rest in (groups, groups[::-1]):
        begins = begins_of(chosen, range(len(blocks)))
        if begins:
            one, other = states[chosen[0]], states[rest[0]]
            differing = [name for name in one if one[name] != other[name]]
            caught = [number for number in chosen if number >= DIGITS]
            yield {
                "path": clean_name(path),
                "blocks": len(blocks),
                "chosen": chosen,
                "caught": caught,
                "begins": begins,
                "frozen": not any(one[name] for name in differing),
                "ends": _is_both_ends(chosen, len(blocks)),
                "parameters": bounded(
                    [
                        clean_name(f"{path}.{number}.{name}")
                        for number in caught
                        for name in differing
                    ]
                ),
            }


def _begins(number: int, digit: int) -> bool:
    return str(number).startswith(str(digit))


def _in_a_row(numbers: Sequence[int]) -> bool:
    return max(numbers) - min(numbers) + 1 == len(numbers)


def _is_both_ends(chosen: Sequence[int], count: int) -> bool:
    """Tell whether only a stretch in the middle is left over."""
    left = [number for number in range(count) if number not in chosen]
    return bool(left) and _in_a_row(left)
