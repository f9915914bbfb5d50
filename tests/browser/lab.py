"""JupyterLab on a free port, and Chromium with a notebook open in it.

Who calls whom: a test opens a `Lab` around a notebook and drives its page by JupyterLab
commands; menus and toolbars differ between versions. The server and the browser have
folders of their own and end with the test.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
START_SECONDS = 60
CELL_SECONDS = 180
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",  # else a popup covers the page
        "checkForUpdates": False,
    },
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}
CHROMIUM = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NOISE = re.compile(
    r"favicon|manifest\.webmanifest|ResizeObserver"
    r"|Failed to load resource.*(404|403)"
    r"|Cannot read properties of undefined \(reading 'schema'\)"  # Notebook 7.6
)
"""Console errors that an empty notebook without ftlab causes too."""

Front = Literal["lab", "notebook"]


def chromium() -> str:
    """Return the browser: ``$CHROME``, or what is on the PATH; else skip the test."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    for name in (os.environ.get("CHROME"), *names):
        if name and (path := shutil.which(name)):
            return path
    pytest.skip("there is no Chromium: put one on the PATH or set $CHROME")


def notebook(*cells: str) -> nbformat.NotebookNode:
    """Make a notebook of code cells."""
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    return made


class Server:
    """A Jupyter server in ``folder``; use it as a context manager."""

    def __init__(self, folder: Path, front: Front) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.root.mkdir(parents=True)
        self._front = front
        self._write_settings()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> "Server":
        log = (self.folder / "server.log").open("w")
        app = {"lab": "LabApp", "notebook": "JupyterNotebookApp"}[self._front]
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyter", self._front, "--no-browser"),
                *(["--allow-root"] if os.geteuid() == 0 else []),
                "--ServerApp.ip=127.0.0.1",
                f"--ServerApp.port={self._port}",
                "--ServerApp.port_retries=0",
                "--IdentityProvider.token=",
                f"--ServerApp.root_dir={self.root}",
                f"--{app}.expose_app_in_browser=True",
                "--LabApp.extension_manager=readonly",
            ],
            env=self._environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        log.close()
        self._wait()
        return self

    def __exit__(self, *_: object) -> None:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, kind)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(15)
                return

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        folders = {name: str(self.folder / where) for name, where in own.items()}
        return {**os.environ, **folders, "PYTHONPATH": str(ROOT)}

    def _write_settings(self) -> None:
        for name, values in SETTINGS.items():
            file = self.folder / "settings" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/api/status", timeout=1).read()
                return
            time.sleep(0.1)
        self.__exit__()
        pytest.fail((self.folder / "server.log").read_text()[-2000:], pytrace=False)


class Page:
    """A notebook open in the browser.

    Attributes
    ----------
    page
        Playwright's page, for what the methods here do not cover.
    errors
        What the browser's console reported as an error.
    """

    def __init__(self, page: Any, file: Path, name: str) -> None:
        self.page = page
        self.errors: list[str] = []
        self._file = file
        self._name = name
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._note(str(error)))

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self._note(f"{message.text} {message.location.get('url', '')}")

    def _note(self, error: str) -> None:
        if not NOISE.search(error):
            self.errors.append(error[:400])

    def open(self, url: str) -> None:
        """Load the page and wait until the notebook and its kernel are ready."""
        self.page.goto(url)
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        self.page.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.context.ready;
                await panel.sessionContext.ready;
            }"""
        )

    def start_all(self) -> None:
        """Run all cells; returns at once."""
        self.page.evaluate(
            "() => { window.__run = "
            "window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
        )

    def finish_all(self) -> None:
        """Wait until the cells that `start_all` has started are done."""
        self.page.set_default_timeout(CELL_SECONDS * 1000)
        self.page.evaluate("async () => { await window.__run; }")

    def run_all(self) -> None:
        """Run all cells and wait for the last."""
        self.start_all()
        self.finish_all()

    def start_cell(self, index: int) -> None:
        """Run one cell; returns at once."""
        self.page.evaluate(
            """index => {
                const panel = window.jupyterapp.shell.currentWidget;
                panel.content.activeCellIndex = index;
                window.__run = window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            index,
        )

    def wait(self, expression: str, seconds: float = CELL_SECONDS) -> Any:
        """Wait until a JavaScript expression is true and return its value."""
        handle = self.page.wait_for_function(
            f"() => {expression}", timeout=seconds * 1000
        )
        return handle.json_value()

    def text(self, index: int) -> str:
        """Return the text that cell ``index`` shows below its code."""
        return self.page.evaluate(
            """index => {
                const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[index];
                return cell.querySelector('.jp-Cell-outputWrapper')?.innerText ?? '';
            }""",
            index,
        )

    def save(self) -> nbformat.NotebookNode:
        """Save the notebook as a user would and read the file."""
        self.page.evaluate(
            "() => window.jupyterapp.commands.execute('docmanager:save')"
        )
        return nbformat.read(self._file, as_version=4)

    def theme(self, name: Literal["light", "dark"]) -> None:
        """Switch JupyterLab's theme."""
        theme = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[name]
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute("
            "'apputils:change-theme', {theme})",
            theme,
        )
        light = str(name == "light").lower()
        self.wait(f"document.body.dataset.jpThemeLight === '{light}'")
        self.wait("!document.querySelector('#jupyterlab-splash')")

    def screenshot(self, name: str) -> Path:
        """Keep a picture under ``build/screenshots``."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        file = SCREENSHOTS / f"{self._name}-{name}.png"
        self.page.screenshot(path=file)
        return file


@contextlib.contextmanager
def opened(
    content: nbformat.NotebookNode | Path,
    folder: Path,
    *,
    front: Front = "lab",
    name: str = "notebook",
    height: int = 1100,
) -> Iterator[Page]:
    """Open a notebook in JupyterLab or Notebook 7.

    Parameters
    ----------
    content
        The notebook, or the file of one; a file is copied.
    folder
        An empty folder for everything that the server writes.
    name
        First part of the names of screenshots.
    """
    from playwright.sync_api import sync_playwright

    browser_path = chromium()
    with Server(folder, front) as server, sync_playwright() as playwright:
        file = server.root / f"{name}.ipynb"
        if isinstance(content, Path):
            shutil.copy(content, file)
        else:
            nbformat.write(content, file)
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=CHROMIUM
        )
        page = Page(
            browser.new_page(viewport={"width": 1300, "height": height}), file, name
        )
        where = {"lab": "lab/tree", "notebook": "notebooks"}[front]
        try:
            page.open(f"{server.url}/{where}/{file.name}?reset")
            yield page
        finally:
            browser.close()
