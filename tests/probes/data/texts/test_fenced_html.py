"""Entities and line ends of HTML in blocks of code."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.fenced_html import fenced_html


def faults(answer, prompt="How is it done?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in fenced_html(row)]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("```c\nif (a &lt; b &amp;&amp; c)\n```", [("html-entities", 11)]),
        ("```\nprint(&quot;a&quot;)\n```", [("html-entities", 10)]),
        ("```py\nx = 1\n```\n```py\nf(&#39;a&#39;)", [("html-entities", 24)]),
        (
            "So:<br>\n```python<br>\nf(&quot;a&quot;)<br>\n```",
            [("html-tags", 17), ("html-entities", 24)],
        ),
        ("```python\nx = 1<br>\ny = 2<br>\n```<br>\nSo.", [("html-tags", 33)]),
    ],
)
def test_code_as_html_writes_it_is_found(answer, found):
    assert faults(answer) == found


@pytest.mark.parametrize(
    "answer",
    [
        "```html\n<p>a &lt; b &gt; c</p>\n```",
        "```jsx\nf(&quot;a&quot;)\n```",
        "```python\nx.replace('<', '&lt;').replace('>', '&gt;')\n```",
        "```python\nx.replace('&', '&amp;').replace('\"', '&quot;')\n```",
        "```python\nf('&quot;') + \"&quot;\"\n```",
        "```c\nf(&amp;x)\n```",
        "```c\nif (a < b && c > 0) f(&x);\n```",
        "```\na<br>\nb<br>\n```",
        "```\ndef f() -&gt; int:\n    return 1\n```",
        "```python\nprint('f() -&gt; int')\n```",
        "```python\nx = y.replace('&lt;', 'a')\n```",
        "```python\nx = 1  # f() -&gt; int\n```",
        "```sql\nselect a &amp; b\n```",
        "```c\nif (a &lt; b) x->y = z > 0;\n```",
        "```php\n$a -&gt; b;\n```",
        "```python\nx = 1\n```\na<br>\nb<br>",
        "a &lt; b &gt; c ``` d",
        "In HTML:\n```\na &lt; b &gt; c\n```",
    ],
)
def test_is_silent_on_code_about_it(answer):
    assert faults(answer) == []


def test_is_silent_where_the_prompt_speaks_of_it():
    assert faults("```\na &lt; b &gt; c\n```", "Write it with entities.") == []


@pytest.mark.parametrize(
    ("answer", "char"),
    [
        ("```python\ndef f() -&gt; int:\n    return 1\n```", 19),
        ("So:\n```java\nx = 1;\nfor (; i &lt; n; i++) f(i);\n```", 28),
        ("```rust\nmatch x { 1 =&gt; 2 }\n```", 21),
        ("```python\nwhile i &gt;= 0:\n    i -= 1\n```", 18),
    ],
)
def test_one_operator_is_enough_in_a_known_language(answer, char):
    assert faults(answer) == [("html-entities", char)]
