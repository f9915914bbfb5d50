"""Small tensors are put back, large ones are watched."""

import torch

from ftlab.replay.capsules.kept import COPIED_ELEMENTS, KeptTensor


def test_a_small_tensor_is_put_back_in_place():
    tensor = torch.arange(3.0)
    kept = KeptTensor.of("x", tensor)
    tensor.mul_(5)
    assert kept.changed
    assert kept.obstacle() is None
    kept.restore()
    assert tensor.tolist() == [0, 1, 2]
    assert not kept.changed
    tensor.zero_()
    kept.restore()
    assert tensor.tolist() == [0, 1, 2]


def test_a_large_tensor_that_changed_is_an_obstacle():
    tensor = torch.zeros(COPIED_ELEMENTS + 1)
    kept = KeptTensor.of("the batch's 'pixels'", tensor)
    assert kept.obstacle() is None
    tensor.add_(1)
    assert "'pixels' was changed in place" in str(kept.obstacle())


def test_a_copy_can_be_made_later_but_not_too_late():
    tensor = torch.zeros(COPIED_ELEMENTS + 1)
    kept = KeptTensor.of("x", tensor)
    kept.copy_now()
    tensor.add_(1)
    assert kept.obstacle() is None
    late = KeptTensor.of("x", tensor)
    tensor.add_(1)
    late.copy_now()
    assert late.obstacle() is not None
