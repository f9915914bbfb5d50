"""Requests of many threads to several adapters: each is answered by its own."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import batches, llama, lora
from ftlab.laboratory.gate import OVERTAKING, Gate
from ftlab.records.errors import BadValueError
from tests.laboratory.test_swap import drawn, state, stored

REQUESTS = 320


def alone(model: Any, folders: dict[str, Path]) -> dict[Any, dict[str, torch.Tensor]]:
    """Return logits and a completion of each adapter, asked one after the other."""
    found = {}
    with ftlab.AdapterBank(model) as bank:
        for name, folder in folders.items():
            bank.load(name, folder)
        for name in (None, *folders):
            found[name] = asked(bank, name)
    return found


def asked(bank: Any, name: str | None) -> dict[str, torch.Tensor]:
    batch = batches()[0]
    ids = {k: batch[k][:1, :6] for k in ("input_ids", "attention_mask")}
    how = {"max_new_tokens": 4, "do_sample": False, "use_cache": True}
    made = bank.generate(**ids, **how, adapter=name, pad_token_id=0)
    return {"logits": bank(batch, adapter=name).logits, "ids": made}


def test_hundreds_of_mixed_requests_are_answered_as_alone(tmp_path: Path) -> None:
    folders = stored(tmp_path, count=4)
    model = drawn("lora", 9)
    expected = alone(model, folders)
    logits = [each["logits"] for each in expected.values()]
    assert not any(torch.equal(logits[0], each) for each in logits[1:])
    before = state(model)
    with ftlab.AdapterBank(model) as bank, ThreadPoolExecutor(8) as pool:
        for name, folder in folders.items():
            bank.load(name, folder)
        names = [(None, *folders)[at % 5] for at in range(REQUESTS)]
        answers = list(pool.map(lambda n: bank(batches()[0], adapter=n).logits, names))
        made = list(pool.map(lambda n: asked(bank, n), names[:40]))
        arms = {each.adapter: each for each in bank.counted().arms}
    for name, answer in zip(names, answers, strict=True):
        assert torch.equal(answer, expected[name]["logits"])
    for name, found in zip(names, made, strict=False):
        assert torch.equal(found["ids"], expected[name]["ids"])
        assert torch.equal(found["logits"], expected[name]["logits"])
    assert {n: a.requests for n, a in arms.items()} == {
        "default": 0,
        **dict.fromkeys(["", *folders], REQUESTS // 5 + 16),
    }
    assert state(model) == before


def test_set_adapter_alone_mixes_them(tmp_path: Path) -> None:
    folders = stored(tmp_path, count=4)
    model = drawn("lora", 9)
    expected = alone(model, folders)
    for name, folder in folders.items():
        model.load_adapter(folder, name)
    model.eval()

    def ask(name: str) -> bool:
        model.set_adapter(name)
        time.sleep(0)
        with torch.no_grad():
            logits = model(**batches()[0]).logits
        return torch.equal(logits, expected[name]["logits"])

    with ThreadPoolExecutor(8) as pool:
        right = list(pool.map(ask, [*folders] * (REQUESTS // 4)))
    assert right.count(False) > REQUESTS // 10


@pytest.mark.parametrize("method", ["prompt", "prefix", "dora"])
def test_other_methods_are_not_mixed_either(tmp_path: Path, method: str) -> None:
    folders = stored(tmp_path, method, count=2)
    model = llama()
    expected = alone(model, folders)
    with ftlab.AdapterBank(model) as bank, ThreadPoolExecutor(6) as pool:
        for name, folder in folders.items():
            bank.load(name, folder)
        names = [None, *folders] * 8
        found = list(pool.map(lambda n: asked(bank, n), names))
    for name, each in zip(names, found, strict=True):
        for kind, value in each.items():
            assert torch.equal(value, expected[name][kind])


def held(bank: Any, name: str | None) -> tuple[threading.Event, threading.Thread]:
    """Begin a request that goes on until the event is set."""
    begun, end = threading.Event(), threading.Event()

    def call(_model: Any) -> None:
        begun.set()
        assert end.wait(20)

    thread = threading.Thread(target=bank.answer, args=(name, call))
    thread.start()
    assert begun.wait(20)
    return end, thread


def test_requests_of_one_adapter_run_together_and_others_wait(tmp_path: Path) -> None:
    folders = stored(tmp_path)
    with ftlab.AdapterBank(llama()) as bank:
        for name, folder in folders.items():
            bank.load(name, folder)
        end, thread = held(bank, "math")
        other_end, other = held(bank, "math")  # at the same time
        waiting = ThreadPoolExecutor(3)
        chat = waiting.submit(bank, batches()[0], adapter="chat")
        gone = waiting.submit(bank.delete, "math")
        time.sleep(0.1)
        assert not chat.done()
        assert not gone.done()
        assert bank.names == ("math", "chat")
        end.set()
        thread.join()
        time.sleep(0.1)
        assert not chat.done()
        other_end.set()
        other.join()
        assert chat.result(20).logits.shape == (4, 16, 128)
        gone.result(20)
        assert bank.names == ("chat",)
        waiting.shutdown()
        arms = {each.adapter: each for each in bank.counted().arms}
        assert arms["chat"].waited > 0.15
        assert arms["math"].waited < 0.1


def test_who_waits_for_another_adapter_is_not_passed_by_for_ever() -> None:
    active: list[str | None] = []
    gate, order = Gate(active.append), []
    first = threading.Event()

    def request(name: str) -> None:
        with gate.passing(name):
            order.append(name)
            assert first.wait(20)

    def start(name: str) -> threading.Thread:
        thread = threading.Thread(target=request, args=(name,))
        thread.start()
        time.sleep(0.01)
        return thread

    names = ["a", "b", *["a"] * (OVERTAKING + 5)]
    threads = [start(name) for name in names]
    assert order == ["a"] * (1 + OVERTAKING)
    first.set()
    for thread in threads:
        thread.join(20)
    assert order[1 + OVERTAKING] == "b"
    assert sorted(order) == sorted(names)
    assert active == ["a", "b", "a"]


def test_an_adapter_that_went_while_a_request_waited_is_refused(tmp_path: Path) -> None:
    with ftlab.AdapterBank(llama()) as bank, ThreadPoolExecutor(2) as pool:
        for name, folder in stored(tmp_path).items():
            bank.load(name, folder)
        end, thread = held(bank, "math")
        gone = pool.submit(bank.delete, "chat")
        time.sleep(0.05)
        late = pool.submit(bank, batches()[0], adapter="chat")
        time.sleep(0.05)
        end.set()
        thread.join()
        gone.result(20)
        with pytest.raises(BadValueError, match="no adapter 'chat'; it has math"):
            late.result(20)
        assert bank(batches()[0], adapter="math").logits.isfinite().all()


def test_a_request_that_fails_or_is_cut_short_lets_the_others_in(
    tmp_path: Path,
) -> None:
    with ftlab.AdapterBank(llama()) as bank:
        for name, folder in stored(tmp_path).items():
            bank.load(name, folder)

        def cut_short(_model: Any) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bank.answer("math", cut_short)
        with pytest.raises(ValueError, match="input_ids"):
            bank({"nothing": 1}, adapter="math")
        assert bank(batches()[0], adapter="chat").logits.isfinite().all()
        arms = {each.adapter: each for each in bank.counted().arms}
        assert (arms["math"].requests, arms["math"].failed) == (0, 2)
        assert (arms["chat"].requests, arms["chat"].failed) == (1, 0)
        assert "math: 0 requests; 2 failed" in repr(bank)


@pytest.mark.slow
def test_a_key_has_the_same_arm_everywhere_and_shares_are_kept(tmp_path: Path) -> None:
    code = (
        "import ftlab\nfrom ftlab.faults.builders.tiny import llama\n"
        "bank = ftlab.AdapterBank(llama(), {'a': 0.9, 'b': 0.1})\n"
        "print([bank.route(n) for n in range(200)])"
    )
    bank = ftlab.AdapterBank(llama(), {"a": 0.9, "b": 0.1})
    mine = [bank.route(number) for number in range(200)]
    run = [sys.executable, "-c", code]
    there = subprocess.run(run, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == str(mine)
    arms = [bank.route(f"user-{number}") for number in range(10_000)]
    assert abs(arms.count("b") - 1000) < 4 * (10_000 * 0.1 * 0.9) ** 0.5
    assert bank.route(b"7") == bank.route("7") == bank.route(7)
    salted = ftlab.AdapterBank(llama(), {"a": 0.9, "b": 0.1}, salt="second")
    others = [salted.route(f"user-{number}") for number in range(10_000)]
    both = sum(x == y == "b" for x, y in zip(arms, others, strict=True))
    assert 50 < both < 150  # a tenth of a tenth, and not all


def test_shares_that_are_set_anew_move_keys_to_what_grows_alone() -> None:
    bank = ftlab.AdapterBank(llama(), {"a": 0.2, "b": 0.5, None: 0.3})
    before = [bank.route(number) for number in range(2000)]
    bank.shares = {"a": 0.6, "b": 0.2, None: 0.2}
    after = [bank.route(number) for number in range(2000)]
    assert all(y == "a" for x, y in zip(before, after, strict=True) if x == "a")
    assert after.count("a") == pytest.approx(1200, abs=90)
    bank.shares = {"a": 0.0, "b": 1.0, None: 0}
    assert {bank.route(number) for number in range(200)} == {"b"}


def test_bad_values_are_refused(tmp_path: Path) -> None:
    for shares, words in (
        ({"a": 0.5}, "add up to 0.5; they must add up to 1"),
        ({"a": 2, "b": -1}, "pass numbers by adapter"),
        ({"a": "1"}, "pass numbers by adapter"),
        ({"a": float("nan")}, "pass numbers by adapter"),
        (["a"], "pass numbers by adapter"),
    ):
        with pytest.raises(BadValueError, match=words):
            ftlab.AdapterBank(llama(), shares)
    batch = batches()[0]
    model = llama()
    with ftlab.AdapterBank(model, {"math": 1.0}) as bank:
        with pytest.raises(BadValueError, match="no adapter 'math'; it has none"):
            bank(batch, key="user")
        bank.load("math", stored(tmp_path)["math"])
        for given, words in (
            ({}, "pass adapter=name"),
            ({"adapter": "math", "key": "user"}, "pass adapter=name"),
            ({"adapter": "maths"}, "no adapter 'maths'; it has math"),
            ({"key": 1.5}, "key=1.5"),
        ):
            with pytest.raises(BadValueError, match=words):
                bank(batch, **given)
        with pytest.raises(BadValueError, match="answers 100% of the keys"):
            bank.delete("math")
        bank.shares = {}
        with pytest.raises(BadValueError, match=r"shares={}"):
            bank(batch, key="user")
        with pytest.raises(BadValueError, match="has an adapter 'math' already"):
            bank.load("math", tmp_path / "math")
        bank.delete("math")
        with pytest.raises(BadValueError, match="no adapter 'math' was loaded here"):
            bank.delete("math")
        assert bank(batch, adapter=None).logits.isfinite().all()
    with pytest.raises(BadValueError, match="the bank is closed"):
        bank(batch, adapter=None)
    assert model.training


def test_the_bank_shows_requests_waits_and_times(tmp_path: Path) -> None:
    with ftlab.AdapterBank(llama(), {"math": 1.0}) as bank:
        bank.load("math", stored(tmp_path)["math"])
        assert repr(bank).startswith("0 requests, 0 changes of the active adapter")
        for number in range(4):
            bank(batches()[0], key=number)
        bank(batches()[0], adapter=None)
        assert bank.summary.headline() == (
            "5 requests, 2 changes of the active adapter"
        )
        table = bank.summary.table().set_index("adapter")
        assert table.requests.to_dict() == {"math": 4, "": 1}
        assert (table.seconds > 0).all()
        assert len(bank.summary.figure().axes[0].patches) == 4


def test_an_adapter_that_does_not_fit_leaves_the_others_as_they_are(
    tmp_path: Path,
) -> None:
    folders = stored(tmp_path, count=1)
    lora(llama(num_hidden_layers=4)).save_pretrained(tmp_path / "deep")
    for model in (llama(), drawn("lora", 9)):
        with ftlab.AdapterBank(model) as bank:
            names = bank.names
            with pytest.raises(BadValueError, match=r"layers\.2"):
                bank.load("deep", tmp_path / "deep")
            assert bank.names == names
            plain = bank(batches()[0], adapter=None).logits
            bank.load("math", folders["math"])
            before = bank(batches()[0], adapter="math").logits
            with pytest.raises(BadValueError, match=r"layers\.2"):
                bank.load("deep", tmp_path / "deep")
            assert bank.names == (*names, "math")
            assert torch.equal(bank(batches()[0], adapter="math").logits, before)
            assert torch.equal(bank(batches()[0], adapter=None).logits, plain)


def test_answers_are_those_of_evaluation_and_have_no_gradient() -> None:
    model = lora(llama(), lora_dropout=0.5)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_()
    model.train()
    with ftlab.AdapterBank(model) as bank:
        one, other = (bank(batches()[0], adapter="default").logits for _ in range(2))
    assert torch.equal(one, other)
    assert not one.requires_grad
    assert model.training
