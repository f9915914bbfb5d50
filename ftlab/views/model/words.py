"""What is said of a module, the same in the page, in HTML and in text."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ftlab.records.model_anatomy import ModelAnatomy, ModuleFacts, Unquantised
from ftlab.records.sizes import size
from ftlab.views.style import count

MARKS = {"fails": "✗", "costs": "!", "not checked": "?", "noted": "·", "works": "✓"}
NAMED = 4
"""Names that are written out of many."""


def many(quantity: float) -> str:
    """Write how many parameters: ``6.74 B``; nothing for none."""
    for unit, each in (("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if quantity >= 0.9995 * each:
            return f"{quantity / each:.3g} {unit}"
    return f"{quantity:.0f}" if quantity else ""


def learns(facts: ModuleFacts) -> str:
    """Say how much of a module learns."""
    if facts.trainable in (0, facts.parameters):
        return ("learns" if facts.trainable else "frozen") * bool(facts.parameters)
    return f"{many(facts.trainable)} learn"


def storage(facts: ModuleFacts) -> str:
    """Say how it is stored, the most first."""
    kept = sorted(facts.stored, key=lambda each: -each[1])
    mixed = " + ".join(name for name, held in kept if held)
    return facts.quantised.partition(",")[0] or mixed


def badges(facts: ModuleFacts) -> list[list[str]]:
    """Return what is to be noticed: a colour's name, and a word."""
    states = {each.partition(": ")[2].split(",")[0] for each in facts.adapters}
    found = [["adapter", f"adapter {state}"] for state in sorted(states)]
    for shown, name, word in (
        (facts.wraps, "wrapper", "wrapper"),
        (facts.hooks, "hook", count(len(facts.hooks), "hook")),
        (facts.ties, "tie", "tied"),
        (facts.checkpointed, "again", "checkpointed"),
        (facts.left, "again" if "skipped" in facts.left else "bad", "not in few bits"),
        (facts.same_as, "tie", f"same as {facts.same_as}"),
    ):
        found += [[name, word]] if shown else []
    return found


def details(facts: ModuleFacts) -> Iterator[list[str]]:
    """Yield what is known of a module, in pairs of a term and its words."""
    own = f", {facts.own:,} its own" if facts.own != facts.parameters else ""
    yield ["parameters", f"{facts.parameters:,}{own}; {facts.trainable:,} learn"]
    for term, text in (
        ("stored as", ", ".join(f"{name} {size(n)}" for name, n in facts.stored if n)),
        ("device", ", ".join(facts.devices)),
        ("in few bits", facts.quantised),
        ("left as it was", facts.left),
        ("wrapper", facts.wraps),
        ("checkpointing", facts.checkpointed),
        *(("adapter", each) for each in facts.adapters),
        *(("hook", each) for each in facts.hooks),
        *(("tied", each) for each in facts.ties),
    ):
        if text:
            yield [term, text]


def notes(it: ModelAnatomy) -> Iterator[str]:
    """Yield what is around and about a model; what is to be mended begins with "!"."""
    wrapping = Counter((each.kind, each.wraps) for each in it.modules if each.wraps)
    for each in it.modules:
        if several := wrapping.pop((each.kind, each.wraps), 0):
            alike = f" ({several} alike)" if several > 1 else ""
            yield f"{each.path or 'outermost'}: {each.kind}, {each.wraps}{alike}"
    for skipped in (False, True):
        found = [each for each in it.unquantised if bool(each.skipped) == skipped]
        if found:
            yield _unquantised(found, skipped=skipped)
    for device, (names, held) in it.placed.items():
        yield f"hf_device_map: {device} has {_some(names)}, {size(held)}"
    if sizes := "; ".join(f"{name} {size(held)}" for name, held in it.sizes.items()):
        yield f"in training, predicted: {sizes}"
    yield from it.remarks


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + ", ..." * (len(names) > NAMED)


def _unquantised(found: Sequence[Unquantised], *, skipped: bool) -> str:
    """Say which layers are in floating point in a model of few bits, and the cost."""
    costs = size(sum(each.bytes - each.predicted for each in found))
    known = [each.bytes - each.measured for each in found if each.measured]
    more = f" ({size(sum(known))} by the layers that are)" if known else ""
    why = "left out of the" if skipped else "! asked for and not in"
    layers = f"{count(len(found), 'layer')}, {_some([each.path for each in found])}"
    return f"{why} {found[0].bits} bits: {layers}; costs {costs}{more}"
