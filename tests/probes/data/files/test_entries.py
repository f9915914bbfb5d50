"""Excerpts of texts."""

from ftlab.probes.data.files.entries import SHOWN, excerpt_of


def test_an_excerpt_holds_its_character_and_says_what_is_cut():
    text = "".join(chr(65 + at % 26) for at in range(500))
    for at in (0, 5, 250, 499):
        shown = excerpt_of(text, at)
        assert text[at] in shown
        assert shown.strip(".") in text
        assert len(shown) <= SHOWN + 6
        assert shown.startswith("...") == (at >= 250)
        assert shown.endswith("...") == (at < 450)
