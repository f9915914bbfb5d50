"""A saved model in the formats of other engines, by these engines' own converters."""

import subprocess
import sys
from pathlib import Path

from tests.servers.environments import environment

TO_GGUF = """
import sys
source = sys.argv.pop(1)
sys.path[:0] = [source, source + "/gguf-py"]
import conversion.base
import convert_hf_to_gguf

# It knows a pre-tokenizer by what the tokenizer of a known model makes of a text, and
# refuses those trained here. They split texts as GPT-2's does.
conversion.base.TextModel.get_vocab_base_pre = lambda self, tokenizer: "gpt-2"
convert_hf_to_gguf.main()
"""
TO_CTRANSLATE2 = """
import sys
from ctranslate2.converters import TransformersConverter

TransformersConverter(sys.argv[1]).convert(sys.argv[2])
"""


def to_gguf(folder: Path, file: Path) -> Path:
    """Write a GGUF file of float32 with the converter of llama.cpp."""
    source = environment("llama-cpp") / "source/vendor/llama.cpp"
    options = ["--outfile", file, "--outtype", "f32"]
    return _run(sys.executable, TO_GGUF, [source, folder, *options], file)


def to_ctranslate2(folder: Path, made: Path) -> Path:
    """Write a folder for CTranslate2 with its own converter."""
    python = environment("transformers") / "bin/python"
    return _run(str(python), TO_CTRANSLATE2, [folder, made], made)


def _run(python: str, program: str, arguments: list[str | Path], made: Path) -> Path:
    command = [python, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not made.exists():
        raise RuntimeError(done.stderr[-2000:])
    return made
