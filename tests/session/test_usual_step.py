"""What a usual step costs does not grow with the modules of a model."""

import cProfile
import pstats

import torch

import ftlab
from ftlab.probes.timing.sampler import Sampler
from tests.models import batches, tiny_llama, tiny_lora, update

USUAL = (22, 23, 26, 27, 29, 30)
"""Steps at which nothing is due; at every fourth one, and behind it, something is."""


def calls_of_a_usual_step(tmp_path, layers):
    model = tiny_lora(tiny_llama(num_hidden_layers=layers))
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    profile = cProfile.Profile()

    def train(batch):
        update(model(**batch).loss, optimizer)

    rows = list(batches(33))
    folder = tmp_path / str(layers)
    with ftlab.watch(model, optimizer, run_dir=folder, budget=None):
        for step, batch in enumerate(rows[:32]):
            if step in USUAL:
                profile.enable()
            train(batch)
            profile.disable()
    watched = pstats.Stats(profile).total_calls / len(USUAL)
    profile = cProfile.Profile()
    profile.enable()
    train(rows[32])
    profile.disable()
    return watched - pstats.Stats(profile).total_calls, len(trained)


def test_a_usual_step_runs_little_python_for_each_tensor(tmp_path, monkeypatch):
    # it looks by the clock: a slow machine would count more calls
    monkeypatch.setattr(Sampler, "start", lambda *_: None)
    few, few_tensors = calls_of_a_usual_step(tmp_path, 2)
    many, many_tensors = calls_of_a_usual_step(tmp_path, 12)
    assert many - few < 6 * (many_tensors - few_tensors)
