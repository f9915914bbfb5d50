"""What is wrong with a machine is told, and what works was really run."""

import json
import shutil
from types import SimpleNamespace

import pytest
import torch

import ftlab
from ftlab.laboratory.doctor import machine, probes, versions
from tests.test_cli import here


def looks(found):
    return {each.what: each for each in found}


def test_all_forms_tell_the_same():
    view = ftlab.doctor()
    assert set(view.table()["part"]) <= {
        "versions",
        "device",
        "computing",
        "machine",
        "environment",
    }
    assert view.figure().axes
    assert repr(view).startswith("Doctor: ")
    assert "no conflict is known" in view.widget().value
    assert view.ok == ("fails" not in set(view.table()["health"]))


def test_the_command_prints_json_and_tells_by_its_exit():
    done = here("doctor", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == (0 if told["ok"] else 1)
    whats = [each["what"] for each in told["looks"]]
    assert {"installed", "bfloat16 on cpu", "memory"} <= set(whats)


def test_each_bad_combination_has_a_source_and_a_fix():
    for entry in versions.known_bad():
        assert "#" in entry["source"]
        assert entry["fix"]
        assert entry["when"]
        assert callable(getattr(probes, entry.get("probe", "computing")))


@pytest.mark.parametrize(
    ("installed", "says"),
    [
        ({"transformers": "4.47.0"}, "doubled"),
        ({"transformers": "4.45.2"}, "mean of means"),
        ({"transformers": "5.0.0", "peft": "0.17.1"}, "HybridCache"),
        ({"ipykernel": "7.0.1"}, "LookupError"),
        ({"torch": "2.1.2"}, "memory-efficient"),
        ({"torch": "2.2.2", "numpy": "2.0.0"}, "built for NumPy 1"),
        ({"torch": "2.7.0", "flash-attn": "2.7.4.post1"}, "another torch"),
        ({"transformers": "4.46.1"}, "too high"),
        ({"transformers": "4.48.1", "trl": "0.13.0"}, "DPO"),
    ],
)
def test_a_bad_combination_is_told(monkeypatch, installed, says):
    monkeypatch.setattr(versions, "_version", lambda name: installed.get(name, ""))
    monkeypatch.setattr(probes, "imports_peft", lambda: False)
    monkeypatch.setattr(probes, "numpy_is_there", lambda: False)
    monkeypatch.setattr(probes, "shared_experts_get_their_adapter", lambda: True)
    bad = [each for each in versions.versions() if each.health == "fails"]
    assert len(bad) == 1
    assert says in bad[0].says
    assert bad[0].source


def test_a_good_combination_is_not(monkeypatch):
    good = {"transformers": "5.23.0", "peft": "0.21.2", "ipykernel": "7.4.0"}
    monkeypatch.setattr(versions, "_version", lambda name: good.get(name, ""))
    monkeypatch.setattr(probes, "shared_experts_get_their_adapter", lambda: True)
    assert all(each.health == "works" for each in versions.versions())


def test_a_probe_decides_in_place_of_the_number(monkeypatch):
    monkeypatch.setattr(
        versions, "_version", {"transformers": "5.0.0", "peft": "0.17.0"}.get
    )
    monkeypatch.setattr(probes, "shared_experts_get_their_adapter", lambda: False)
    (bad,) = [each for each in versions.versions() if each.what.startswith("peft")]
    assert bad.health == "works"  # PEFT is imported here
    assert bad.says.startswith("not so here")


def test_what_only_some_models_meet_is_noted(monkeypatch):
    installed = {"transformers": "5.23.0", "peft": "0.21.2"}
    monkeypatch.setattr(versions, "_version", lambda name: installed.get(name, ""))
    for right, health in ((True, "works"), (False, "noted")):
        monkeypatch.setattr(
            probes, "shared_experts_get_their_adapter", lambda right=right: right
        )
        assert looks(versions.versions())["peft with transformers"].health == health


def test_a_lora_for_shared_experts_that_goes_elsewhere_is_shown():
    from peft import LoraConfig, get_peft_model
    from transformers import Glm4MoeConfig, Glm4MoeForCausalLM

    with torch.device("meta"):
        model = Glm4MoeForCausalLM(Glm4MoeConfig(num_hidden_layers=2, vocab_size=8))
    target = "model.layers.1.mlp.shared_experts.down_proj"
    adapted = get_peft_model(model, LoraConfig(target_modules=[target]))
    right = any(f"{target}.lora_A" in name for name, _ in adapted.named_parameters())
    assert probes.shared_experts_get_their_adapter() == right


def test_a_four_bit_weight_that_an_evaluation_spoils_is_shown():
    from bitsandbytes.nn import modules

    spoiled = modules.has_avx512bf16()  # see bitsandbytes#2078
    assert probes.four_bit_survives_evaluation() == (not spoiled)


def test_what_computes_wrongly_fails(monkeypatch):
    right = looks(probes.computing())
    assert right["float32 on cpu"].health == "works"
    assert right["4-bit layers"].health == "works"
    real = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda *a: 1.1 * real(*a))
    wrong = looks(probes.computing())
    assert wrong["4-bit layers"].health == "fails"
    assert wrong["float32 on cpu"].health == "works"


