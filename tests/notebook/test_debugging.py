"""``%%ftlab debug`` on unchanged cells, in a real kernel."""

import re

import pytest

from tests.notebook.kernel import Kernel

pytestmark = pytest.mark.ipython

SETUP = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5),
                          torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
data = [torch.rand(3, 4) for _ in range(6)]
data[4][0] = -30
losses, total = [], 0.0
"""
LOOP = """
for i, batch in enumerate(data):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(batch).float().add(1).log().mean()
    loss.backward()
    total += loss.item()
    losses.append(loss.item())
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
after = len(losses)
'done'
"""
STATE = """
def state_of_all():
    import hashlib, pickle
    values = [*net.state_dict().values(), torch.get_rng_state()]
    values += [v for s in optimizer.state.values() for v in s.values()]
    tensors = b"".join(v.numpy().tobytes() for v in values)
    plain = repr((losses, total, i, after, loss.item(), batch.tolist()))
    return hashlib.sha256(tensors + plain.encode()).hexdigest()
print(state_of_all())
"""
TRAINER = """
from transformers import Trainer, TrainingArguments
from tests.models import Rows, tiny_lora
arguments = TrainingArguments(
    "out", max_steps=3, report_to=[], disable_tqdm=True, use_cpu=True,
    save_strategy="no", learning_rate=1e-3,
)
trainer = Trainer(model=tiny_lora(), args=arguments, train_dataset=Rows(16))
"""


@pytest.fixture
def ready(kernel):
    kernel.run(
        "import ftlab\nfor it in [v for v in list(globals().values()) "
        "if type(v).__name__ == 'Debugger']: it.close()"
    )
    assert kernel.run(SETUP).error == ""
    return kernel


def fingerprint(kernel):
    outcome = kernel.run(STATE)
    assert outcome.error == "", outcome.traceback
    return outcome.streams


def test_a_loop_pauses_and_ends_as_without_the_debugger(ready):
    ready.run(LOOP)
    plain = fingerprint(ready)
    ready.run(SETUP + "del after")
    outcome = ready.run("%%ftlab debug" + LOOP)
    assert outcome.status == "ok", outcome.traceback
    shown = outcome.displays[0]
    assert "NaN first appeared in no module" in shown["text/plain"]
    assert "<cell>:4 <module>" in shown["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in shown
    told = ready.run("print(len(losses), i, 'after' in globals(), dbg.state)")
    assert told.streams == "4 4 False paused\n"
    assert ready.run("dbg.back(); dbg.step('module')").error == ""
    while ready.run("print(dbg.state)").streams == "paused\n":
        assert ready.run("dbg.resume()").error == ""
    assert fingerprint(ready) == plain
    left = ready.run("print([n for n in globals() if n.startswith('__ftlab')])")
    assert left.streams == "[]\n"


def test_the_notebooks_tokenizer_shows_the_words_of_the_batch(ready):
    ready.run(
        "from tokenizers import Tokenizer, models\n"
        "from transformers import PreTrainedTokenizerFast\n"
        "known = {'the': 0, 'cat': 1, 'sat': 2}\n"
        "words = PreTrainedTokenizerFast(\n"
        "    tokenizer_object=Tokenizer(models.WordLevel(known, 'the')))\n"
        "table = torch.nn.Embedding(3, 4)\n"
        "table.weight.data[2] = -1e9\n"
        "fit = torch.optim.SGD(table.parameters(), lr=0.1)\n"
    )
    outcome = ready.run(
        "%%ftlab debug\n"
        "for batch in [{'input_ids': torch.tensor([[0, 1, 2], [1, 0, 0]])}]:\n"
        "    table(batch['input_ids']).exp().log().sum().backward()\n    fit.step()"
    )
    assert outcome.status == "ok", outcome.traceback
    assert "sample 0, token 2 'sat'" in outcome.displays[0]["text/plain"]
    ready.run("dbg.close(); del words, table, fit")


def test_a_healthy_loop_runs_through_and_is_unchanged(ready):
    ready.run("data[4][0] = 0.5")
    ready.run(LOOP)
    plain = fingerprint(ready)
    ready.run(SETUP + "data[4][0] = 0.5")
    outcome = ready.run("%%ftlab debug -o mine" + LOOP)
    assert outcome.status == "ok", outcome.traceback
    assert {"text/plain": "'done'"} in outcome.displays
    assert outcome.streams == "The run is finished, after 3 optimizer steps.\n"
    assert fingerprint(ready) == plain
    assert ready.run("print(mine.state)").streams == "finished\n"


def test_abort_leaves_the_state_before_the_step(ready):
    ready.run("data = data[:4]" + LOOP)
    before = ready.run("print(len(losses), total)").streams
    ready.run(SETUP)
    ready.run("%%ftlab debug" + LOOP)
    assert ready.run("print(dbg.abort().state)").streams == "aborted\n"
    assert ready.run("print(len(losses), total)").streams == before


def test_a_trainer_in_a_cell_is_paused(ready):
    ready.run(TRAINER)
    broken = (
        "lora = next(p for n, p in trainer.model.named_parameters() if 'lora_A' in n)\n"
        "lora.data[0, 0] = float('nan')\n"
    )
    outcome = ready.run("%%ftlab debug\n" + broken + "out = trainer.train()\n'end'")
    assert outcome.status == "ok", outcome.traceback
    assert "NaN was already in parameter" in outcome.displays[0]["text/plain"]
    ready.run("dbg.abort()")
    told = ready.run("print('out' in globals(), 'training_step' in vars(trainer))")
    assert told.streams == "False False\n"
    outcome = ready.run("%%ftlab debug\nlora.data.zero_()\nout = trainer.train()")
    assert outcome.status == "ok", outcome.traceback
    assert "after 3 optimizer steps" in outcome.streams
    assert ready.run("print(out.global_step)").streams == "3\n"


def test_a_loop_in_a_function_of_the_cell_is_debugged(ready):
    body = "\n".join("    " + line for line in LOOP.strip().splitlines()[:-2])
    cell = f"def train(data, total):\n{body}\n    return losses, total\n"
    outcome = ready.run(f"%%ftlab debug\n{cell}result = train(data, 0.0)")
    assert outcome.status == "ok", outcome.traceback
    assert "<cell>:5 train" in outcome.displays[0]["text/plain"]
    ready.run("while dbg.state == 'paused': dbg.resume()")
    told = ready.run("print(dbg.state, len(result[0]), len(losses))")
    assert told.streams == "finished 6 6\n"
    again = ready.run("print(len(train(data[:4], 0.0)[0]))")
    assert (again.error, again.streams) == ("", "10\n")


def test_a_step_function_from_another_cell_is_called_again(ready):
    ready.run(
        "def one(batch):\n"
        "    loss = net(batch).add(1).log().mean()\n"
        "    loss.backward()\n"
        "    losses.append(loss.item())\n"
    )
    outcome = ready.run("%%ftlab debug\nfor batch in data:\n    one(batch)")
    assert outcome.status == "ok", outcome.traceback
    assert "<cell>:2 one" in outcome.displays[0]["text/plain"]
    assert ready.run("print(len(losses))").streams == "4\n"
    ready.run("dbg.resume()")
    assert ready.run("print(len(losses), dbg.state)").streams == "6 finished\n"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "ran = 1\nfor b in data:\n    await f(b)\n    net(b).backward()",
            "Line 4: `await`",
        ),
        ("ran = 1\ntrain_all(data)", "train_all() contains the training loop"),
    ],
)
def test_what_cannot_be_taken_apart_is_refused_before_it_runs(ready, cell, words):
    ready.run(
        "def train_all(data):\n    for b in data:\n        net(b).sum().backward()"
    )
    outcome = ready.run("ran = 0")
    outcome = ready.run("%%ftlab debug\n" + cell)
    assert outcome.status == "error"
    assert words in outcome.streams
    assert "ftlab.debug(step, batches, model=model" in outcome.streams
    assert ready.run("print(ran)").streams == "0\n"


def test_a_cell_without_training_says_so(ready):
    outcome = ready.run("%%ftlab debug\ny = 1\ny + 1")
    assert outcome.status == "ok"
    assert "saw no training" in outcome.streams
    assert outcome.displays[0]["text/plain"] == "2"


def test_an_error_of_the_cell_passes_with_its_own_traceback(ready):
    cell = "for b in data:\n    net(b).sum().backward()\n    raise KeyError('mine')"
    outcome = ready.run("%%ftlab debug\n" + cell)
    assert outcome.error == "KeyError: 'mine'"
    assert "----> 2 for b in data:" in outcome.traceback
    assert "----> 4     raise KeyError('mine')" in outcome.traceback
    assert "ftlab/" not in outcome.traceback


def test_a_second_debugged_cell_is_refused_while_one_is_paused(ready):
    ready.run("%%ftlab debug" + LOOP)
    outcome = ready.run("%%ftlab debug" + LOOP)
    assert "Another debugger is active" in outcome.streams
    assert ready.run("print(dbg.state)").streams == "paused\n"


def test_status_shows_a_run_forgotten_in_a_pause(ready):
    ready.run("%%ftlab debug -o lost" + LOOP)
    told = ready.run("%ftlab status").displays[0]["text/plain"]
    assert "lost: debugs the cell of lost. Paused at step 2" in told
    assert told.endswith("It waits for lost.resume() or lost.abort().")
    ready.run("lost")
    ready.run("del lost; it = None")
    told = ready.run("%ftlab status").displays[0]["text/plain"]
    held = re.search(r"^(_\d+): debugs the cell of lost. Paused", told, re.MULTILINE)[1]
    ready.run("%reset -f out")
    told = ready.run("%ftlab status").displays[0]["text/plain"]
    assert f"{held}:" not in told
    assert "(no variable): debugs the cell of lost. Paused" in told
    assert "ftlab.debug(...).active().resume()" in told
    ready.run("ftlab.debug(print, [], model=net).active().close()")
    assert "lost" not in ready.run("%ftlab status").displays[0]["text/plain"]


def test_shutting_down_releases_a_paused_cell(tmp_path):
    cell = f"try:\n{LOOP.replace(chr(10), chr(10) + '    ')}\nfinally:\n    "
    cell += "open('released', 'w').close()"
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext ftlab")
        kernel.run(SETUP)
        assert kernel.run("%%ftlab debug\n" + cell).error == ""
        assert kernel.run("print(dbg.state)").streams == "paused\n"
        kernel.client.shutdown()
        for _ in range(200):
            if (tmp_path / "released").exists():
                break
            kernel.client.is_alive()
            import time

            time.sleep(0.05)
    assert (tmp_path / "released").exists()
