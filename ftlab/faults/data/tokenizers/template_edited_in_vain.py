"""A chat template is edited in ``tokenizer_config.json``, and nothing changes.

``chat_template.jinja``, which ``save_pretrained`` writes, hides it. Engines that read
the configuration alone serve the edited one.

Fix: edit ``chat_template.jinja``, and keep no other template.

Source: hiyouga/LlamaFactory#7785, marin-community/marin#7406.
"""

from pathlib import Path

from ftlab.faults.builders.chats import TEMPLATE, tokenizer
from ftlab.faults.builders.tokenizer_folders import CONFIG, change, loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Write another template, or the same one, into the configuration."""
    text = TEMPLATE if fixed else TEMPLATE.replace("<turn>", "<turn> ")

    def edit(folder: Path) -> None:
        (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
        change(folder / CONFIG, chat_template=text)

    return looped(loaded(tokenizer(), edit))


FAULT = Fault(
    "an edited chat template has no effect",
    code="DAT073",
    places=("file chat_template.jinja",),
    steps=2,
)
