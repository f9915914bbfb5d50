import torch

from ftlab.probes.tensors.liveness import fingerprints, optimizers_of, standings


def test_every_bit_counts():
    tensor = torch.randn(3, 5)
    before = fingerprints([tensor])
    for index in range(tensor.numel()):
        other = tensor.clone()
        other.view(-1).view(torch.int32)[index] ^= 1
        assert fingerprints([other]) != before


def test_all_dtypes_and_layouts_are_read():
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.complex64):
        tensor = torch.ones(4, 2, dtype=dtype).t()
        changed = tensor.clone()
        changed[0, 0] = 2
        assert fingerprints([tensor]) != fingerprints([changed])
    assert fingerprints([torch.empty(0)]) == [0]


def test_frozen_parameters_are_left_out():
    model = torch.nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    assert list(standings(model, [])) == ["weight"]


def test_only_optimizers_of_the_model_are_found():
    mine, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(mine.parameters(), lr=0.1)
    torch.optim.SGD(other.parameters(), lr=0.1)
    assert [each is optimizer for each in optimizers_of(mine)] == [True]
