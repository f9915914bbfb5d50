"""Mistakes of deployment, each made in the folder that is served."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def rewrite(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what a JSON file holds."""
    held = json.loads(file.read_text())
    change(held)
    file.write_text(json.dumps(held))


def template(folder: Path, old: str, new: str) -> None:
    """Serve another chat template."""
    file = folder / "chat_template.jinja"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def end(folder: Path, token: str) -> None:
    """Serve with another EOS."""
    held = json.loads((folder / "tokenizer.json").read_text())
    known = {each["content"]: each["id"] for each in held["added_tokens"]}
    number = (known | held["model"]["vocab"])[token]
    for name in ("config.json", "generation_config.json"):
        rewrite(folder / name, lambda held: held.update(eos_token_id=number))
    rewrite(folder / "tokenizer_config.json", lambda held: held.update(eos_token=token))


def rope(folder: Path, **settings: Any) -> None:
    """Serve with another RoPE scaling."""
    rewrite(
        folder / "config.json",
        lambda held: held.update(
            rope_parameters={"rope_theta": 10000.0, "rope_type": "default"} | settings
        ),
    )


def bos_twice(folder: Path) -> None:
    """Let the template write BOS once more."""
    template(folder, "{{ bos_token }}", "{{ bos_token }}{{ bos_token }}")


def system_prompt(folder: Path) -> None:
    """Let the template begin with what training never saw."""
    template(folder, "{{ bos_token }}", "{{ bos_token }}<|system|>Be brief.")


def other_roles(folder: Path) -> None:
    """Let the template call every role by another name, in as many tokens."""
    template(folder, "<|{{ message['role'] }}|>", "<|system|>")


def never_ends(folder: Path) -> None:
    """Take another token for EOS."""
    end(folder, "<pad>")


def ends_early(folder: Path) -> None:
    """Take a token of every answer for EOS."""
    end(folder, ".")


def scaled_rope(folder: Path) -> None:
    """Scale RoPE, which training did not."""
    rope(folder, rope_type="linear", factor=4.0)
