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
LORA_TO_GGUF = """
import sys
source = sys.argv.pop(1)
sys.path[:0] = [source, source + "/gguf-py"]
import runpy

sys.argv[0] = source + "/convert_lora_to_gguf.py"
runpy.run_path(sys.argv[0], run_name="__main__")
"""
TO_CTRANSLATE2 = """
import sys
from ctranslate2.converters import TransformersConverter

TransformersConverter(sys.argv[1]).convert(sys.argv[2])
"""


def to_gguf(folder: Path, file: Path, precision: str = "f32") -> Path:
    """Write a GGUF file with the converter of llama.cpp."""
    options = ["--outfile", file, "--outtype", precision]
    return _run(sys.executable, TO_GGUF, [_llama_cpp(), folder, *options], file)


def lora_to_gguf(folder: Path, base: Path, file: Path) -> Path:
    """Write a GGUF file of an adapter of PEFT with the converter of llama.cpp."""
    options = ["--base", base, "--outfile", file]
    return _run(sys.executable, LORA_TO_GGUF, [_llama_cpp(), folder, *options], file)


def _llama_cpp() -> Path:
    return environment("llama-cpp") / "source/vendor/llama.cpp"


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
