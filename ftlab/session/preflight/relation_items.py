"""Relations that must hold, tried where that costs a few forwards, as items."""

from collections.abc import Iterator

from ftlab.experiments.registry import all_experiments
from ftlab.records.checklist import CheckItem
from ftlab.records.errors import BadValueError
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.reading import first_batches
from ftlab.session.prove import prove


def relation_items(given: Given) -> Iterator[CheckItem]:
    """Yield an item for each relation that holds or does not."""
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
