"""``%%ftlab watch`` and ``%ftlab watch`` on real training, in a real kernel."""

import pytest

pytestmark = pytest.mark.ipython

SETUP = """
import gc, torch
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
x = torch.randn(3, 4)
"""
LOOP = """
for step in range(5):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
loss.item() > 0
"""
HOOKS = (
    "import torch\n"
    "from torch.optim.optimizer import _global_optimizer_pre_hooks\n"
    "print(torch.nn.Module.__call__.__module__, len(_global_optimizer_pre_hooks),"
    " len(net._forward_pre_hooks))"
)
CLEAN = "torch.nn.modules.module 0 0\n"


def assert_clean(kernel):
    outcome = kernel.run(HOOKS)
    assert outcome.error == ""
    assert outcome.streams == CLEAN


@pytest.fixture
def ready(kernel):
    kernel.run(SETUP)
    return kernel


def test_an_unchanged_loop_is_watched_and_shown(ready):
    outcome = ready.run("%%ftlab watch" + LOOP)
    assert outcome.status == "ok", outcome.traceback
    shown = outcome.displays[0]
    assert "image/png" in shown
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert outcome.kinds[0] == "display_data"
    assert outcome.kinds[-1] == "update_display_data"
    final = outcome.displays[-1]
    assert final["text/plain"] == shown["text/plain"]
    assert final["image/png"] != shown["image/png"]
    assert {"text/plain": "True"} in outcome.displays
    assert ready.run("print(len(watch.run.steps), watch.state)").streams == "5 ended\n"
    assert_clean(ready)


def test_a_name_and_a_folder_can_be_chosen(ready):
    outcome = ready.run("%%ftlab watch -o mine --run-dir chosen" + LOOP)
    assert outcome.status == "ok", outcome.traceback
    assert ready.run("print(mine.run_dir)").streams == "chosen\n"


def test_an_error_passes_untouched_and_detaches(ready):
    outcome = ready.run("%%ftlab watch -o broken" + LOOP + "raise KeyError('mine')\n")
    assert (outcome.status, outcome.error) == ("error", "KeyError: 'mine'")
    assert "raise KeyError('mine')" in outcome.traceback
    assert "ftlab/notebook" not in outcome.traceback
    assert (
        ready.run("print(broken.state, len(broken.run.steps))").streams == "ended 5\n"
    )
    assert_clean(ready)


def test_a_cell_without_training_says_so(ready):
    outcome = ready.run("%%ftlab watch -o nothing\ny = 1\n")
    assert outcome.status == "ok"
    assert "saw no training" in outcome.streams
    assert ready.run("print('nothing' in globals(), y)").streams == "False 1\n"


def test_the_line_magic_watches_what_there_is_until_the_loop_fails(ready):
    outcome = ready.run("%ftlab watch -o live")
    assert outcome.status == "ok", outcome.traceback
    assert "watching" in ready.run("%ftlab status").displays[0]["text/plain"]
    assert ready.run("undefined_name").status == "error"
    assert ready.run("print(live.state)").streams == "watching\n"
    failed = ready.run(LOOP + "raise ValueError('boom')")
    assert failed.error == "ValueError: boom"
    assert ready.run("print(live.state)").streams == "ended\n"
    assert_clean(ready)


def test_the_line_magic_takes_an_expression(ready):
    outcome = ready.run("%ftlab watch -o live net, optimizer")
    assert outcome.status == "ok", outcome.traceback
    again = ready.run("%ftlab watch net, optimizer")
    assert again.status == "error"
    assert again.streams.startswith("UsageError: This Sequential is already watched")
    assert "Detached 1 watch." in ready.run("%ftlab detach").displays[-1]["text/plain"]
    assert_clean(ready)


TRAINER = """
from transformers import Trainer, TrainingArguments
from tests.models import Rows, tiny_lora
arguments = TrainingArguments(
    "out", max_steps=4, report_to=[], disable_tqdm=True, use_cpu=True,
    save_strategy="no",
)
trainer = Trainer(model=tiny_lora(), args=arguments, train_dataset=Rows(16))
"""


def test_an_unchanged_trainer_cell_is_watched(ready):
    outcome = ready.run("%%ftlab watch -o of_trainer" + TRAINER + "_ = trainer.train()")
    assert outcome.status == "ok", outcome.traceback
    told = ready.run("print(len(of_trainer.run.steps), 'train' in vars(trainer))")
    assert told.streams == "4 False\n"
    findings = ready.run("%ftlab findings")
    assert findings.status == "ok"
