"""IPython in a terminal shows text."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.ipython

CELLS = r"""
import torch
torch.set_num_threads(1)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
shell = get_ipython()
shell.run_line_magic("load_ext", "ftlab")
loop = "for _ in range(3):\n    net(torch.ones(2, 4)).sum().backward()\n"
loop += "    optimizer.step()\n"
shell.run_cell_magic("ftlab", "watch", loop)
print("-- shown")
shell.run_cell("watch")
print("-- failing")
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
shell.run_cell("%%ftlab watch\n" + loop + "raise KeyError('mine')")
"""


def test_a_watched_cell_ends_with_its_summary(tmp_path):
    (tmp_path / "cells.ipy").write_text(CELLS)
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=nocolor"]
    done = subprocess.run(
        [*command, "cells.ipy"], cwd=tmp_path, capture_output=True, text=True
    )
    first, rest = done.stdout.split("-- shown\n")
    shown, failing = rest.split("-- failing\n")
    assert first.startswith("ftlab: 3 steps, no findings, log in runs/")
    assert shown.endswith(first)
    assert failing.startswith("ftlab: 3 steps, no findings, log in runs/")
    assert "KeyError: 'mine'" in failing + done.stderr
    assert "dashboard" not in done.stdout
