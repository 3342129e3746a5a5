"""Blocks of texts in every markup: their kinds, their text, what is opaque in it and what is prose."""

from __future__ import annotations

import pytest

from celadon.text.structure import Block, BlockKind, LeftOut, Markup, detect_markup, is_prose, left_out, read_blocks
from celadon.text.structure.inline import make_line
from celadon.text.structure.markdown import scan_markdown

K = BlockKind


def kinds(text: str, markup: Markup = Markup.AUTO) -> list[tuple[str, str]]:
    """Return the kind and the text of every block."""
    return [(block.kind.value, block.render(text).text) for block in read_blocks(text, markup)]


def prose(text: str, markup: Markup = Markup.AUTO) -> list[str]:
    """Return the texts of the blocks that are prose."""
    return [block.render(text).text for block in read_blocks(text, markup) if is_prose(block, text)]


def opaque(text: str, markup: Markup = Markup.AUTO) -> list[str]:
    """Return the opaque stretches of all blocks as their texts have them."""
    rendered = [block.render(text) for block in read_blocks(text, markup)]
    return [each.text[start:end] for each in rendered for start, end in each.opaque]


MARKDOWN = """---
title: Pods
---

# The *first* heading

A paragraph with **bold** words, `code` and a [link](https://example.com "Title")
that goes on &amp; on \\* here ![an image](x.png).

> A quotation goes
> on here.
> > A nested one.

1. An item that is a sentence.

   A second paragraph of it.
   - short
   - a long item without any mark at its end
2. [x] A task is done.

| a | b |
|---|---|
| 1 | 2 |

    indented = code()

```python
fenced = "code"
```

[label]: https://example.com

<!-- a comment -->

<div>
<p>A sentence in HTML.</p>
</div>

{{< note >}}
Read [this][label] or [label].
{{< /note >}}

Below
-----

The end."""


def test_markdown() -> None:
    assert kinds(MARKDOWN) == [
        ("front_matter", "--- title: Pods ---"),
        ("heading", "The first heading"),
        ("paragraph", "A paragraph with bold words, code and a link that goes on & on * here ."),
        ("quotation", "A quotation goes on here."),
        ("quotation", "A nested one."),
        ("list_item", "An item that is a sentence."),
        ("paragraph", "A second paragraph of it."),
        ("list_item", "short"),
        ("list_item", "a long item without any mark at its end"),
        ("list_item", "A task is done."),
        ("table", "| a | b | |---|---| | 1 | 2 |"),
        ("code", "indented = code()"),
        ("code", '```python fenced = "code" ```'),
        ("directive", "[label]: https://example.com"),
        ("html", "<!-- a comment -->"),
        ("paragraph", "A sentence in HTML."),
        ("directive", "{{< note >}}"),
        ("paragraph", "Read this or label."),
        ("directive", "{{< /note >}}"),
        ("heading", "Below"),
        ("paragraph", "The end."),
    ]
    assert [text for text in prose(MARKDOWN) if not text.endswith(".")] == ["a long item without any mark at its end"]
    assert opaque(MARKDOWN) == ["code"]


INLINE = [
    "plain words",
    "*a* **b** ***c*** _d_ __e__ *f **g** h*",
    "snake_case_name and 2*3*4 and * star * and **open",
    "`a` ``b ` c`` ` d ` `open",
    "[a](b) [c](<d e> 'f') [g *h* `i`](j) [k](l(m)n) [no] (link) [o]",
    "![a](b) x ![c *d*](e) [![f](g)](h)",
    "<https://a.b> <c@d.e> <b>f</b> <i class='g'>h</i> a < b > c",
    "&amp; &lt; &copy; &#35; &unknown; & AT&T",
    r"\* \[a](b) \` \a",
    "**a*b* *c**d* a*b*c _a_b_ *a*b",
    "[ref] and [text][ref] and [text][] and [other]",
    "a **bold\ntext** over `two\nlines` here",
    "(*a*) \"**b**\" '_c_'. *d*, **e**!",
]


