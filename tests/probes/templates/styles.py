"""Chat templates of the project's own, one for each way to write a conversation."""

MARKED = (
    "{% for m in messages %}<|open|>{{ m.role }}\n{{ m.content }}<|close|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|open|>assistant\n{% endif %}"
)
ENDED_BY_THE_NEXT = (
    "{% for m in messages %}{% if loop.first and m.role != 'system' %}"
    "<|open|>system\nown words<|close|>\n{% endif %}<|open|>{{ m.role }}\n"
    "{{ m.content }}{% if not loop.last or add_generation_prompt %}<|close|>\n"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|open|>assistant\n{% endif %}"
)
HEADS = (
    "{{ bos_token }}{% for m in messages %}<|head|>{{ m.role }}<|tail|>\n\n"
    "{{ m.content | trim }}<|eot|>{% endfor %}"
    "{% if add_generation_prompt %}<|head|>assistant<|tail|>\n\n{% endif %}"
)
BRACKETS = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if m.role == 'user' %}[ASK] {{ m.content }} [/ASK]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
TURNS = (
    "{{ bos_token }}{% set given = namespace(system='') %}"
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{% set given.system = m.content + '\n\n' %}"
    "{% else %}<turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    "{% if m.role == 'user' %}{{ given.system }}{% set given.system = '' %}{% endif %}"
    "{{ m.content | trim }}<end>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<turn>model\n{% endif %}"
)
UNENDED = (
    "[mask]{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
CLOSED_BY_THE_NEXT = (
    "{% for m in messages %}"
    "{% if not loop.first and messages[loop.index0 - 1].role == 'assistant' %}"
    "<|done|>{% endif %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
DEFAULT_SYSTEM = (
    "{% if messages[0].role != 'system' %}<|open|>system\nYou are Orla.<|close|>\n"
    "{% endif %}" + MARKED
)
NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}"
    "{{ raise_exception('no system messages here') }}{% endif %}{% endfor %}" + MARKED
)
THINKING = (
    "{% set last = namespace(user=0) %}{% for m in messages %}"
    "{% if m.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}<|open|>{{ m.role }}\n"
    "{% set text = m.content %}{% set thought = m.reasoning_content or '' %}"
    "{% if not thought and '</think>' in text %}"
    "{% set thought = text.split('</think>')[0].split('<think>')[-1].strip('\n') %}"
    "{% set text = text.split('</think>')[-1].lstrip('\n') %}{% endif %}"
    "{% if m.role == 'assistant' and loop.index0 > last.user %}"
    "<think>\n{{ thought }}\n</think>\n\n{% endif %}"
    "{{ text }}<|close|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|open|>assistant\n<think>\n{% endif %}"
)
CHANNELS = (
    "<|start|>system<|message|>Today is {{ strftime_now('%Y-%m-%d') }}.<|end|>"
    "{% for m in messages %}<|start|>{{ m.role }}"
    "{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>"
    "{{ m.content }}"
    "{% if m.role == 'assistant' and loop.last %}<|return|>{% else %}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
CALLING = (
    "{% if tools %}<|open|>system\nTools: {{ tools | tojson }}<|close|>\n{% endif %}"
    "{% for m in messages %}<|open|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<call>"
    "{{ call.function | tojson }}</call>{% endfor %}<|close|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|open|>assistant\n{% endif %}"
)
LISTS = (
    "{% for m in messages %}{{ m.role | capitalize }}: "
    "{% for part in m.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}"
    "{% endfor %}<done>\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
ODD = (
    "{% for m in messages %}]~b]{{ 'ai' if m.role == 'assistant' else m.role }}\n"
    "{{ m.content }}[e~[\n{% endfor %}"
    "{% if add_generation_prompt %}]~b]ai\n{% endif %}"
)
UNASKED = (
    "{{ bos_token }}{% for m in messages %}<|s|><|{{ m.role }}|>{{ m.content }}<|e|>"
    "{% endfor %}<|s|><|assistant|><|think|>"
)
GENERATION = (
    "{% for m in messages %}<|open|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|close|>"
    "{% endgeneration %}\n{% else %}{{ m.content }}<|close|>\n{% endif %}{% endfor %}"
)
GENERATION_WITHOUT_END = GENERATION.replace(
    "<|close|>{% endgeneration %}", "{% endgeneration %}<|close|>"
)
NEEDS_TOOLS = "{{ tools[0].function.name }}" + MARKED
ALL = {
    name.lower(): value
    for name, value in list(vars().items())
    if name.isupper() and isinstance(value, str)
}


def user(text):
    """Return a question."""
    return {"role": "user", "content": text}


def assistant(text, **more):
    """Return an answer."""
    return {"role": "assistant", "content": text, **more}


def system(text):
    """Return a system message."""
    return {"role": "system", "content": text}


class Special:
    """As much of a tokenizer as templates are given."""

    def __init__(self, template):
        self.chat_template = template
        self.special_tokens_map = {"bos_token": "<s>", "eos_token": "</s>"}
        self.added_tokens_encoder = {"<s>": 1, "</s>": 2}


def parts(rendering):
    """Return what each span is and holds, to be compared at a glance."""
    return [
        (span.part, span.message, rendering.text[span.start : span.end])
        for span in rendering.spans
    ]
