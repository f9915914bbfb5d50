"""What a scan of a dataset found in a real browser: worst first, with its places."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser

SETUP = """
import ftlab
def row(at):
    answer = f"It is the bridge of town number {at}, which was built of stone."
    return {"prompt": f"Which bridge is meant by {at}?", "completion": answer}
rows = [row(at) for at in range(400)]
"""
HEALTHY = "ftlab.data(rows)"
SICK = """
for at in range(0, 400, 40):
    rows[at]["completion"] = ""
for at in range(1, 400, 50):
    rows[at]["prompt"] = "Which caf\\u00c3\\u00a9 is meant by the m\\u00c3\\u00a4dchen?"
for at in range(3, 400, 20):
    rows[at]["completion"] = "nan"
for at in range(5, 400, 30):
    rows[at] = dict(rows[4])
rows[6] = {"messages": [{"content": "no role"}]}
ftlab.data(rows)
"""
SHOWN = """index => {
    const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[index];
    return [...cell.querySelectorAll('.ftlab-f > details')].map((one) => [
        one.querySelector('.ftlab-what').textContent, one.open]);
}"""
OVERFLOW = """() => [...document.querySelectorAll('.ftlab-f')].map(
    (one) => one.scrollWidth - one.clientWidth)"""


def test_what_is_wrong_with_rows_is_read_at_a_glance(tmp_path):
    with opened(notebook(SETUP, HEALTHY, SICK), tmp_path, name="data") as lab:
        lab.run_all()
        lab.wait("document.querySelectorAll('.ftlab-f').length === 2")
        sick = lab.page.evaluate(SHOWN, 2)
        assert [opened for _, opened in sick] == [True] + [False] * (len(sick) - 1)
        assert any("empty answer" in what for what, _ in sick)
        assert lab.page.evaluate(SHOWN, 1) == []
        assert any("missing value" in what for what, _ in sick)
        for theme in ("light", "dark"):
            lab.theme(theme)
            for width in (1300, 700):
                lab.page.set_viewport_size({"width": width, "height": 1100})
                assert max(lab.page.evaluate(OVERFLOW)) <= 0
                lab.page.evaluate(
                    "document.querySelectorAll('.ftlab-f')[1].scrollIntoView()"
                )
                lab.screenshot(f"{theme}-{width}")
        assert lab.errors == []
