"""What is said of a module, the same in the page, in HTML and in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ftlab.records.sizes import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ftlab.records.model_anatomy import ModuleFacts, Seen

MARKS = {"fails": "✗", "costs": "!", "not checked": "?", "noted": "·", "works": "✓"}


def many(quantity: float) -> str:
    """Write how many parameters: ``6.74 B``.

    Examples
    --------
    >>> from ftlab.views.model.words import many
    >>> many(6_738_415_616), many(8_519_680), many(4096)
    ('6.74 B', '8.52 M', '4.1 K')
    """
    for unit, each in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if quantity >= 0.9995 * each:
            return f"{quantity / each:.3g} {unit}"
    return f"{quantity:.0f}"


def learns(facts: ModuleFacts) -> str:
    """Say how much of a module learns."""
    if not facts.trainable:
        return "frozen" if facts.parameters else ""
    if facts.trainable == facts.parameters:
        return "learns"
    return f"{many(facts.trainable)} learn"


def storage(facts: ModuleFacts) -> str:
    """Say how it is stored, with the shares of several."""
    if facts.quantised:
        return facts.quantised.split(",")[0]
    kept = sorted(facts.stored, key=lambda each: -each[1])
    return " + ".join(name for name, held in kept if held)


def badges(facts: ModuleFacts) -> list[list[str]]:
    """Return what is to be noticed: a colour's name, and a word."""
    found = []
    states = {each.partition(": ")[2].split(",")[0] for each in facts.adapters}
    found += [["adapter", f"adapter {state}"] for state in sorted(states)]
    if facts.wraps:
        found.append(["wrapper", "wrapper"])
    if facts.hooks:
        count = len(facts.hooks)
        found.append(["hook", f"{count} hook" + "s" * (count > 1)])
    if facts.ties:
        found.append(["tie", "tied"])
    if facts.checkpointed:
        found.append(["again", "checkpointed"])
    if facts.left:
        skipped = "skipped" in facts.left
        found.append(["again" if skipped else "bad", "not in few bits"])
    if facts.same_as:
        found.append(["tie", f"same as {facts.same_as}"])
    return found


def details(facts: ModuleFacts) -> Iterator[list[str]]:
    """Yield what is known of a module, in pairs of a term and its words."""
    own = f", {facts.own:,} its own" if facts.own != facts.parameters else ""
    yield ["parameters", f"{facts.parameters:,}{own}; {facts.trainable:,} learn"]
    stored = ", ".join(f"{name} {size(held)}" for name, held in facts.stored if held)
    if stored:
        yield ["stored as", stored]
    if facts.devices:
        yield ["device", ", ".join(facts.devices)]
    for term, text in (
        ("in few bits", facts.quantised),
        ("left as it was", facts.left),
        ("wrapper", facts.wraps),
        ("checkpointing", facts.checkpointed),
        *(("adapter", each) for each in facts.adapters),
    ):
        if text:
            yield [term, text]
    for hook in facts.hooks:
        yield [hook.kind, f"{hook.function} ({hook.at or hook.by})"]
    for tie in facts.ties:
        more = f" and {len(tie.others) - 2} more" if len(tie.others) > 2 else ""
        yield ["tied", f"{tie.name} = {', '.join(tie.others[:2])}{more}"]


def seen_words(each: Seen) -> str:
    """Write one of a Trainer's decisions."""
    means = f" → {each.means}" if each.means else ""
    return f"{each.what}: {each.sees}{means}" + f" · {each.fix}" * bool(each.fix)
