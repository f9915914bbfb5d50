"""What a watch shows when a cell has ended."""

import pytest

pytestmark = pytest.mark.ipython

SETUP = """
import ftlab, torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
watch = ftlab.watch(net, optimizer, run_dir="run")
"""
LOOP = """
for step in range(3):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_the_last_step_of_a_cell_is_there_without_being_asked_for(shell):
    shell.run_cell("%load_ext ftlab")
    shell.run_cell(SETUP)
    shell.run_cell(LOOP)
    watch = shell.user_ns["watch"]
    assert watch._run.last_step == 2
    shell.run_cell("step +")
    assert watch.state == "watching"
    shell.run_cell("watch.detach()")
