"""What a snapshot holds is the start of the step, whole, and nothing that executes."""

import collections
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError, NotReplayableError, RunFolderError
from ftlab.replay.snapshots.codec import Packer, Unpacker
from ftlab.replay.snapshots.folder import read_manifest, read_tensors, write_folder
from ftlab.replay.snapshots.weights import checksum
from tests.disks import disk_of
from tests.models import tiny_llama
from tests.replay.breakage import Setup, root_at_zero


def there_and_back(value, folder):
    packer = Packer()
    packed = json.loads(json.dumps(packer.pack(value, "value"), allow_nan=False))
    write_folder(folder, {}, {"batch": packer.tensors})
    return Unpacker(read_tensors(folder, "batch")).unpack(packed)


FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2]
DTYPES = [
    torch.bfloat16,
    torch.float16,
    torch.float64,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
    *FLOAT8,
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_keeps_every_dtype_bit_for_bit(dtype, tmp_path):
    torch.manual_seed(0)
    value = torch.randn(3, 5).mul(3).to(dtype)
    back = there_and_back(value, tmp_path / "s")
    assert back.dtype == dtype
    assert torch.equal(back.view(torch.uint8), value.view(torch.uint8))


def test_keeps_the_structure_of_a_batch(tmp_path):
    from transformers import BatchEncoding

    shared = torch.arange(6).reshape(2, 3)
    batch = {
        "ids": shared,
        "again": shared,
        "turned": shared.T,
        "nested": [{"x": (torch.ones(1), 2.5, float("-inf"), None, True)}],
        3: "text",
        "encoding": BatchEncoding({"input_ids": torch.zeros(1, 2)}),
        "ordered": collections.OrderedDict(a=np.arange(3, dtype=np.int16)),
        "kind": torch.bfloat16,
        "empty": torch.zeros(0, 4),
        "expanded": torch.ones(1).expand(4),
    }
    back = there_and_back(batch, tmp_path / "s")
    assert list(back) == list(batch)
    assert torch.equal(back["ids"], shared)
    assert back["again"] is back["ids"]
    assert torch.equal(back["turned"], shared.T)
    assert back["turned"].stride() == shared.T.stride()
    assert back["nested"][0]["x"][1:] == (2.5, float("-inf"), None, True)
    assert type(back["nested"][0]["x"]) is tuple
    assert isinstance(back["encoding"], BatchEncoding)
    assert back["encoding"].input_ids.shape == (1, 2)
    assert back["ordered"]["a"].dtype == np.int16
    assert back["kind"] is torch.bfloat16
    assert back["empty"].shape == (0, 4)
    assert torch.equal(back["expanded"], torch.ones(4))


def test_names_what_no_file_can_hold():
    with pytest.raises(BadValueError, match=r"batch\.x\.0 is a object"):
        Packer().pack({"x": [object()]}, "batch")


def test_invents_no_class_that_a_file_asks_for():
    for packed in ({"is": "os.system", "of": "id"}, {"is": "dtype", "of": "load"}):
        with pytest.raises(ValueError, match="is not a kind of value"):
            Unpacker({}).unpack(packed)


def test_a_checksum_sees_one_bit_anywhere():
    torch.manual_seed(0)
    weight = torch.randn(1_500_001).half()
    before = checksum([weight])
    assert checksum([weight.clone()]) == before
    assert checksum([weight.flip(0)]) != before
    for index in (0, 700_000, 1_500_000):
        changed = weight.clone()
        changed.view(torch.int16)[index] ^= 1
        assert checksum([changed]) != before
    assert checksum([torch.zeros(8)]) != checksum([torch.zeros(16)])
    assert checksum([torch.tensor([1, 2])]) != checksum([torch.tensor([2, 1])])


def stopped(setup, **options):
    dbg = ftlab.debug(
        setup.step, setup.feed, model=setup.model, optimizer=setup.optimizer, **options
    )
    dbg.run()
    return dbg


def test_the_weights_are_those_of_the_start_and_frozen_ones_are_left_out(tmp_path):
    setup = Setup()
    with stopped(setup) as dbg:
        folder = dbg.snapshot(tmp_path / "s")
        stored = read_tensors(folder, "weights")
        trained = {
            name: p for name, p in setup.model.named_parameters() if p.requires_grad
        }
        assert trained.keys() <= stored.keys()
        assert all(torch.equal(stored[name], p) for name, p in trained.items())
        rest = stored.keys() - trained.keys()
        assert rest == {n for n in rest if "inv_freq" in n}
        everything = dbg.snapshot(tmp_path / "all", weights="all")
        known = {name for name, _ in setup.model.named_parameters()}
        assert known <= read_tensors(everything, "weights").keys()


def test_holds_json_and_safetensors_alone(tmp_path):
    with stopped(Setup()) as dbg:
        folder = dbg.snapshot(tmp_path / "s")
    kinds = {file.suffix for file in folder.iterdir()}
    assert kinds == {".json", ".safetensors"}
    text = (folder / "snapshot.json").read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(name))


