"""What only a GPU can show: no synchronisation in the hot path, and the same bits."""

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


def train(count: int, watch_dir: Path | None = None, **options: Any) -> Any:
    model = tiny_lora(lora_dropout=0.1).cuda().train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2, **options)
    # For SDPA transformers reads the mask, which waits for the device.
    model.get_base_model().set_attn_implementation("eager")
    data = [{k: v.cuda() for k, v in batch.items()} for batch in batches(count)]
    watch = None
    if watch_dir is not None:
        watch = ftlab.watch(model, optimizer, run_dir=watch_dir, interval=4)
    torch.manual_seed(0)
    try:
        for step, batch in enumerate(data):
            if step == 1:  # what does not change is read once, in the first step
                torch.cuda.set_sync_debug_mode("error")
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
        if watch is not None:
            watch.detach()
    return model, watch


@pytest.mark.parametrize("fused", [False, True])
def test_the_hot_path_never_synchronises(tmp_path: Path, fused: bool) -> None:
    _model, watch = train(12, tmp_path / "run", fused=fused)
    assert len(watch.run.steps) == 12
    assert watch.run.matrix("grad_l2").known.all()


def test_the_sync_check_can_fail() -> None:
    torch.cuda.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchronizing"):
            torch.ones(1, device="cuda").item()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_watched_run_on_the_gpu_is_bit_equal(tmp_path: Path) -> None:
    bare, _ = train(8)
    watched, _ = train(8, tmp_path / "run")
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
            grads = [p.grad.float() / scaler.get_scale() for p in trained]
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
