"""Time on a GPU, of events as the profiler gives them: there is none here."""

from types import SimpleNamespace

import pytest

from ftlab.probes.timing.profiled import parts_of


def event(name, parent=None, *, kernels=(), marked=False, number=-1, fwd=0):
    return SimpleNamespace(
        name=name,
        cpu_parent=parent,
        device_type="DeviceType.CPU",
        is_user_annotation=marked,
        sequence_nr=number,
        scope=0,
        thread=1,
        fwd_thread=fwd,
        kernels=[SimpleNamespace(duration=each) for each in kernels],
        self_cpu_time_total=1.0,
        cpu_time_total=1e9,
    )


def work(name, spent, *, marked=False):
    span = SimpleNamespace(elapsed_us=lambda: spent)
    kind = "DeviceType.CUDA"
    return SimpleNamespace(
        name=name, device_type=kind, time_range=span, is_user_annotation=marked
    )


def test_kernels_count_to_the_operation_that_launched_them():
    step = event("step 3", marked=True, kernels=[999.0])
    forward = event("forward", step, marked=True)
    module = event("layers.0", forward, marked=True)
    made = event("aten::mm", module, kernels=[30.0], number=7)
    loss = event("aten::sum", forward, kernels=[2.0], number=8)
    backward = event("backward", step, marked=True)
    node = event("autograd::engine::evaluate_function: Mm", number=7, fwd=1)
    inner = event("aten::mm", node, kernels=[40.0, 20.0])
    update = event("optimizer", step, marked=True)
    adam = event("aten::_fused_adamw_", update, kernels=[8.0])
    kernels = [work("gemm", each) for each in (30.0, 2.0, 40.0, 20.0, 8.0)]
    events = [step, forward, module, made, loss, backward, node, inner, update, adam]
    events += [*kernels, work("step 3", 999.0, marked=True)]
    device, total, parts = parts_of(events, {"step 3"}, {"layers.0"})
    assert device == "GPU"
    assert total == pytest.approx(100e-6)
    assert parts == {
        "layers.0": pytest.approx([30e-6, 60e-6, 0]),
        "outside of modules": pytest.approx([2e-6, 0, 0]),
        "optimizer": pytest.approx([0, 0, 8e-6]),
    }
