"""Texts of many scripts as single bytes, in a vocabulary that holds words as well."""

from ftlab.faults.builders.chats import sized, trained_on
from ftlab.faults.builders.stored import tokenizer
from ftlab.faults.fault import Case, Healthy

LINES = (
    "Name a prime number. Seven is one, and two is the only even one.",
    "Größe, naïveté, çà et là, mañana, smørrebrød, łódź",
    "Привет, как дела? Хорошо, спасибо. Що нового?",
    "Πού πας; Στην αγορά, για ψωμί και ελιές.",  # noqa: RUF001  Greek
    "مرحبا بالعالم، كيف حالك اليوم؟ شكرا جزيلا",
    "שלום עולם, מה שלומך היום?",
    "हिन्दी में एक छोटा वाक्य और एक प्रश्न?",
    "ประเทศไทยมีกี่จังหวัด",
    "日本語の文章を書きます。東京は大きい都市です。",
    "한국의 수도는 어디입니까? 서울입니다.",
)


def build() -> Case:
    """Train without merges; a text may be cut within a character."""
    made = tokenizer(900)
    rows = []
    for number in range(48):
        line = " ".join(LINES[(number + n) % len(LINES)] for n in range(3))
        held = line.encode()[number % 7 : 200].decode(errors="ignore")
        pieces = made.backend_tokenizer.pre_tokenizer.pre_tokenize_str(held)
        letters = "".join(piece for piece, _ in pieces)
        ids = made.convert_tokens_to_ids(list(letters))
        ids = ids[number % 2 : len(ids) - number % 3]
        rows.append({"input_ids": ids, "labels": list(ids)})
    model = sized(made, hidden_size=16, max_position_embeddings=512)
    return trained_on(made, rows, model=model)


HEALTHY = Healthy(
    "all ids are below 256 in a vocabulary of 903: texts of bytes, in ten scripts",
    looks_like=("DAT028",),
    steps=6,
)
