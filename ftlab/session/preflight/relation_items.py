"""Relations that must hold, tried where that costs a few forwards, as items."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ftlab.experiments.registry import all_experiments
from ftlab.records.checklist import CheckItem, in_order
from ftlab.records.errors import BadValueError
from ftlab.rules.registry import all_rules
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.reading import first_batches
from ftlab.session.prove import prove


def with_relations(items: Iterable[CheckItem], given: Given) -> tuple[CheckItem, ...]:
    """Try relations, and say of the rules' items which follow from a broken one."""
    relations = list(_relation_items(given))
    broken = {each.code: each for each in relations if each.code}
    causes = {rule.code: rule.caused_by for rule in all_rules()}
    said = [*relations]
    for item in items:
        cause = next((c for c in causes.get(item.code, ()) if c in broken), "")
        if cause and item.status == "failed":
            words = f"It follows from {cause}: {broken[cause].says}."
            item = replace(item, cause=words, fix=f"Put {cause} right first.")
        said.append(item)
    return in_order(said)


def _relation_items(given: Given) -> Iterator[CheckItem]:
    cheap = [each.code for each in all_experiments() if each.cheap]
    target = given.model if given.trainer is None else given.trainer
    settings = {"optimizer": given.optimizers, "tokenizer": given.tokenizer}
    try:
        batch = None if given.trainer is not None else first_batches(given, 1)[0]
        proof = prove(target, batch=batch, only=cheap, **settings)
    except (BadValueError, IndexError) as error:
        yield CheckItem("numerics", "what must hold", "not checked", str(error))
        return
    for each in proof:
        if each.state in ("holds", "broken"):
            yield CheckItem(
                "numerics",
                each.relation,
                "passed" if each.state == "holds" else "failed",
                each.says,
                each.evidence,
                each.cause,
                each.fix,
                each.code if each.state == "broken" else "",
                each.places,
            )
