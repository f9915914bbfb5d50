"""Texts of several languages as they are typed, with the joiners that they need."""

from ftlab.faults.builders.rows import Writer, looked_at
from ftlab.faults.fault import Case, Healthy

TEXTS = (
    "Tiếng Việt có nhiều dấu thanh.",
    "Größe, naïve, façade und Œuvre «so».",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u06a9\u062a\u0627\u0628.",
    "क्\u200dष और श्री हिन्दी में हैं।",
    "ภาษาไทยไม่มีช่องว่าง",
    "日本語の文章です。ガギグゲゴ。",
    "한국어 문장입니다.",
    "Привет, как дела?",
    "Þýðing er góð, og skýin eru ný.",
    "Lütfen seçilen dosyay\u0131 kapat\u0131n, i\u015flem bitti.",
    "\u05e9\u05dc\u05d5\u05dd \u200f(ABC)\u200f \u05e2\u05d5\u05dc\u05dd.",
    "\u0642\u0627\u0644 \u0627\u0644\u0646\u0628\u064a \ufdfa \u0623\u0645\u0633.",
    "J\u012f i\u0307\u0301 r\u0117m\u0117 gerai\u0307\u0303 ir ilgai.",
    "Done \U0001f469\u200d\U0001f4bb \u2764\ufe0f \U0001f468\u200d\U0001f469\u200d!",
)
"""Sentences in NFC, as they are typed."""


def build() -> Case:
    """Write sentences of several languages."""
    writer, rows = Writer(), []
    for at in range(200):
        answer = f"{TEXTS[at % len(TEXTS)]} {writer.number(10_000)}"
        rows.append({"prompt": writer.question(), "completion": answer})
    return looked_at(rows)


HEALTHY = Healthy(
    "scripts, accents, joiners and emoji",
    looks_like=("DAT063",),
    steps=0,
)
