"""Line charts in a narrow column: nothing of their legend is cut."""

import dataclasses

import pytest
from playwright.sync_api import sync_playwright

from ftlab.views.charts.plan import Series
from ftlab.views.front_end import front_end
from ftlab.views.layers.lora import BAND
from tests.browser.lab import CHROMIUM, chromium

pytestmark = pytest.mark.browser

LEGEND = [
    Series("low", BAND, "#009e73", "low"),
    Series("a", "A", "#2486c9"),
    Series("b", "B", "#d55e00"),
    Series("ba", "update (scaling x BA)", "#009e73"),
]
ENDS = """(series) => {
    const root = make("div", "ftlab-view", document.body);
    const head = make("div", "ftlab-head", root);
    keyOf({ series }, make("span", KEYS, head), () => true);
    const items = [...document.querySelectorAll(".ftlab-key")];
    return items.map((each) => each.getBoundingClientRect().right);
}"""


@pytest.mark.parametrize("width", [140, 240, 360])
def test_the_legend_wraps_in_a_narrow_column(width):
    script = front_end("charts/columns.js", "charts/chart.js", "charts/lines.js")
    keys = script.split("const key = make(")[1].split('"')[3]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        page = browser.new_page(viewport={"width": width, "height": 300})
        page.set_content("<body style='margin: 0'></body>")
        page.add_style_tag(content=front_end("style.css"))
        script = script.replace("export default", "const exported =")
        page.add_script_tag(content=f"{script}\nconst KEYS = {keys!r};")
        ends = page.evaluate(ENDS, [dataclasses.asdict(each) for each in LEGEND])
        browser.close()
    assert len(ends) == len(LEGEND)
    assert max(ends) <= width
