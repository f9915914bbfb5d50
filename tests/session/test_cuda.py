"""What only a GPU can show: no synchronisation in the hot path, and the same bits."""

import contextlib
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from tests.models import batches, tiny_lora

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@contextlib.contextmanager
def noted_waits() -> Iterator[list[str]]:
    """Note who waits for the device, by file and line; of libraries, who calls them.

    transformers waits for the device in each forward.
    """
    found: list[str] = []

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        frames = traceback.extract_stack()[:-1]
        inner = frames[-2] if "warnings.py" in frames[-1].filename else frames[-1]
        if "/torch/" in inner.filename:
            outside = (f for f in frames[::-1] if "/torch/" not in f.filename)
            inner = next(f for f in outside if "warnings.py" not in f.filename)
        if "synchroniz" in str(message):
            found.append(f"{inner.filename}:{inner.lineno}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")


def train(count: int, watch_dir: Path | None = None, **options: Any) -> Any:
    """Train; return the model, its watch, and who waited after the first step.

    What does not change is read once, in the first step.
    """
    model = tiny_lora(lora_dropout=0.1).cuda().train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2, **options)
    data = [{k: v.cuda() for k, v in batch.items()} for batch in batches(count)]

    def step(batch: dict[str, torch.Tensor]) -> None:
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()

    with contextlib.ExitStack() as stack:
        watch = None
        if watch_dir is not None:
            watch = ftlab.watch(model, optimizer, run_dir=watch_dir, interval=4)
            stack.callback(watch.detach)
        torch.manual_seed(0)
        step(data[0])
        with noted_waits() as waits:
            for batch in data[1:]:
                step(batch)
    return model, watch, waits


@pytest.mark.parametrize("fused", [False, True])
def test_the_hot_path_never_synchronises(tmp_path: Path, fused: bool) -> None:
    _model, watch, waits = train(12, tmp_path / "run", fused=fused)
    assert [each for each in waits if "/ftlab/" in each] == []
    assert len(watch.run.steps) == 12
    assert watch.run.matrix("grad_l2").known.all()


def test_the_sync_check_can_fail() -> None:
    with noted_waits() as waits:
        torch.ones(1, device="cuda").item()
    assert [each for each in waits if each.startswith(__file__)]


def test_a_watched_run_on_the_gpu_is_bit_equal(tmp_path: Path) -> None:
    bare, _, _ = train(8)
    watched, _, _ = train(8, tmp_path / "run")
    for name, value in bare.state_dict().items():
        assert torch.equal(value, watched.state_dict()[name]), name


def test_a_scaler_on_the_gpu_is_read_in_true_scale(tmp_path: Path) -> None:
    model = tiny_lora().cuda().train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2, fused=True)
    scaler = torch.amp.GradScaler("cuda")
    norms = []
    with ftlab.watch(
        model, optimizer, scaler=scaler, run_dir=tmp_path / "run"
    ) as watch:
        for batch in batches(6):
            optimizer.zero_grad()
            moved = {name: value.cuda() for name, value in batch.items()}
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(**moved).loss
            scaler.scale(loss).backward()
            grads = [
                p.grad.float() / scaler.get_scale()
                for p in trained
                if p.grad is not None
            ]
            norms.append(torch.stack([g.norm() for g in grads]).norm().item())
            scaler.step(optimizer)
            scaler.update()
    known = ~watch.run.steps["skipped"].astype(bool)
    measured = watch.run.steps["grad_norm"]
    torch.testing.assert_close(
        torch.tensor(measured[known]),
        torch.tensor(norms, dtype=torch.float64)[torch.tensor(known)],
        rtol=1e-4,
        atol=0.0,
    )
