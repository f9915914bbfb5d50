"""Real tokenizers, trained on a few lines of many languages."""

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers as pre,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from tests.probes.tokens.handed_out import copied

LINES = [
    "The quick brown fox jumps over the lazy dog, and it does so every day.",
    "Der schnelle braune Fuchs springt über den faulen Hund, jeden Tag.",
    "El veloz zorro marrón salta sobre el perro perezoso todos los días.",
    "Быстрая коричневая лиса прыгает через ленивую собаку каждый день.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول كل يوم",
    "素早い茶色の狐がのろまな犬を毎日飛び越える。",
    "तेज़ भूरी लोमड़ी हर दिन आलसी कुत्ते के ऊपर से कूदती है",
    "user assistant system tool role 0123456789 {} [] () <> | \n",
] * 8
SPECIAL = ["<unk>", "<pad>", "<s>", "</s>", "<|open|>", "<|close|>"]


def _fast(inner: Tokenizer, controls: bool, **names) -> PreTrainedTokenizerFast:
    wanted = SPECIAL if controls else SPECIAL[:4]
    inner.add_special_tokens([AddedToken(s, normalized=False) for s in wanted])
    names = {"eos_token": "</s>", "pad_token": "<pad>", **names}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names)


@copied
def byte_level(controls: bool = True, bos: bool = False) -> PreTrainedTokenizerFast:
    """Return one whose vocabulary can write anything."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(LINES, trainer)
    made = _fast(inner, controls, bos_token="<s>")
    if bos:
        number = made.convert_tokens_to_ids("<s>")
        made.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", number)]
        )
    return made


@copied
def unigram(controls: bool = True) -> PreTrainedTokenizerFast:
    """Return one that writes spaces as a character of their own."""
    inner = Tokenizer(models.Unigram())
    inner.normalizer = normalizers.NFKC()
    inner.pre_tokenizer = pre.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=500, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    inner.train_from_iterator(LINES, trainer)
    return _fast(inner, controls, bos_token="<s>", unk_token="<unk>")


@copied
def word_piece(controls: bool = True) -> PreTrainedTokenizerFast:
    """Return one that drops whitespace."""
    inner = Tokenizer(models.WordPiece(unk_token="<unk>"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=False)
    inner.pre_tokenizer = pre.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=["<unk>"], show_progress=False
    )
    inner.train_from_iterator(LINES, trainer)
    return _fast(inner, controls, bos_token="<s>", unk_token="<unk>")
