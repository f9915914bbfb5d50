"""The fingerprint's forms, and how it is kept."""

import json

import pytest

from ftlab.records.errors import BadValueError
from ftlab.records.fingerprint import PARTS, Fingerprint, Part, part_of
from ftlab.views.tokenizers.fingerprint import FingerprintView

KEPT = Fingerprint(
    "Own",
    "tokenizers",
    {"vocabulary": Part("0" * 64, 32000), "normaliser": part_of({"type": "NFC"})},
)


def test_text_names_the_parts_and_the_digest():
    first, second, third = repr(FingerprintView(KEPT)).splitlines()
    assert first == f"Fingerprint of Own (tokenizers): {KEPT.digest[:12]}"
    assert second == "  vocabulary  32,000 ids  000000000000"
    assert third.startswith("  normaliser  NFC  ")


def test_the_table_has_a_row_for_every_part():
    table = FingerprintView(KEPT).table()
    assert list(table["part"]) == list(PARTS)
    assert table.set_index("part")["size"]["vocabulary"] == 32000
    assert table.set_index("part")["digest"]["switches"] == ""


def test_equal_digests_are_equal_views():
    other = Fingerprint("Own", "python", {"model": part_of({"type": "BPE"})})
    assert FingerprintView(KEPT) == FingerprintView(KEPT)
    assert len({FingerprintView(KEPT), FingerprintView(KEPT)}) == 1
    assert FingerprintView(KEPT) != FingerprintView(other)
    assert FingerprintView(KEPT) != KEPT.digest


def test_it_is_saved_whole(tmp_path):
    path = FingerprintView(KEPT).save(tmp_path / "kept.json")
    assert Fingerprint.from_json(json.loads(path.read_text())) == KEPT
    with pytest.raises(BadValueError, match=r"cannot be written.*folder that exists"):
        FingerprintView(KEPT).save(tmp_path / "none" / "kept.json")


def test_changes_on_the_way_are_told_with_their_steps():
    kept = Fingerprint("Own", "python", {"switches": part_of({"legacy": True})})
    changes = ((20, "chat template"), (40, "padding and truncation"))
    said = repr(FingerprintView(kept, changes=changes)).splitlines()
    assert said[1:3] == [
        "≠ changed   2 times in the run; step 20: chat template",
        "            step 40: padding and truncation",
    ]
    sides = repr(FingerprintView(kept, changes=changes[1:])).splitlines()
    assert sides[1].startswith("  changed   1 time in the run; step 40: padding")
