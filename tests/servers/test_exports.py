"""What other engines make of an exported model is what the model in hand makes."""

import json
import subprocess

import pytest
import torch

from tests.servers.environments import environment
from tests.servers.exports import to_ctranslate2, to_gguf
from tests.servers.lesson import CHATS, STOP, text_of

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("exports")]

SCORE = """
import json, sys
import ctranslate2, numpy

engine = ctranslate2.Generator(sys.argv[1], compute_type="float32", intra_threads=1)
for ids in json.load(sys.stdin):
    view = engine.forward_batch([ids], return_log_probs=True)
    table = numpy.array(view)[0, :-1]
    print(json.dumps([float(row[i]) for row, i in zip(table, ids[1:])]))
"""
TOKENIZE = """
import json, sys
import llama_cpp

engine = llama_cpp.Llama(sys.argv[1], vocab_only=True, verbose=False)
for text in json.load(sys.stdin):
    print(json.dumps(engine.tokenize(text.encode(), add_bos=True, special=True)))
"""


def told(python, program, made, asked, **variables):
    """Run a program in a server's environment and read its lines."""
    done = subprocess.run(
        [python, "-c", program, made],
        input=json.dumps(asked),
        env={"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_ctranslate2_gives_the_same_log_probabilities(learnt, tmp_path):
    made = to_ctranslate2(learnt.folder, tmp_path / "made")
    texts = [text_of(chat, learnt.tokens) for chat in CHATS]
    rows = learnt.tokens(texts, add_special_tokens=False).input_ids
    python = environment("transformers") / "bin/python"
    for ids, scores in zip(rows, told(python, SCORE, made, rows), strict=True):
        with torch.no_grad():
            table = learnt.model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        own = table.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        assert scores == pytest.approx(own.tolist(), abs=1e-4)


def test_a_gguf_file_has_the_same_tokens(learnt, tmp_path):
    made = to_gguf(learnt.folder, tmp_path / "model.gguf")
    place = environment("llama-cpp")
    texts = ["The sky", " and two  spaces\n\n", "naïve 🦙 1234", f"<|user|>Hi{STOP}"]
    libraries = {"LLAMA_CPP_LIB_PATH": str(place / "build/bin")}
    rows = told(place / "bin/python", TOKENIZE, made, texts, **libraries)
    assert rows == learnt.tokens(texts).input_ids
