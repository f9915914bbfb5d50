"""What the notebook lends to the session, in a shell and in a real kernel."""

import warnings

import pytest

from ftlab.notebook.host import NotebookHost
from ftlab.records.errors import FtlabWarning

pytestmark = pytest.mark.ipython


class Picture:
    """Something with a text and a picture that change."""

    def __init__(self):
        self.version = 0
        self.settled = False

    def settle(self):
        self.settled = True

    def _repr_mimebundle_(self, **_):
        return {"text/plain": f"text {self.version}", "image/png": f"{self.version}"}


@pytest.fixture
def host(shell):
    return NotebookHost(shell)


def sent(shell):
    return [
        (each["update"], each["transient"]["display_id"], each["data"])
        for each in shell.display_pub.outputs
    ]


def test_an_update_replaces_the_picture_and_keeps_the_text(shell, host):
    picture = Picture()
    handle = host.display(picture)
    picture.version = 1
    handle.update(picture)
    (first, name, old), (second, again, new) = sent(shell)
    assert (first, second) == (False, True)
    assert name == again
    assert old == {"text/plain": "text 0", "image/png": "0"}
    assert new == {"text/plain": "text 0", "image/png": "1"}


def test_finish_draws_everywhere_it_is_shown_and_only_once(shell, host):
    picture, other = Picture(), Picture()
    host.display(picture)
    host.display(picture)
    host.display(other)
    host.finish(picture)
    assert picture.settled
    updates = [name for update, name, _ in sent(shell) if update]
    assert updates == [name for _, name, _ in sent(shell)[:2]]
    host.finish(picture)
    host.finish(None)
    assert len(sent(shell)) == 5


def test_a_failing_update_is_a_warning_that_names_it(host):
    class Broken(Picture):
        def _repr_mimebundle_(self, **_):
            if self.version:
                msg = "no ink"
                raise OSError(msg)
            return {}

    broken = Broken()
    handle = host.display(broken)
    broken.version = 1
    with pytest.warns(FtlabWarning, match=r"Broken .* OSError: no ink"):
        handle.update(broken)


def test_what_is_shown_is_not_kept_alive(shell, host):
    import gc
    import weakref

    picture = Picture()
    host.display(picture)
    gone = weakref.ref(picture)
    del picture
    gc.collect()
    assert gone() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        host.display(Picture())


def test_a_plain_shell_has_no_cells_to_route_to(host):
    assert host.calling_cell() is None
    host.route_output(None)


WORKER = """
import queue, threading
from ftlab.session.host import host
commands, done = queue.Queue(), threading.Event()

def work():
    while (command := commands.get()) is not None:
        cell, text = command
        host().route_output(cell)
        print(text, flush=True)
        done.set()

def send(text, cell=...):
    done.clear()
    commands.put((host().calling_cell() if cell is ... else cell, text))
    done.wait(10)

worker = threading.Thread(target=work, daemon=True)
worker.start()
"""


def test_a_workers_prints_go_to_the_cell_that_commands_it(kernel):
    kernel.run(WORKER)
    assert kernel.run("send('first')").streams == "first\n"
    assert kernel.run("send('second')").streams == "second\n"
    later = kernel.run("send('third', None)\nprint('mine')")
    assert later.streams == "mine\n"
    assert kernel.run("commands.put(None); worker.join()").status == "ok"


def test_a_click_is_no_cell(kernel):
    outcome = kernel.run(
        "from ftlab.notebook.host import NotebookHost\n"
        "class Clicked:\n"
        "    def get_parent(self):\n"
        "        return {'header': {'msg_type': 'comm_msg'}}\n"
        "print(NotebookHost(Clicked()).calling_cell())\n"
        "print(type(NotebookHost(get_ipython()).calling_cell()).__name__)"
    )
    assert outcome.streams == "None\ndict\n"
