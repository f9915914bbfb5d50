"""Lines in words: as text, page and picture."""

import warnings

import pytest

import ftlab
from ftlab.views.tokenizers.told import Line, Told, ToldView, told_html
from ftlab.views.view import png

EVIL = "<script>alert('x')</script> & $x$ \x1b[2J"
TOLD = Told(
    "Two of a kind",
    (
        Line("≠", "texts", "1 of 2", ("text 0: 'a' against 'b'",)),
        Line("", "tokens", "3 against 4"),
        Line("?", "not checked", EVIL),
    ),
)


class Shown(ToldView):
    title = "Shown"

    def __init__(self, told=TOLD):
        super().__init__()
        self._told = told

    def _summarise(self):
        return self._told


def test_text_stands_in_columns():
    assert repr(Shown()) == (
        "Two of a kind\n"
        "≠ texts        1 of 2\n"
        "               text 0: 'a' against 'b'\n"
        "  tokens       3 against 4\n"
        "? not checked  <script>alert('x')</script> & $x$ \\x1b[2J"
    )


def test_long_words_are_wrapped_below_each_other():
    line = Line("", "many", "word " * 60)
    lines = repr(Shown(Told("head", (line,)))).splitlines()
    assert len(lines) > 3
    assert all(each.startswith("        ") for each in lines[2:])
    assert max(map(len, lines)) <= 104


def test_every_word_of_the_page_is_escaped():
    page = told_html(TOLD)
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;" in page
    assert 'class="ftlab-warning"' in page


def test_a_picture_draws_what_its_font_lacks_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line = Line("≠", "مرحبا", "🙂", ("日本語" * 40,))
        drawn = png(Shown(Told("日本 $x$", (line,))).figure())
    assert drawn.startswith(b"\x89PNG")


@pytest.mark.parametrize("mode", ["static", "image", "anywidget"])
def test_a_notebook_gets_text_and_a_page_or_a_widget(mode):
    with ftlab.options.scoped(widgets=mode):
        data, _ = Shown()._repr_mimebundle_()
    assert data["text/plain"].startswith("Two of a kind")
    live = "application/vnd.jupyter.widget-view+json" in data
    assert live == (mode != "static")
    assert ("text/html" in data) == (mode == "static")
