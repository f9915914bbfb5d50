"""Small runs for views, made of records, and a dumb second computation."""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.run import Run


def named(layers=2, tensors=2):
    """Return a run that knows the names of its tensors."""
    run = Run()
    for layer in range(layers):
        for tensor in range(tensors):
            add_name(run, layer * tensors + tensor, layer, f"w{tensor}")
    return run


def add_name(run, row, layer, name, **fields):
    full = f"model.layers.{layer}.{name}.weight"
    run.append(NameRecord(row, "tensors", full, "param", f"layers.{layer}", **fields))


def add_step(run, step, norms, maxima=None, has=None, **fields):
    """Append one step; NaN in ``norms`` is a NaN gradient unless ``has`` is 0."""
    norms = np.asarray(norms, np.float32)
    values = {
        "grad_l2": norms,
        "grad_max": norms if maxima is None else np.asarray(maxima, np.float32),
        "has_grad": np.asarray([1] * len(norms) if has is None else has, np.float32),
    }
    ids = np.arange(len(norms), dtype=np.int32)
    run.append(Block("tensors", step, ids, values))
    run.append(StepRecord(step, time=float(step), **fields))


def add_adapters(run, layers, step, a, b, ba, base, rank):
    """Append one measurement of one pair per layer, at ids from 100."""
    if not run.names("adapters"):
        for layer in range(layers):
            meta = {"role": "lora_pair", "adapter": "default", "r": 8}
            name = f"model.layers.{layer}.q [default]"
            where = f"layers.{layer}"
            run.append(
                NameRecord(100 + layer, "adapters", name, "adapter", where, meta=meta)
            )
    columns = {"a_l2": a, "b_l2": b, "ba_l2": ba, "base_l2": base}
    columns["effective_rank"] = rank
    columns["ratio"] = np.asarray(ba) / np.asarray(base)
    values = {name: np.asarray(each, np.float32) for name, each in columns.items()}
    run.append(
        Block("adapters", step, np.arange(100, 100 + layers, dtype="i4"), values)
    )
    run.append(StepRecord(step, time=float(step)))


def random_run(layers=3, tensors=4, steps=20, seed=0):
    """Return a run of random norms with NaN, Inf, zero and missing gradients."""
    generator = np.random.default_rng(seed)
    run = named(layers, tensors)
    for step in range(steps):
        norms = 10 ** generator.uniform(-8, 5, layers * tensors)
        kind = generator.integers(0, 12, layers * tensors)
        norms = np.where(kind == 0, np.nan, norms)
        norms = np.where(kind == 1, np.inf, norms)
        norms = np.where(kind == 2, 0.0, norms)
        has = (kind != 3).astype(float)
        norms = np.where(kind == 3, np.nan, norms)
        add_step(run, step, norms, norms * 0.5, has)
    return run


def add_measured(run, step, layers=2, **columns):
    """Append one measurement of a tensor per layer; a number stands for all of them."""
    values = {
        name: np.broadcast_to(np.asarray(each, np.float32), layers).copy()
        for name, each in columns.items()
    }
    run.append(Block("tensors", step, np.arange(layers, dtype=np.int32), values))
    run.append(StepRecord(step, time=float(step)))
