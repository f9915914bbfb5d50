"""Runs whose batches hold rows that are written down by hand."""

import numpy as np

from ftlab.probes.tokens.sample_reading import Columns, samples_in_batch
from ftlab.records.event import Event
from ftlab.records.sample_facts import SeenSamples
from tests.runs import RunBuilder, found_by

PAD, BOS, EOS, TURN = 0, 1, 2, 3
SPECIAL = {
    "pad": {PAD},
    "bos": {BOS},
    "eos": {EOS},
    "stop": {EOS},
    "generation": {EOS},
    "control": {PAD, BOS, EOS, TURN},
}


def row(ids, labels="all", mask=None, positions=None):
    """One row: labels of all tokens, or as they are given."""
    labels = list(ids) if labels == "all" else labels
    mask = [1] * len(ids) if mask is None else mask
    given = (ids, labels, mask, positions)
    return Columns(*(None if each is None else np.array(each) for each in given))


def run_of(rows, *, special=SPECIAL, pieces=None, ops=(), **training):
    """A run of one step whose batch holds these rows."""
    known = {kind: frozenset(ids) for kind, ids in special.items()}
    held = [(0, number, each) for number, each in enumerate(rows)]
    found = samples_in_batch(held, known)
    named = {kind: ids for kind, ids in known.items() if kind != "control"}
    seen = SeenSamples(0, tuple(found), named, pieces or {})
    builder = RunBuilder().facts(model={"class": "Llama"}, training=training)
    builder.step(ops=list(ops))
    builder.run.append(Event("rows", 0, 0.0, "", seen.as_json()))
    return builder.run


def check(rule, rows, **settings):
    return found_by(rule, run_of(rows, **settings))


def text(length, begin=10):
    """Common tokens, other ones for each beginning."""
    return [begin + n % 50 for n in range(length)]
