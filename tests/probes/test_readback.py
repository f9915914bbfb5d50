"""Values arrive whole and in order, without waiting for the device."""

import pytest
import torch

from ftlab.probes.readback import Delivery


def test_values_come_back_in_their_order():
    values = [torch.tensor([1.0]), torch.zeros(0), torch.tensor([2.0, torch.nan])]
    delivery = Delivery(values)
    assert delivery.arrived()
    assert [array.tolist()[:1] for array in delivery.arrays()] == [[1.0], [], [2.0]]


def test_nothing_is_delivered_at_once():
    assert Delivery([]).arrived()
    assert Delivery([]).arrays() == []


@pytest.mark.gpu
def test_a_delivery_from_the_device_does_not_wait():
    values = [
        torch.ones(2, device="cuda"),
        torch.ones(1),
        torch.zeros(3, device="cuda"),
    ]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        delivery = Delivery(values)
        delivery.arrived()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    arrays = delivery.arrays(wait=True)
    assert [array.tolist() for array in arrays] == [[1.0, 1.0], [1.0], [0.0] * 3]
