"""Fresh rows that the batches need, and whether they change."""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.new_words import (
    NEW,
    learnt_base,
    new_ids,
    rows_trained,
    with_new_tokens,
)
from ftlab.faults.builders.tiny import VOCABULARY, adamw, batches, lora
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.probes.tokens.new_tokens import NewTokens
from ftlab.records.names import NameRecord
from ftlab.records.step import Block


def watched(change, **settings):
    """Give the counts of the last look at the embedding, and what is said of it."""
    model = learnt_base()
    model.resize_token_embeddings(VOCABULARY + NEW)
    if settings.pop("indices", False):
        settings |= rows_trained(model, new_ids())
    model = lora(model, **settings)
    made = with_new_tokens(batches(3))
    for batch in made:
        change(batch)
    optimizer = adamw(model)
    step, records = plain_step(model, optimizer), []
    with Recorder(Subject(model, [optimizer]), [NewTokens()], records.append):
        for batch in made:
            step(batch)
    names = {r.id: r for r in records if isinstance(r, NameRecord) and "new" in r.table}
    row = next(i for i, name in names.items() if "embed" in name.name)
    found = [b for b in records if isinstance(b, Block) and row in b.ids.tolist()]
    return {n: int(v[0]) for n, v in found[-1].values.items()}, names[row].meta


def nothing(batch):
    """Leave the batch as it is."""


def unattended(batch):
    batch["attention_mask"][:, 4] = 0


def test_new_rows_that_are_frozen_and_used_are_counted_and_named():
    counts, meta = watched(nothing)
    # One row more is fresh: that of the padding, which is 0.
    assert counts == {"fresh": NEW + 1, "used": NEW, "still": NEW}
    assert meta["still"] == "128,129,130,131"
    assert (meta["looks"], meta["frozen"]) == ("mean", True)


def test_rows_that_are_trained_elsewhere_do_not_stand_still():
    counts, _ = watched(nothing, indices=True)
    assert (counts["used"], counts["still"]) == (NEW, 0)


def test_positions_that_nothing_attends_to_do_not_count():
    counts, _ = watched(unattended)
    assert counts["used"] == 0
