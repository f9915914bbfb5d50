"""The first batches, read without using anything up."""

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    SequentialSampler,
    get_worker_info,
)

from ftlab.session.preflight.given import Given
from ftlab.session.preflight.reading import UnreadableError, first_batches
from tests.models import Rows
from tests.session.scenarios import trainer

MODEL = torch.nn.Linear(1, 1)


class Stream(IterableDataset):
    """Counts up, and notes how far it has been read."""

    def __init__(self):
        self.read = 0

    def __iter__(self):
        for number in range(10):
            self.read += 1
            yield torch.tensor(number)


class OneShot(IterableDataset):
    """A stream that cannot be begun again."""

    def __init__(self):
        self.rows = (torch.tensor(number) for number in range(10))

    def __iter__(self):
        return self.rows


def read(count=2, **given):
    return first_batches(Given(MODEL, **given), count)


def lists(batches):
    return [batch.tolist() for batch in batches]


NUMBERS = torch.arange(10)


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(NUMBERS, batch_size=3),
        DataLoader(
            NUMBERS,
            batch_sampler=BatchSampler(SequentialSampler(NUMBERS), 3, drop_last=False),
        ),
        DataLoader(Stream(), batch_size=3),
        DataLoader(NUMBERS, batch_size=3, num_workers=2),
    ],
    ids=["plain", "batch sampler", "stream", "workers"],
)
def test_a_loaders_first_batches_are_read(loader):
    assert lists(read(batches=loader)) == [[0, 1, 2], [3, 4, 5]]
    assert lists(read(batches=loader)) == [[0, 1, 2], [3, 4, 5]]


def test_a_loader_that_does_not_batch_gives_rows():
    assert lists(read(batches=DataLoader(NUMBERS, batch_size=None))) == [0, 1]
    assert lists(read(batches=DataLoader(Stream(), batch_size=None))) == [0, 1]


def test_a_stream_is_read_from_a_copy():
    stream = Stream()
    read(batches=DataLoader(stream, batch_size=2))
    assert stream.read == 0


def test_a_stream_that_cannot_be_copied_is_left_alone():
    stream = OneShot()
    with pytest.raises(UnreadableError, match="OneShot is a stream that cannot"):
        read(batches=DataLoader(stream, batch_size=2))
    assert next(iter(stream)) == 0


def test_a_dataset_is_collated_in_batches_of_the_asked_size():
    args = {"per_device_train_batch_size": 3}
    assert lists(read(dataset=NUMBERS, args=args)) == [[0, 1, 2], [3, 4, 5]]
    joined = read(dataset=NUMBERS, collator=sum)
    assert [int(each) for each in joined] == [1, 5]


def test_an_iterator_as_dataset_is_refused():
    with pytest.raises(UnreadableError, match=r"list_iterator.*cannot be read again"):
        read(dataset=iter([1, 2]))


def test_a_list_that_is_too_short_is_read_again():
    assert read(batches=[7]) == [7, 7]
    assert read(batches=[]) == []


def test_a_trainers_batch_is_what_its_loader_gives():
    each = trainer()
    (batch,) = read(1, trainer=each)
    assert batch["input_ids"].shape == (2, 16)
    assert isinstance(each.train_dataset, Rows)


class Sharded(IterableDataset):
    """Every worker reads its own share, and asks which that is."""

    def __iter__(self):
        info = get_worker_info()
        return iter(NUMBERS[info.id :: info.num_workers])


def test_a_dataset_that_asks_for_its_worker_is_read_as_in_the_first():
    loader = DataLoader(Sharded(), batch_size=3, num_workers=2)
    assert lists(read(batches=loader)) == [[0, 2, 4], [6, 8]]
    assert get_worker_info() is None
    with pytest.raises(AttributeError):
        read(batches=DataLoader(Sharded(), batch_size=3))


def test_what_a_worker_prepares_is_not_taken_for_a_fault():
    class Prepared(IterableDataset):
        def __iter__(self):
            return iter(self.rows)

    loader = DataLoader(Prepared(), num_workers=2, worker_init_fn=lambda _: None)
    with pytest.raises(UnreadableError, match="'rows', and worker_init_fn"):
        read(batches=loader)
