"""ftlab's own hooks do not hear a forward that only reads masks; others do."""

import torch

from ftlab.probes.attention.undisturbed import undisturbed


def test_own_hooks_are_put_aside_and_come_back():
    heard = []

    def own(module, inputs):
        heard.append("own")

    def foreign(module, inputs):
        heard.append("foreign")

    own.__module__ = "ftlab.probes.taps.forward"
    module = torch.nn.Linear(2, 2)
    module.register_forward_pre_hook(own)
    handle = module.register_forward_pre_hook(foreign)
    with undisturbed(module):
        module(torch.ones(1, 2))
        assert not torch.is_grad_enabled()
    assert heard == ["foreign"]
    module(torch.ones(1, 2))
    assert heard == ["foreign", "own", "foreign"]
    handle.remove()
    module(torch.ones(1, 2))
    assert heard[3:] == ["own"]
