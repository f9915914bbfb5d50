"""The extension in a real JupyterLab and a real browser."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser


def test_the_extension_loads_and_completes(tmp_path):
    content = notebook("%load_ext ftlab", "%ftlab status")
    with opened(content, tmp_path / "jupyter", name="extension") as page:
        page.run_all()
        assert page.text(1).strip().endswith("Nothing is watched.")
        page.theme("dark")
        page.screenshot("dark")
        page.theme("light")
        saved = page.save()
        assert page.errors == []
    assert saved.cells[1].outputs[0].data["text/plain"] == "Nothing is watched."