@pytest.mark.parametrize("line", INLINE)
def test_inline_text_is_that_of_markdown_it(line: str) -> None:
    """markdown-it renders inline markup without offsets: its text must be ours."""
    from markdown_it import MarkdownIt

    source = f"{line}\n\n[ref]: https://example.com"
    token = next(token for token in MarkdownIt("commonmark").parse(source) if token.type == "inline")
    readable = {"text", "code_inline", "text_special"}
    expected = "".join(
        " " if child.type == "softbreak" else child.content if child.type in readable else ""
        for child in token.children or []
    )
    lines, at = [], 0
    for part in line.split("\n"):
        lines.append(make_line(source, at, at + len(part)))
        at += len(part) + 1
    spans, _ = scan_markdown(source, lines, frozenset({"REF"}))
    assert Block(K.PARAGRAPH, 0, len(line), spans).render(source).text == expected


RST = """PEP: 1
Title: Something

Title
=====

A paragraph with ``code``, *emphasis*, a `link <https://example.com>`__,
:pep:`8` and a note [1]_::

    literal = block

* An item that is
  a sentence.

  Its second paragraph.
* short

    A block quotation is indented.

.. code-block:: python

   x = 1

.. note:: This is to be
   read.

.. [1] A footnote that says something.
.. [2] https://example.com
.. _target: https://example.com

=====  =====
a      b
=====  =====
1      2
=====  =====

| A line of verse,
| And one more.

>>> print(1)
1
"""


def test_rst() -> None:
    assert detect_markup(RST) is Markup.RST
    assert kinds(RST) == [
        ("front_matter", "PEP: 1 Title: Something"),
        ("heading", "Title"),
        ("paragraph", "A paragraph with code, emphasis, a link, 8 and a note [1]:"),
        ("code", "literal = block"),
        ("list_item", "An item that is a sentence."),
        ("paragraph", "Its second paragraph."),
        ("list_item", "short"),
        ("quotation", "A block quotation is indented."),
        ("code", ".. code-block:: python     x = 1"),
        ("directive", ".. note:: "),
        ("paragraph", "This is to be read."),
        ("list_item", "A footnote that says something."),
        ("directive", ".. [2] https://example.com"),
        ("directive", ".. _target: https://example.com"),
        ("table", "=====  ===== a      b =====  ===== 1      2 =====  ====="),
        ("verse", "A line of verse, And one more."),
        ("code", ">>> print(1) 1"),
    ]
    assert opaque(RST) == ["code", "8", "[1]"]


HTML = """<!DOCTYPE html><html><head><title>A page</title><style>p { color: red }</style></head><body>
<h1>A <i>heading</i></h1><p class="a>b">This is   <b>bold</b>
 and &lt;x&gt; with <code>f(x)</code>.</p><ul><li>one</li><li>It is two.</li></ul>
<blockquote><p>It is said.</p></blockquote><pre>x = 1</pre><!-- no --><table><tr><td>A cell.</td></tr></table>
<p>The sun goes down in the west,<br>And all the birds come home to rest,<br/>The night is near.</p></body></html>"""


def test_html() -> None:
    assert detect_markup(HTML) is Markup.HTML
    assert [pair for pair in kinds(HTML) if pair[0] not in ("html", "code", "table")] == [
        ("heading", "A page"),
        ("heading", "A heading"),
        ("paragraph", "This is bold and <x> with f(x)."),
        ("list_item", "one"),
        ("list_item", "It is two."),
        ("quotation", "It is said."),
        ("verse", "The sun goes down in the west, And all the birds come home to rest, The night is near."),
    ]
    assert opaque(HTML) == ["f(x)"]


PLAIN = """A Title of the Text

Dear Sir or Madam,

I write to you about the lines of this letter, which are wrapped
at a column like those of many mails. They belong together, and
New York does not end a paragraph.

- a short item
- This item is a sentence.
  It goes on.
2) another one

Alice: Did you see it?
Bob: I did.
Alice: Where was it?
Bob: Over there, behind the house.

The rose is red, the violet blue,
The honey's sweet, and so are you,
Thou art my love and I am thine,
I drew thee to my Valentine.

{"key": "value",
 "other": [1, 2]}

def f(x):
    return g(x) + 1

E = mc^2

Name   Age   City
Ann     31   Rome
Bob     42   Oslo

12 Main Street
Springfield 12345

> They wrote this before.

Best regards,

Jane Doe"""


