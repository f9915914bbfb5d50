"""The fixture that every test runs under fails for each kind of leak."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent

# What leaks is run once, for all of them.
pytestmark = pytest.mark.xdist_group("leaks")

LEAKY_TESTS = '''
import os, signal, sys, threading, time
from types import ModuleType

import torch
import torch.nn as nn

KEPT = []

def ours(source):
    """Define names as code of ftlab would."""
    module = ModuleType("ftlab.leaky")
    exec(source, vars(module))
    return module

def test_global_module_hook():
    nn.modules.module.register_module_forward_hook(lambda *_: None)

def test_global_backward_hook():
    nn.modules.module.register_module_full_backward_hook(lambda *_: None)

def test_global_optimizer_hook():
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    register_optimizer_step_pre_hook(lambda *_: None)

def test_tensor_backward():
    old = torch.Tensor.backward
    torch.Tensor.backward = lambda *a, **k: old(*a, **k)

def test_autograd_backward():
    old = torch.autograd.backward
    torch.autograd.backward = lambda *a, **k: old(*a, **k)

def test_clip():
    old = nn.utils.clip_grad_norm_
    nn.utils.clip_grad_norm_ = lambda *a, **k: old(*a, **k)

def test_optimizer_class():
    old = torch.optim.Optimizer.zero_grad
    torch.optim.Optimizer.zero_grad = lambda *a, **k: old(*a, **k)

def test_scheduler_class():
    old = torch.optim.lr_scheduler.LRScheduler.step
    torch.optim.lr_scheduler.LRScheduler.step = lambda *a, **k: old(*a, **k)

def test_scaler_class():
    old = torch.amp.GradScaler.step
    torch.amp.GradScaler.step = lambda *a, **k: old(*a, **k)

def test_module_class():
    old = nn.Module.__call__
    nn.Module.__call__ = lambda *a, **k: old(*a, **k)

def test_model_hook():
    ours("def put(m): m.register_forward_hook(print)").put(nn.Linear(1, 1))

def test_parameter_hook():
    put = ours("def put(p): p.register_post_accumulate_grad_hook(print)").put
    put(nn.Linear(1, 1).weight)

def test_rebound_instance():
    KEPT.append(torch.optim.SGD([torch.zeros(1)]))
    KEPT[-1].step = ours("def step(): ...").step

def test_plain_thread():
    threading.Thread(target=time.sleep, args=(9,), name="stays").start()

def test_ftlab_thread():
    options = {"name": "ftlab-log", "daemon": True}
    threading.Thread(target=time.sleep, args=(9,), **options).start()

def test_signal_handler():
    signal.signal(signal.SIGINT, lambda *_: None)

def test_working_directory(tmp_path):
    os.chdir(tmp_path)

def test_environment():
    os.environ["LEFT"] = "1"

def test_excepthook():
    sys.excepthook = print

def test_dispatch_mode():
    from torch.utils._python_dispatch import TorchDispatchMode
    KEPT.append(TorchDispatchMode())
    KEPT[-1].__enter__()

def test_grad_mode():
    torch.set_grad_enabled(False)
'''

CLEAN_TESTS = """
import os, threading, time

import torch
from tqdm import tqdm

def test_clean_training(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("X", "1")
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    handle = model.register_forward_hook(lambda *_: None)
    for _ in tqdm(range(3)):
        model(torch.ones(2)).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    worker = threading.Thread(target=time.sleep, args=(0.05,))
    worker.start()

def test_clean_arrow():
    import pyarrow
    assert pyarrow.array(range(100000)).take(pyarrow.array([1]))[0].as_py() == 1

def test_clean_import_of_transformers():
    import transformers
    assert transformers.Trainer
"""

# What the message of each has to name.
LEAKS = {
    "global_module_hook": "torch.nn.modules.module._global_forward_hooks",
    "global_backward_hook": "torch.nn.modules.module._global_backward_hooks",
    "global_optimizer_hook": "torch.optim.optimizer._global_optimizer_pre_hooks",
    "tensor_backward": "torch.Tensor.backward",
    "autograd_backward": "torch.autograd.backward",
    "clip": "torch.nn.utils.clip_grad_norm_",
    "optimizer_class": "torch.optim.Optimizer.zero_grad",
    "scheduler_class": "torch.optim.lr_scheduler.LRScheduler.step",
    "scaler_class": "torch.amp.GradScaler.step",
    "module_class": "torch.nn.Module.__call__",
    "model_hook": "ftlab.leaky:1",
    "parameter_hook": "ftlab.leaky:1",
    "rebound_instance": "SGD has a rebound step",
    "plain_thread": "'stays'",
    "ftlab_thread": "'ftlab-log'",
    "signal_handler": "SIGINT",
    "working_directory": "working directory",
    "environment": "LEFT",
    "excepthook": "sys.excepthook",
    "dispatch_mode": "torch dispatch modes",
    "grad_mode": "torch grad mode",
}


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """Run the tests above under the project's fixture, in a pytest of their own."""
    folder = tmp_path_factory.mktemp("leaky")
    (folder / "conftest.py").write_text("from tests.conftest import *\n")
    (folder / "test_leaky.py").write_text(LEAKY_TESTS)
    (folder / "test_clean.py").write_text(CLEAN_TESTS)
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c/dev/null"]
    subprocess.run(
        [*command, f"--rootdir={folder}", f"--junitxml={report}", folder],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    return {
        case.get("name").removeprefix("test_"): [part.get("message") for part in case]
        for case in ElementTree.parse(report).iter("testcase")
    }


@pytest.mark.parametrize("leak", LEAKS)
def test_fails_a_test_that_leaves(leak, messages):
    (message,) = messages[leak]
    assert "left behind" in message
    assert LEAKS[leak] in message
    assert message.count(";") == 0, "it named something else as well"


@pytest.mark.parametrize("clean", ["training", "arrow", "import_of_transformers"])
def test_passes_a_test_that_cleans_up(clean, messages):
    assert messages[f"clean_{clean}"] == []
