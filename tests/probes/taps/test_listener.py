"""What ftlab computes within a user's loop is neither traced nor counted there."""

import torch
from torch.utils.flop_counter import FlopCounterMode

import ftlab
from tests.models import batches, tiny_llama
from tests.probes.recording import Names


def steps(run_dir=None):
    torch.manual_seed(0)
    model = tiny_llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    watch = None if run_dir is None else ftlab.watch(model, optimizer, run_dir=run_dir)
    with Names() as names, FlopCounterMode(display=False) as flops:
        for batch in batches(3):
            (0.5 * model(**batch).loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    if watch is not None:
        watch.detach()
        assert len(watch.run.steps) == 3
    return names.seen, flops.get_total_flops()


def test_a_mode_of_the_user_s_meets_the_same_operations_with_a_watch(tmp_path):
    alone, own_flops = steps()
    watched, flops = steps(tmp_path / "run")
    assert watched == alone
    assert flops == own_flops > 0
