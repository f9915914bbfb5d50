import pytest
import torch

from ftlab.faults.builders.bottleneck import with_bottlenecks
from ftlab.faults.builders.tiny import base, batches, trainable
from ftlab.faults.variation import Variation, varied


@pytest.mark.parametrize("family", ["llama", "gpt2", "neox", "own"])
def test_fresh_bottlenecks_change_nothing_and_are_all_that_is_trained(family):
    with varied(Variation(family=family)):
        model, added = with_bottlenecks()
        batch = batches(1)[0]
        assert torch.equal(model(**batch).loss, base()(**batch).loss)
    assert len(trainable(model)) == 2 * len(added)