def test_taking_one_changes_nothing_of_the_step(tmp_path):
    setup, twin = Setup(lambda x: x), Setup(lambda x: x)
    twin_losses = [twin.step(batch) for batch in twin.feed]
    with ftlab.debug(
        setup.step, setup.feed, model=setup.model, optimizer=setup.optimizer
    ) as dbg:
        dbg.start()
        dbg.interrupt()
        dbg.wait()
        if dbg.state == "paused":
            dbg.snapshot(tmp_path / "s")
            dbg.resume()
        assert dbg.result == twin_losses
    weights = twin.weights()
    assert all(torch.equal(weights[n], p) for n, p in setup.weights().items())


def test_tied_weights_are_one_tensor_with_two_names(tmp_path):
    base = tiny_llama(tie_word_embeddings=True)
    names = {"model.embed_tokens.weight", "lm_head.weight"}

    def step(batch):
        (base(**batch).loss * float("inf")).backward()

    batch = {"input_ids": torch.ones(1, 4, dtype=torch.long)}
    batch["labels"] = batch["input_ids"]
    with ftlab.debug(step, [batch], model=base) as dbg:
        dbg.run()
        folder = dbg.snapshot(tmp_path / "s")
    manifest = json.loads((folder / "snapshot.json").read_text())
    entries = [e["names"] for e in manifest["weights"]["parameters"]]
    assert names in [set(each) for each in entries]
    assert len(names & read_tensors(folder, "weights").keys()) == 1


def test_refuses_a_folder_that_exists(tmp_path):
    with stopped(Setup()) as dbg:
        folder = dbg.snapshot(tmp_path / "s")
        before = {file: file.read_bytes() for file in folder.iterdir()}
        with pytest.raises(RunFolderError, match="exists already"):
            dbg.snapshot(tmp_path / "s")
    assert before == {file: file.read_bytes() for file in folder.iterdir()}


def test_refuses_when_the_weights_have_changed(tmp_path):
    setup = Setup(root_at_zero)

    def step(batch):
        loss = setup.step(batch)
        return loss * float("nan")

    def closure_step(batch):
        return setup.optimizer.step(lambda: step(batch))

    with ftlab.debug(
        closure_step, setup.feed, model=setup.model, optimizer=setup.optimizer
    ) as dbg:
        with pytest.warns(Warning, match="closure"):
            report = dbg.run()
        assert not report.replayable
        with pytest.raises(NotReplayableError, match="no snapshot can be taken"):
            dbg.snapshot(tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


small_disk = disk_of("64k")


def test_a_full_disk_gives_one_error_and_leaves_nothing(small_disk: Path):
    with stopped(Setup()) as dbg:
        with pytest.raises(RunFolderError, match=r"cannot be written.*space"):
            dbg.snapshot(small_disk / "deep" / "s")
        assert list(small_disk.iterdir()) == []
        assert dbg.state == "paused"


@pytest.mark.parametrize("name", ["snapshot.json", "batch.safetensors"])
def test_a_pipe_is_named_and_not_waited_for(tmp_path, name):
    write_folder(tmp_path / "one", {}, {"batch": {"x": torch.ones(2)}})
    (tmp_path / "one" / name).unlink()
    os.mkfifo(tmp_path / "one" / name)
    read = {
        "snapshot.json": read_manifest,
        "batch.safetensors": lambda folder: read_tensors(folder, "batch"),
    }
    with pytest.raises(RunFolderError, match=f"{name}.*it is not a file"):
        read[name](tmp_path / "one")


def test_a_file_in_the_way_gives_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        stopped(Setup()) as dbg,
        pytest.raises(RunFolderError, match="cannot be written"),
    ):
        dbg.snapshot(tmp_path / "file" / "s")
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208  names alone
