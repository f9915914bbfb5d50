"""What errors of CUDA and of mixed devices say at a watch's boundary."""

import pytest
import torch

import ftlab
from ftlab.probes.contexts import cuda_start
from tests.models import tiny_lora


def raised(tmp_path, act):
    model = tiny_lora()
    with (
        pytest.raises(RuntimeError) as caught,
        ftlab.watch(model, run_dir=tmp_path / "run"),
    ):
        act(model)
    return "\n".join(getattr(caught.value, "__notes__", []))


def raising(words):
    def act(_):
        raise RuntimeError(words)

    return act


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("Cannot re-initialize CUDA in forked subprocess. To use", "start them anew"),
        ("CUDA error: invalid device ordinal", "none of those this process sees"),
        ("CUDA error: device-side assert triggered", "an index out of range"),
        ("CUDA error: an illegal memory access", "Every later call of CUDA"),
        ("CUBLAS_STATUS_EXECUTION_FAILED when calling", "or the kernel"),
    ],
)
def test_an_error_of_cuda_is_explained(tmp_path, monkeypatch, error, says):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    monkeypatch.setattr(cuda_start, "_started", ["train.py:7"])
    note = raised(tmp_path, raising(error))
    assert says in note
    assert "initialised at: train.py:7. CUDA_VISIBLE_DEVICES: 2,3" in note


def test_an_error_of_mixed_devices_names_them(tmp_path):
    def act(model):
        model.get_output_embeddings().to("meta")
        msg = "Expected all tensors to be on the same device, but found two"
        raise RuntimeError(msg)

    note = raised(tmp_path, act)
    assert "another device" in note
    assert "1 on meta" in note


def test_other_errors_are_left_alone(tmp_path):
    assert raised(tmp_path, raising("shapes")) == ""


def test_the_line_that_initialises_cuda_is_known(monkeypatch):
    waiting = []
    monkeypatch.setattr(torch.cuda, "_lazy_call", waiting.append)
    monkeypatch.setattr(cuda_start, "_asked", [])
    monkeypatch.setattr(cuda_start, "_started", [])
    cuda_start.watch_cuda_start()
    cuda_start.watch_cuda_start()
    (call,) = waiting
    call()
    assert cuda_start.cuda_started_at().startswith("test_cuda_errors.py:")
