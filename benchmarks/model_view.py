"""How long `ftlab.model` takes to open on 80 layers of a 7B model's shape.

The model is on the meta device: 7B's width (hidden 4,096, MLP 11,008), 80 layers. What
is timed is what a cell does that ends in the view: reading the model, folding, widget,
picture and static page. The first call imports matplotlib and the widgets, and is told
apart; imports of torch and transformers are the user's own and not counted.

    python benchmarks/model_view.py [--times 10]
"""

import argparse
import json
import statistics
import sys
import time
import warnings
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

import ftlab

LIMIT = 0.300
"""Seconds in which the view of the whole model opens."""

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def models() -> dict[str, Any]:
    """Make the model bare, and with LoRA on two and on all of its projections."""
    shape = {"hidden_size": 4096, "intermediate_size": 11008, "vocab_size": 32000}
    config = LlamaConfig(num_hidden_layers=80, num_attention_heads=32, **shape)
    made: dict[str, Any] = {}
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, targets in (
            ("bare", []),
            ("LoRA on q and v", TARGETS[:3:2]),
            ("LoRA on all", TARGETS),
        ):
            model: Any = LlamaForCausalLM(config)
            if targets:
                model = get_peft_model(model, LoraConfig(target_modules=targets))
            made[name] = model
    return made


def opened(model: Any) -> tuple[float, Any]:
    """Open the view as a cell does; return seconds and the view."""
    start = time.perf_counter()
    view = ftlab.model(model)
    view._repr_mimebundle_()
    return time.perf_counter() - start, view


def main() -> int:
    """Print the table; fail when the bare model's median is above the limit."""
    parser = argparse.ArgumentParser(description="Time the opening of a model view.")
    parser.add_argument("--times", type=int, default=10)
    times = parser.parse_args().times
    made = models()
    first, _ = opened(made["bare"])
    print(f"first call, with imports: {1000 * first:.0f} ms")
    print(f"{'':18} {'modules':>8} {'median':>8} {'worst':>8} {'sent':>8}   (ms, KiB)")
    medians = {}
    for name, model in made.items():
        runs = [opened(model) for _ in range(times)]
        seconds = [each for each, _ in runs]
        medians[name] = statistics.median(seconds)
        view = runs[-1][1]
        sent = len(json.dumps(view.widget().spec)) / 1024
        print(
            f"{name:18} {len(view.anatomy.modules):>8} {1000 * medians[name]:>8.0f} "
            f"{1000 * max(seconds):>8.0f} {sent:>8.1f}"
        )
    return int(medians["bare"] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
