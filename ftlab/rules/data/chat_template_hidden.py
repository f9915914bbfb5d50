"""The rule DAT074, chat-template-hidden.

## What it does
Finds a chat template in `tokenizer_config.json` that another one in
`chat_template.jinja` hides.

## Why is this bad?
transformers reads the file with the template, engines that know only the configuration
read that: what is trained is not what is served, and what somebody edits has no effect.

## Evidence
The two texts, without a newline at their end, which Jinja drops. There is no threshold.
Measured with transformers 5.23, whose `save_pretrained` writes `chat_template.jinja`
and takes the template out of the configuration: 57 tokens by the edited template, 22 by
the one that hides it. Where the run has set the template after loading, the files are
no matter.
By hand: `ftlab.tokenizer_files(folder)`.

## What to try
1. Delete the entry in `tokenizer_config.json`, or the file, whichever is wrong.
2. `tokenizer.chat_template = ...` in the script, and `save_pretrained`.

## Known problems
Templates that differ in spaces alone are told as well.

## References
- hiyouga/LlamaFactory#7785, huggingface/text-generation-inference#3247
"""

from ftlab.rules.reading.tokenizer_folder import FolderRule


class ChatTemplateHidden(FolderRule):
    """Finds chat templates that a file hides."""

    code = "DAT074"
    name = "chat-template-hidden"
    since = "0.1.0"
    status = "preview"
    reason = "template-hidden"
    cause = (
        "chat_template.jinja is read in place of the template in "
        "tokenizer_config.json, and only one of the two was edited."
    )
    fix = (
        "Keep one: delete the entry in tokenizer_config.json, or write the same text "
        "into both."
    )
    healthy = "one template, or the same in both files"
