"""`%%ftlab debug` in a real JupyterLab: cells, clicks, the stop button, the end."""

import pytest

from tests.browser.lab import notebook, opened
from tests.browser.test_pause import SETUP, runs, scrolls, waits_for

pytestmark = pytest.mark.browser

BODY = """
    optimizer.zero_grad()
    loss = model(batch["input_ids"]).square().mean()
    loss.backward()
    optimizer.step()
"""
LOOP = f"%%ftlab debug\nfor batch in batches:{BODY}"
CELLS = [
    SETUP.strip(),
    LOOP,
    "dbg.back()",
    "dbg.step(to='op')",
    "dbg.patch(lambda x: x * 2).trial",
    "ftlab.debug(step, batches, model=model, optimizer=optimizer).run()",
    "%ftlab status",
    "dbg.abort()",
]
STOP_BUTTON = ".jp-NotebookPanel-toolbar [data-jp-item-name='interrupt']"


def test_cells_and_clicks_command_the_same_run(tmp_path):
    content = notebook(*CELLS)
    with opened(content, tmp_path / "jupyter", name="debugging", height=1300) as page:
        runs(page, 0, 1)
        waits_for(page, "Paused at step 2")
        tries_by_clicks(page)
        runs(page, 1)
        waits_for(page, "Paused at step 2")
        commands_by_cells(page)
        runs(page, 7)
        assert "was aborted" in page.text(7)
        waits_for(page, "was aborted")
        assert [error for error in page.errors if "NotPaused" not in error] == []


def commands_by_cells(page):
    runs(page, 2)
    assert "2 of 42" in page.text(2)
    waits_for(page, "(back)")
    runs(page, 3)
    assert "aten.div.Tensor, forward" in page.text(3)
    waits_for(page, "aten.div.Tensor, forward")
    runs(page, 4)
    assert "still non-finite" in page.text(4)
    waits_for(page, "still non-finite")
    runs(page, 5)
    assert "Another debugger is active, of the cell of dbg: Paused" in page.text(5)
    runs(page, 6)
    assert "It waits for dbg.resume() or dbg.abort()." in page.text(6)


def tries_by_clicks(page):
    taken = ".ftlab-panel button.ftlab-resume-as-tried"
    assert not page.page.is_visible(taken)
    assert not page.page.is_visible(".ftlab-panel button.ftlab-in-float32")
    page.page.click(".ftlab-panel button.ftlab-skip-sample")
    waits_for(page, "without sample 0: gone")
    scrolls(page)
    page.screenshot("tried")
    page.page.click(taken)
    waits_for(page, "is finished, after 5 optimizer steps")
    assert not page.page.is_visible(taken)


def test_the_stop_button_pauses_at_the_end_of_the_micro_batch(tmp_path):
    loop = LOOP.replace("in batches", "in batches[:1] * 40")
    loop += "    time.sleep(0.05)\n    done.append(loss.item())\n    print(len(done))\n"
    content = notebook(
        SETUP.strip() + "\nimport time\ndone = []", loop, "dbg.wait()\nlen(done)"
    )
    with opened(content, tmp_path / "jupyter", name="stop-button") as page:
        runs(page, 0)
        page.start_cell(1)
        page.wait("document.querySelector('.jp-OutputArea-output')?.innerText")
        page.page.click(STOP_BUTTON)
        page.finish_all()
        waits_for(page, "at the end of the micro-batch (interrupt)")
        before = page.text(1).partition("Paused")[0]
        assert 0 < int(before.split()[-1]) < 40
        page.page.click(".ftlab-panel button.ftlab-resume")
        waits_for(page, "Training runs.")
        runs(page, 2)
        assert page.text(2).strip().endswith("40")
        waits_for(page, "is finished, after 40 optimizer steps")
        assert page.errors == []


@pytest.mark.slow
def test_a_shutdown_while_paused_ends_the_run_as_an_abort_does(tmp_path):
    body = LOOP.partition("\n")[2].replace("\n", "\n    ")
    cell = f"%%ftlab debug\ntry:\n    {body}\nfinally:\n    open('ended', 'w').close()"
    folder = tmp_path / "jupyter"
    with opened(notebook(SETUP.strip(), cell), folder, name="shutdown") as page:
        runs(page, 0, 1)
        waits_for(page, "Paused at step 2")
        assert not (folder / "root" / "ended").exists()
        page.page.evaluate(
            "async () => { const panel = window.jupyterapp.shell.currentWidget;"
            " await panel.sessionContext.shutdown(); }"
        )
        for _ in range(200):
            if (folder / "root" / "ended").exists():
                break
            page.page.wait_for_timeout(50)
        assert (folder / "root" / "ended").exists()
        assert page.errors == []


@pytest.mark.slow
def test_a_restart_while_paused_leaves_a_panel_that_does_nothing(tmp_path):
    content = notebook(SETUP.strip(), LOOP, "'dbg' in globals()")
    with opened(content, tmp_path / "jupyter", name="restart") as page:
        runs(page, 0, 1)
        waits_for(page, "Paused at step 2")
        page.page.evaluate(
            "async () => { const panel = window.jupyterapp.shell.currentWidget;"
            " await panel.sessionContext.restartKernel(); }"
        )
        runs(page, 2)
        assert page.text(2).strip().endswith("False")
        runs(page, 0, 1)
        waits_for(page, "Paused at step 2")
        page.page.click(".ftlab-panel button.ftlab-abort")
        waits_for(page, "was aborted")
