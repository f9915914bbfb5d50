"""Templates side by side in a page: themes, widths, long rows, foreign text."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from ftlab.records.token_row import Piece, TokenRow, Turn
from ftlab.views.tokens.side_by_side import SideBySideView
from tests.browser.lab import CHROMIUM, SCREENSHOTS, chromium, notebook, opened
from tests.browser.test_token_grid import DARK, LIGHT

pytestmark = pytest.mark.browser

HOSTILE = "<script>document.title='broken'</script>"
WORDS = ["<|user|>", "<|assistant|>", "<|end|>\n", "\n", "<think>"]
TEXTS = [
    HOSTILE,
    "مرحبا بالعالم",
    "👩‍👩‍👧 ok",
    "\u202eevil",
    "  two spaces  ",
    "日本語",
]
LETTERS = ("shown in", "a", "word", "after", "another")
PIECES = {at: Piece(word, word) for at, word in enumerate([*WORDS, *TEXTS, *LETTERS])}


def row(messages, length, end):
    """Write messages of so many tokens, each with a header and, or not, an end."""
    random = np.random.default_rng(0)
    ids, turns = [], []
    for message in range(messages):
        role = ("user", "assistant")[message % 2]
        parts = [("header", [message % 2])]
        text = [len(WORDS) + message % len(TEXTS)]
        fill = random.integers(len(WORDS) + len(TEXTS), len(PIECES), length - 1)
        parts += [("text", [*text, *fill.tolist()]), ("end", end)]
        for part, own in parts:
            if own:
                turns.append(Turn(len(ids), len(ids) + len(own), role, message, part))
                ids += own
    return TokenRow(np.array(ids), turns=tuple(turns))


def page_of(**rows):
    return SideBySideView(rows, PIECES, remarks=(f"remark {HOSTILE}",)).widget().value


SHORT = {"first": row(6, 4, [2]), "second": row(6, 4, []), "third": row(6, 4, [3])}


@contextlib.contextmanager
def shown(html, width=900, style=LIGHT):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        page = browser.new_page(viewport={"width": width, "height": 720})
        page.set_content(
            f"<!doctype html><style>{style}</style><body style='margin: 0'>{html}"
        )
        yield page
        browser.close()


@pytest.mark.parametrize("width", [360, 900])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_no_wider_than_its_place(width, theme):
    with shown(page_of(**SHORT), width, {"light": LIGHT, "dark": DARK}[theme]) as page:
        page.screenshot(path=SCREENSHOTS / f"beside-{theme}-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        first = page.locator("tr.ftlab-differs").first
        assert "first difference" in first.inner_text()
        header = page.locator("th", has_text="assistant 1, header")
        assert header.bounding_box()["height"] < 60
        ink, paper = page.evaluate("""() => {
          const cell = getComputedStyle(document.querySelector(".ftlab-beside td"));
          return [cell.color, getComputedStyle(document.body).backgroundColor]
            .map((said) => Number(said.match(/\\d+/)[0]));
        }""")
        assert abs(ink - paper) > 120


def test_texts_stay_text_and_are_shown_whole():
    with shown(page_of(**SHORT)) as page:
        assert page.title() != "broken"
        assert page.locator("script").count() == 0
        cells = page.locator("td bdi").all_inner_texts()
        assert any(HOSTILE in each for each in cells)
        assert any("\\u202e" in each for each in cells)
        for word in ("مرحبا", "👩‍👩‍👧", "日本語", "··two·spaces"):
            assert any(word in each for each in cells)


def test_8000_tokens_are_cut_and_the_first_difference_is_in_the_page():
    long = {"first": row(40, 200, [2]), "second": row(40, 200, [2])}
    ids = long["second"].ids.copy()
    ids[-1] = 3
    long["second"] = replace(long["second"], ids=ids)
    html = page_of(**long)
    assert len(html) < 300_000
    with shown(html) as page:
        page.screenshot(path=SCREENSHOTS / "beside-long.png")
        assert page.locator("tr").count() < 70
        assert page.locator("tr.ftlab-differs").count() == 1
        assert "116 lines before these, all equal" in page.locator("body").inner_text()


CELLS = """import ftlab
from tests.probes.tokens import vocabularies
talk = [{"role": "user", "content": "مرحبا 👩‍👩‍👧 <script>document.title = 1</script>"},
        {"role": "assistant", "content": "So."}]
ways = {"chat": vocabularies.CHATML, "plain": vocabularies.PLAIN}
ftlab.tokens(vocabularies.byte_level(), talk, template=ways).side_by_side"""


def test_in_jupyterlab_in_both_themes(tmp_path):
    with opened(notebook(CELLS), tmp_path / "jupyter", name="beside") as page:
        page.run_all()
        page.wait("document.querySelector('.ftlab-beside .ftlab-differs')")
        for theme in ("light", "dark"):
            page.theme(theme)
            page.screenshot(theme)
            ink, paper = page.page.evaluate("""() => {
              const cell = document.querySelector(".ftlab-beside td");
              const output = cell.closest(".jp-Notebook");
              return [getComputedStyle(cell).color,
                      getComputedStyle(output).backgroundColor]
                .map((said) => Number(said.match(/\\d+/)[0]));
            }""")
            assert abs(ink - paper) > 120
        assert "<script>document.title" in page.text(0)
        assert "👩‍👩‍👧" in page.text(0)
        assert page.errors == []
