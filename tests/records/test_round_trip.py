"""Facts of a round trip, through JSON."""

import json

from ftlab.records.round_trip import RoundTrip
from ftlab.records.sample_facts import SeenSamples


def test_it_comes_back_from_json():
    facts = RoundTrip(8, 900, 40, 8, (0, 1, 17), "to ken", "token")
    read = json.loads(json.dumps(facts.as_json()))
    assert RoundTrip.from_json(read) == facts


def test_samples_keep_it():
    seen = SeenSamples(3, (), trip=RoundTrip(1, 20))
    read = json.loads(json.dumps(seen.as_json()))
    assert SeenSamples.from_json(3, read) == seen
    assert SeenSamples.from_json(3, read | {"trip": None}).trip is None