def test_plain() -> None:
    read = kinds(PLAIN, Markup.PLAIN)
    assert [kind for kind, _ in read] == [
        *("heading", "salutation", "paragraph", "list_item", "list_item", "list_item"),
        *("turn", "turn", "turn", "turn", "verse", "data", "code", "formula", "table", "data", "quotation"),
        *("signature", "signature"),
    ]
    assert read[2][1].endswith("They belong together, and New York does not end a paragraph.")
    assert read[4][1] == "This item is a sentence. It goes on."
    assert read[6][1] == "Did you see it?"
    assert len(prose(PLAIN, Markup.PLAIN)) == 8


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Paris", LeftOut.FRAGMENT),
        ("Best regards,", LeftOut.FRAGMENT),
        ("Name:", LeftOut.LABEL),
        ("- milk and eggs", LeftOut.FRAGMENT),
        ("Figure 2: The results of the experiment.", LeftOut.LABEL),
        ("12 34", LeftOut.WORDLESS),
        ("https://example.com/a/b", LeftOut.WORDLESS),
        ('{"a": 1}', LeftOut.DATA),
        ("x = f(y);", LeftOut.CODE),
        ("| a | b |\n| c | d |", LeftOut.TABLE),
        ("Yes.", None),
        ("Is it?", None),
        ('"Go!"', None),
        ("He left --", LeftOut.LABEL),
        ("Here are the four steps:", None),
        ("the cat sat on the mat and it slept", None),
        ("- the cat sat on the mat and it slept", None),
        ("彼は昨日東京へ行きました。", None),
    ],
)
def test_why_a_block_is_left_out(text: str, reason: LeftOut | None) -> None:
    (block,) = read_blocks(text)
    assert left_out(block, text) == reason


def test_what_breaks_off_is_still_prose() -> None:
    assert prose("This is a sentence.\n\nThis one breaks")[-1] == "This one breaks"
    assert prose("This is a sentence.\n\n## More\n\nThis one")[-1] == "This one"
    assert prose("The steps are these:\n\n1. Wash it.\n2. Dry it with a towel and then put it")[-1].endswith("put it")
    assert prose("The capital of France is:\n\nParis") == ["The capital of France is:"]


def test_a_list_reads_the_same_in_markdown_and_plain_text() -> None:
    text = "Some things to do today:\n\n- Wash the car.\n- Buy some milk.\n\nThat is all."
    assert kinds(text, Markup.PLAIN) == kinds(text, Markup.MARKDOWN)


def test_opaque_stretches() -> None:
    text = "See https://a.b/c, /etc/hosts and src/x.py, or mail me@x.org [12]; it costs $5 or $x^2$, and/or {{ x }}."
    assert opaque(text, Markup.PLAIN) == [
        *("https://a.b/c", "/etc/hosts", "src/x.py", "me@x.org", "[12]", "$x^2$", "{{ x }}")
    ]


def test_offsets_lead_back_to_the_source() -> None:
    text = "> A *b*\n> c &lt; d."
    (block,) = read_blocks(text)
    rendered = block.render(text)
    assert rendered.text == "A b c < d."
    for offset, character in enumerate(rendered.text):
        source = text[rendered.source_offset(offset)]
        assert source == character or (source, character) in (("\n", " "), ("&", "<"))
    at = rendered.text.index("< d")
    assert text[slice(*rendered.source_span(at, at + 3))] == "&lt; d"
    assert text[slice(*rendered.source_span(2, 5))] == "b*\n> c"
    assert rendered.source_offset(len(rendered.text)) == len(text)
    with pytest.raises(IndexError, match="outside a block text of 10 characters"):
        rendered.source_offset(11)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("Just a sentence.", Markup.PLAIN),
        ("- one\n- two", Markup.PLAIN),
        ("# Title\n\nText.", Markup.MARKDOWN),
        ("Some **bold** text.", Markup.MARKDOWN),
        ("A [link](https://example.com).", Markup.MARKDOWN),
        ("It costs 5 * 3 dollars, or 2 ** 3.", Markup.PLAIN),
        ("Title\n=====\n\nSee :ref:`this`::\n\n    code", Markup.RST),
        ("<p>Text.</p>", Markup.HTML),
        ("if a < b and c > d then stop", Markup.PLAIN),
    ],
)
def test_detects_the_markup(text: str, markup: Markup) -> None:
    assert detect_markup(text) is markup


def test_no_text_has_no_blocks() -> None:
    assert read_blocks("") == read_blocks(" \n\t\n") == ()
