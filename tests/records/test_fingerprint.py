"""Digests of parts, and what two fingerprints have not in common."""

import json

import pytest

from ftlab.records.fingerprint import LONGEST, Fingerprint, Part, part_of

NAMED = {"eos_token": "</s>", "eos_token_id": 2}


def made(**parts) -> Fingerprint:
    return Fingerprint("Own", "python", {k: part_of(v) for k, v in parts.items()})


def test_equal_parts_have_one_digest_whatever_the_class_and_the_order():
    first = made(model={"a": 1, "b": 2}, switches={"legacy": True})
    second = Fingerprint("Other", "tokenizers", dict(reversed(first.parts.items())))
    assert first.digest == second.digest
    assert first.differing(second) == ()
    assert first.changes(second) == ()


def test_a_change_is_told_by_part_and_entry():
    old, new = made(switches=NAMED), made(switches=NAMED | {"eos_token_id": 7})
    assert old.digest != new.digest
    assert old.differing(new) == ("switches",)
    assert [(c.part, c.entry, c.left, c.right) for c in old.changes(new)] == [
        ("switches", "eos_token_id", "2", "7")
    ]


def test_a_part_that_one_side_lacks_differs():
    with_it, without = made(model=NAMED, decoder={"type": "Fuse"}), made(model=NAMED)
    assert with_it.differing(without) == ("decoder",)
    (change,) = with_it.changes(without)
    assert (change.entry, change.left, change.right) == ("type", '"Fuse"', "")
    (back,) = without.changes(with_it)
    assert (back.left, back.right) == ("", '"Fuse"')


def test_a_part_that_was_kept_as_a_digest_tells_its_sizes():
    old = Fingerprint("Own", "python", {"vocabulary": Part("0" * 64, 32000)})
    new = Fingerprint("Own", "python", {"vocabulary": Part("1" * 64, 32001)})
    (change,) = old.changes(new)
    assert (change.entry, change.left, change.right) == ("", "32,000", "32,001")


def test_a_long_entry_is_kept_as_its_digest_and_still_differs():
    old, new = (made(normaliser={"map": "x" * LONGEST + end}) for end in "ab")
    assert all(len(p.entries["map"]) < 200 for p in (old.parts["normaliser"],))
    assert old.differing(new) == ("normaliser",)
    assert old.changes(new)[0].entry == "map"


def test_entries_of_nested_values_say_where_they_stand():
    part = part_of({"steps": [{"type": "NFC"}], "none": {}, "names": ["a", "b"]})
    assert dict(part.entries) == {
        "steps.0.type": '"NFC"',
        "none": "{}",
        "names": '["a", "b"]',
    }


def test_it_survives_json():
    first = made(model=NAMED, switches={"model_input_names": ["input_ids"]})
    again = Fingerprint.from_json(json.loads(json.dumps(first.as_json())))
    assert again == first
    assert again.digest == first.digest


def test_one_of_another_version_is_refused():
    told = made(switches=NAMED).as_json() | {"version": 99}
    with pytest.raises(ValueError, match="of version 99, not of 1"):
        Fingerprint.from_json(told)


def test_a_kept_one_that_was_changed_by_hand_is_refused():
    told = made(switches=NAMED).as_json()
    told["parts"]["switches"]["digest"] = "0" * 64
    with pytest.raises(ValueError, match="not that of its parts"):
        Fingerprint.from_json(told)
