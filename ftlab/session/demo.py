"""``ftlab demo``: the main job in the terminal, on a real tiny model, in a minute.

A Llama with LoRA trains under a real Trainer three times: healthy, with its optimizer
made too early (nothing fails and nothing is learnt), and with a module that divides by
zero (paused where the NaN is born, then mended and resumed). Run logs and pictures stay
in the folder.
"""

import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

from ftlab.records.kernel_news import without_kernel_news
from ftlab.session.summary import print_findings, print_text

STEPS = 24


def main(folder: str | Path = "build/demo") -> int:
    """Play the three runs; return 0 when ftlab said what it should.

    Parameters
    ----------
    folder
        Where run logs and pictures go; emptied first.
    """
    import torch
    import transformers

    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    transformers.utils.logging.set_verbosity_error()
    warnings.simplefilter("ignore", FutureWarning)  # of transformers about itself
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with without_kernel_news():
            healthy = _healthy(folder)
            silent = _silent(folder)
            paused = _paused()
    finally:
        torch.set_num_threads(threads)
    _tell(
        f"Look at {folder}/healthy.png and {folder}/silent.png side by side, judge "
        f"the log again with `ftlab check {folder}/silent`, or type `make lab` for the "
        "same story as a notebook with live widgets."
    )
    return 0 if healthy and silent and paused else 1


def _healthy(folder: Path) -> bool:
    from ftlab.faults.builders.tiny import llama, lora

    _head("1. A healthy run: watch = ftlab.watch(trainer)")
    watch = _watched(_trainer(lora(llama())), folder, "healthy")
    _tell(repr(watch.loss))
    _tell(repr(watch.gradients))
    print_findings(watch.run.findings, sys.stdout)
    return not watch.run.findings


def _silent(folder: Path) -> bool:
    import torch

    from ftlab.faults.builders.tiny import llama, lora

    _head("2. Wrong, and nothing shows it: the optimizer was made before the adapters")
    base = llama()
    early = torch.optim.AdamW(base.parameters(), lr=1e-2)
    watch = _watched(_trainer(lora(base), optimizers=(early, None)), folder, "silent")
    print_findings(watch.run.findings, sys.stdout)
    return any(finding.code == "OPT002" for finding in watch.run.findings)


def _paused() -> bool:
    from ftlab.faults.builders.tiny import rows_of
    from ftlab.faults.numeric.loss.unit_norm_of_padding import (
        UnitNorm,
        normalised_llama,
        padded_batches,
    )
    from ftlab.session.debugging.debug import debug

    _head("3. Stopped alive at a NaN: dbg = ftlab.debug(trainer); dbg.run()")
    model = normalised_llama(epsilon=0.0)
    trainer = _trainer(model, data=rows_of(padded_batches()))
    with debug(trainer) as debugger:
        report = debugger.run()
        _tell(repr(report))
        for module in model.modules():
            if isinstance(module, UnitNorm):
                module.epsilon = 1e-6
        _tell("Fixed while it waits (an epsilon in the division), and resumed:")
        debugger.back(to="module")
        debugger.resume()
        _tell(f"{debugger.state} after {trainer.state.global_step} steps.")
        return report.state == "paused" and debugger.state == "finished"


def _watched(trainer: Any, folder: Path, name: str) -> Any:
    from ftlab.session.watch import watch

    with watch(trainer, run_dir=folder / name, interval=4) as watched:
        trainer.train()
    watched.dashboard.figure().savefig(folder / f"{name}.png", dpi=110)
    return watched


def _trainer(model: Any, data: Any = None, **others: Any) -> Any:
    from transformers import PrinterCallback, Trainer, TrainingArguments

    from ftlab.faults.builders.tiny import batches, rows_of

    arguments = TrainingArguments(
        "build/demo/trainer",
        max_steps=STEPS,
        learning_rate=2e-3,
        lr_scheduler_type="constant",
        per_device_train_batch_size=4,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_strategy="no",
        save_strategy="no",
        seed=0,
    )
    data = rows_of(batches(16)) if data is None else data
    trainer = Trainer(model, arguments, train_dataset=data, **others)
    trainer.remove_callback(PrinterCallback)
    return trainer


def _head(text: str) -> None:
    print_text(f"\n{text}\n", sys.stdout, style="bold")


def _tell(text: str) -> None:
    print_text(text, sys.stdout)
