"""Tokenizers of each kind, trained on a few lines in several scripts."""

from collections import Counter

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

from tests.probes.tokens.handed_out import copied

LINES = [
    "Name a prime number. Seven is one, and two is the only even one.",
    "The quick brown fox jumps over the lazy dog; system user assistant.",
    "Größe, naïveté, çà et là: éèêë ÄÖÜß.",
    "日本語の文章を書きます。東京は大きい都市です。",
    "Привет, как дела? Хорошо, спасибо.",
    "مرحبا بالعالم، كيف حالك اليوم؟",
    "🙂🙃👩‍👩‍👧‍👦 🏳️‍🌈 emoji",
    "def f(x):\n    return x + 1\n\n\nprint(f(2))\t# code",
]
CONTROLS = ["<|bos|>", "<|im_start|>", "<|im_end|>", "<|pad|>"]
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] "
    "+ '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
BRACKETS = (
    "{{ '<|bos|>' }}{% for m in messages %}{% if m['role'] == 'user' %}"
    "{{ '[INST] ' + m['content'] + ' [/INST]' }}{% else %}"
    "{{ ' ' + m['content'] + '<|im_end|>' }}{% endif %}{% endfor %}"
)
PLAIN = (
    "{% for m in messages %}{{ '### ' + m['role'] | capitalize + ':\n' + m['content'] "
    "+ '\n\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Assistant:\n' }}{% endif %}"
)


@copied
def byte_level() -> PreTrainedTokenizerFast:
    """Byte-level BPE, as of GPT-2 and Llama 3."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=alphabet, show_progress=False
    )
    return _made(inner, trainer)


@copied
def byte_fallback() -> PreTrainedTokenizerFast:
    """BPE with a sign for spaces, and bytes for what it lacks, as of Llama 2."""
    inner = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    inner.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    inner.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    values = [f"<0x{each:02X}>" for each in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=480,
        special_tokens=["<unk>", *values],
        initial_alphabet=_frequent(60),
        limit_alphabet=60,
        show_progress=False,
    )
    return _made(inner, trainer, unk_token="<unk>")


@copied
def unigram() -> PreTrainedTokenizerFast:
    """Unigram, as of T5."""
    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
    )
    return _made(inner, trainer, unk_token="<unk>")


@copied
def word_piece() -> PreTrainedTokenizerFast:
    """WordPiece, as of BERT."""
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece(cleanup=False)
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=["[UNK]"], show_progress=False
    )
    return _made(inner, trainer, unk_token="[UNK]")


class Slow(PreTrainedTokenizer):
    """A tokenizer without a back end: one token for each byte."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    @property
    def vocab_size(self):
        return 256

    def get_vocab(self):
        return {f"b{each}": each for each in range(256)} | self.added_tokens_encoder

    def _tokenize(self, text, **kwargs):
        return [f"b{each}" for each in text.encode()]

    def _convert_token_to_id(self, token):
        return int(token[1:])

    def _convert_id_to_token(self, index):
        return f"b{index}" if 0 <= index < 256 else None

    def convert_tokens_to_string(self, tokens):
        parts = [bytes([int(t[1:])]) if t[1:].isdigit() else t.encode() for t in tokens]
        return b"".join(parts).decode("utf-8", "replace")


@copied
def slow() -> Slow:
    """A Python tokenizer that hides its bytes and gives no offsets."""
    made = Slow(eos_token="<|im_end|>", pad_token="<|pad|>", bos_token="<|bos|>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    made.chat_template = CHATML
    return made


def _frequent(count: int) -> list[str]:
    """The characters a trainer keeps; it breaks ties anew in every process."""
    counts = Counter("".join(LINES).replace(" ", "▁"))
    return sorted(counts, key=lambda letter: (-counts[letter], letter))[:count]


def _made(inner: Tokenizer, trainer: object, **special) -> PreTrainedTokenizerFast:
    inner.train_from_iterator(LINES * 4, trainer)
    inner.add_special_tokens([AddedToken(each, special=True) for each in CONTROLS])
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<|bos|>",
        eos_token="<|im_end|>",
        pad_token="<|pad|>",
        **special,
    )
    made.chat_template = CHATML
    return made