def test_what_does_not_run_says_why(monkeypatch):
    def refused(*_):
        msg = "no kernel image is available\nmore"
        raise RuntimeError(msg)

    monkeypatch.setattr(probes, "_matmul", refused)
    told = looks(probes.computing())["bfloat16 on cpu"]
    assert told.health == "fails"
    assert told.says.endswith("RuntimeError: no kernel image is available")


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, "no GPU is visible"),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, "each kernel is waited for"),
        ({"TRANSFORMERS_OFFLINE": "1"}, "without HF_HUB_OFFLINE"),
        ({"WANDB_DISABLED": "true", "WANDB_MODE": "online"}, "WANDB_MODE is online"),
        ({"LOCAL_RANK": "1"}, "without WORLD_SIZE"),
        ({"OMP_NUM_THREADS": "999"}, "with"),
        ({"TORCH_COMPILE_DISABLE": "1"}, "torch.compile does nothing"),
    ],
)
def test_variables_that_contradict_each_other_are_noted(variables, says):
    (told,) = machine.environment(variables)
    assert (told.health, says in told.says) == ("noted", True)


def test_usual_variables_are_no_conflict():
    usual = {"PATH": "/bin", "OMP_NUM_THREADS": "1", "LOCAL_RANK": "0"}
    (told,) = machine.environment(usual | {"WORLD_SIZE": "2"})
    assert told.health == "works"


def test_full_disks_and_small_shared_memory_are_told(monkeypatch, tmp_path):
    class Usage:
        free = 2**26

    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Usage)
    told = looks(machine.machine(tmp_path))
    assert told["disk of this folder"].health == "noted"
    assert told["shared memory"].health == "fails"
    assert "--shm-size" in told["shared memory"].fix


def test_a_containers_limit_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "container_memory", lambda: (2**30, 2**29))
    told = looks(machine.machine(tmp_path))["memory"]
    assert "this container may use 1 GiB and uses 512 MiB" in told.says


def test_a_gpu_without_kernels_is_told(monkeypatch):
    class Properties:
        major, minor, name = 12, 0, "RTX 5090"

    cuda = torch.cuda
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "device_count", lambda: 1)
    monkeypatch.setattr(cuda, "get_device_properties", lambda _: Properties)
    monkeypatch.setattr(cuda, "mem_get_info", lambda _: (2**34, 2**35))
    monkeypatch.setattr(cuda, "get_arch_list", lambda: ["sm_80", "sm_90"])
    monkeypatch.setattr(
        cuda, "list_gpu_processes", lambda _: "GPU:0\nprocess 7 uses 9 MB"
    )
    answer = "580.95.05, Default\n580.95.05, Exclusive_Process\n"
    monkeypatch.setattr(
        machine.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=answer)
    )
    gpu, driver, others = machine.devices()
    assert gpu.health == "fails"
    assert "no kernels for sm_120" in gpu.fix
    assert driver.says == "driver 580.95.05, compute mode of 1 GPU: Exclusive_Process"
    assert "process 7 uses 9 MB" in others.says


def test_a_machine_without_a_driver_tells_none():
    if shutil.which("nvidia-smi") is None:
        assert machine._driver() == []
