"""Blocks of plain text by its layout: blank lines, line lengths, markers, marks at line ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from celadon.text.structure.blocks import READABLE, STOPS, Block, BlockKind, Span, count_words, end_mark
from celadon.text.structure.inline import Line, scan_plain

K = BlockKind
Scan = Callable[[str, Sequence[Line]], tuple[tuple[Span, ...], tuple[Span, ...]]]

LIST_MARKER = re.compile(
    r"(?:[-*+:•‣◦▪▸►●○■□✓✔·–]|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5}|[IVX]{2,5})[.)]|\([A-Z]\)|[A-Z]\)|\d{1,2}(?:\.\d{1,2}){1,3}\.?)"
    r"\s+(?=\S)|[•●▪■►✓✔](?=\w)"
)
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*$")
_RULE = re.compile(r"([-=_*~#+.·•–—])(?:\s*\1){2,}$")
_TABLE_LINE = re.compile(r"\||\+[-=+]{3,}\+$|[^|]*\|[^|]*\|")
_SHORTCODE = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}")
_SHORTCODE_LINE = re.compile(rf"(?:{_SHORTCODE.pattern})(?:\s*(?:{_SHORTCODE.pattern}))*$|:::+(?:\s*\S+)?$|!!!\s+\w+$")
_TURN = re.compile(
    r"\W{0,3}(?:\d{1,2}:\d\d(?::\d\d)?\W{1,3})?"
    r"((?:[^\W\d_][\w.'’]*|\[[^\]\n]{1,30}\])(?:[ -][\w.'’()#-]{1,15}){0,3})\W{0,2}:\W{0,3}\s"
)
_SPEAKERS = frozenset("q a b user assistant human ai bot system agent customer me you".split())
_DASH_TURN = re.compile(r"(?:—|―)\s*(?=\w)")
_HEADER_FIELD = re.compile(r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To):\s", re.IGNORECASE)
_FIELD = re.compile(r"[^\W\d_][\w /().'&-]{0,30}[^\s:]?\s?:(?:\s|$)")
_CODE = re.compile(
    r"(?:def|class)\s+\w+.*:$|(?:import|from)\s+[\w.{}*]+(?:\s+(?:import|from|as)\s.*|;)?$|#\s*(?:include|define|if|endif)\b"
    r"|(?:public|private|protected|static|const|let|var|int|void|float|double|char|bool|function|func|fn|struct|enum"
    r"|namespace|using|package|return|print|echo|export|async|await|throw|new)\b.*[\w)\]}'\"]?[({;=\[].*$"
    r"|(?:if|elif|for|while|switch|else|try|except|finally|catch|with|do)\b.*[:{]$"
    r"|(?:\$|>>>|\.\.\.|#!|//|/\*|\*/|--|%)\s?\S|@\w+(?:\(.*\))?$|[}\])]+[;,]?$|.*[{}]\s*(?://.*)?$"
    r"|[\w.\[\]'\"*&$-]+(?:\s?:\s?\w+)?\s*[-+*/|&.:]?=(?!=)\s*\S|[\w.]+\(.*\)\s*[;:{]?$"
    r"|.*[=(\[\"'].*;\s*(?://.*)?$|</?\w[^>]*>|.*(?:=>|->|&&|\|\||==|!=|:=|::|\+=|\w\(\)|</\w)|[A-Z]+\s.*\b(?:FROM|INTO|WHERE|VALUES)\b"
)
_STRONG_CODE = re.compile(
    r"(?:\$|>>>|#!|//|/\*)\s?\S.*$|#include\b|from [\w.]+ import |import [\w.]+;?$|(?:def|function)\s+\w+\(|<\?php"
    r"|.*[\w)\]'\"]\(.*\)\s*[;{]$|.*[=(].*;$|[\w.\[\]]+ ?= ?[\w.]+\(.*\)$"
    r"|(?:sudo|pip|npm|git|docker|kubectl|apt-get|curl)\s[\w -]+$"
)
_INLINE_TAG = re.compile(r"<(?:a|abbr|b|br|code|em|i|kbd|mark|s|small|span|strong|sub|sup|u)\b", re.IGNORECASE)
_LOG = re.compile(
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d\s"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE)\]?[:\s]"
)
_FORMULA = re.compile(r"\$\$|\\\[|\\begin\{|\\\(.*\\\)$")
_OPERATOR = re.compile(r"[=≈≠≤≥±×÷∑∫√∞→^]|\d\s?[+*]\s?\d")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_CARRIES_ON = re.compile(r"(?:\S+\s+){4}|\s[a-z]{1,4}$|^[^,]*,.*,$")
_GAP = re.compile(r"\S(?: {3,}|\t+)\S")
# no line without one of these is code, data, a formula or a row of a table
_SYMBOL = re.compile(
    r"[][{}()=<>;$|&@#/%:\t^\\≈≠≤≥±×÷∑∫√∞→]|   |\d[ ,+*]|,\S|^(?:import|from|pip|npm|git|sudo|else|try|curl)\b"
)
_FIRST = re.compile(r"\w")


_LOOSE = (K.PARAGRAPH, K.DATA, K.VERSE, K.HEADING)


@dataclass(slots=True)
class Piece:
    """A block before its characters are read: its lines, where its markers begin, and whether it stands alone."""

    kind: BlockKind
    lines: list[Line]
    start: int
    alone: bool = False


@dataclass(slots=True)
class Layout:
    """What the whole text says about its lines: the column they are wrapped at (0: none), and who speaks."""

    width: int = 0
    soft: bool = False  # whether a line break within a paragraph means nothing by itself
    speakers: frozenset[str] = field(default_factory=frozenset)


def split_lines(source: str, start: int = 0, end: int | None = None) -> Iterator[Line]:
    """Return the lines of a stretch of the source; those without text are blank."""
    at = start
    for raw in source[start:end].splitlines(keepends=True):
        text = raw.strip()
        indent = len(raw) - len(raw.lstrip()) if raw[0].isspace() else 0
        yield Line(at + indent, at + indent + len(text), text, indent, end_mark(text))
        at += len(raw)


def survey(lines: Iterable[Line], soft: bool = False) -> Layout:
    """Return the layout of a text from its lines."""
    lengths: list[int] = []
    turns: list[tuple[str, bool]] = []  # of each line, who speaks, and whether a sentence ends there
    for line in lines:
        if len(line.text) > 30:
            lengths.append(len(line.text))
        if line.text:
            turn = _turn(line)
            turns.append((turn[1].lower() if turn else "", line.mark in STOPS))
    lengths.sort()
    column = lengths[len(lengths) * 9 // 10] if len(lengths) > 1 else 0
    names, sentences = Counter(name for name, _ in turns), Counter(name for name, ended in turns if ended)
    speakers = {name for name in names if name in _SPEAKERS or 1 < names[name] < 2 * sentences[name] + 1} - {""}
    changes = sum(a != b and a in speakers and b in speakers for (a, _), (b, _) in pairwise(turns))
    spoken = changes > 1 or sum(names[name] for name in speakers) * 3 > len(turns)
    return Layout(column if column <= 110 else 0, soft, frozenset(speakers if spoken and len(speakers) > 1 else ()))


def _turn(line: Line) -> re.Match[str] | None:
    colon = line.text.find(":", 0, 60)
    if colon < 1 or LIST_MARKER.match(line.text):
        return None
    turn = _TURN.match(line.text + " ", 0, colon + 8)
    return turn if turn and (turn[1][0].isupper() or turn[1] in _SPEAKERS) else None


def read_plain(source: str, start: int = 0) -> list[Block]:
    """Return the blocks of plain text from an offset on."""
    lines = list(split_lines(source, start))
    layout = survey(lines)
    pieces: list[Piece] = []
    group: list[Line] = []
    fence: list[Line] = []
    for line in lines:
        if fence:
            fence.append(line)
            if line.text[:3] == fence[0].text[:3] and not line.text.strip("`~"):
                pieces.append(Piece(K.CODE, fence, fence[0].start))
                fence = []
        elif line.text[:3] in ("```", "~~~") and _FENCE.match(line.text):
            pieces += split_group(group, layout)
            group, fence = [], [line]
        elif line.text:
            group.append(line)
        elif group:
            pieces += split_group(group, layout)
            group = []
    pieces += split_group(group, layout)
    if fence:
        pieces.append(Piece(K.CODE, fence, fence[0].start))
    return make_blocks(source, pieces, scan_plain)


def make_blocks(source: str, pieces: list[Piece], scan: Scan) -> list[Block]:
    """Return the blocks of pieces, after headings, salutations and signatures are recognized by where they stand."""
    _mark_headings(pieces)
    _mark_letter(pieces)
    blocks = []
    for piece in pieces:
        lines = [line for line in piece.lines if line.text]
        if not lines:
            continue
        start, end = min(piece.start, lines[0].start), lines[-1].end
        if piece.kind in READABLE or piece.kind in (K.HEADING, K.SALUTATION, K.SIGNATURE):
            spans, opaque = scan(source, lines)
            # without readable characters it is an image or a comment
            blocks.append(Block(piece.kind if spans else K.DIRECTIVE, start, end, spans or ((start, end),), opaque))
        else:
            blocks.append(Block(piece.kind, start, end, ((lines[0].start, end),)))
    return blocks


def split_group(lines: list[Line], layout: Layout) -> list[Piece]:
    """Return the pieces of lines without a blank line between them."""
    pieces: list[Piece] = []
    for directive, run in groupby(lines, key=_is_directive):
        some = list(run)
        pieces += [Piece(K.DIRECTIVE, some, some[0].start)] if directive else _split_run(some, layout)
    if len(pieces) == 1 and len(lines) == 1:
        pieces[0].alone = True
    return pieces


def _is_directive(line: Line) -> bool:
    return line.text[0] in "{:!" and _SHORTCODE_LINE.match(line.text) is not None


def _split_run(lines: list[Line], layout: Layout) -> list[Piece]:
    """Return the pieces of lines: one as a whole, or items, turns, tables and paragraphs by their markers."""
    whole = _whole_group(lines)
    if whole is not None:
        return [Piece(whole, lines, lines[0].start)]
    pieces: list[Piece] = []
    run: list[Line] = []  # lines without markers that wait for their paragraphs
    for before, line in zip((None, *lines), lines, strict=False):
        kind, skip = _marked_line(line, before, layout)
        last = pieces[-1] if pieces and not run else None
        if kind is None:
            if last and last.kind in (K.LIST_ITEM, K.TURN, K.QUOTATION) and _continues(last, line, layout):
                last.lines.append(line)
            else:
                run.append(line)
            continue
        title = run.pop() if kind is K.HEADING and run else None  # this line underlines the one above it
        pieces += _flow(run, layout)
        run = []
        rest = line._replace(start=line.start + skip, text=line.text[skip:]) if skip else line
        if kind is K.HEADING:
            pieces += [Piece(kind, [title], title.start)] if title else []
        elif (
            pieces
            and pieces[-1].kind is kind
            and (
                kind in (K.TABLE, K.DIRECTIVE)
                or (kind is K.QUOTATION and not _ends_short(pieces[-1].lines[-1], layout))
            )
        ):
            pieces[-1].lines.append(rest)
        else:
            pieces.append(Piece(kind, [rest], line.start))
    for piece in pieces:
        if piece.kind is K.TABLE and len(piece.lines) == 1:
            piece.kind = K.PARAGRAPH
    return pieces + _flow(run, layout)


@dataclass(slots=True)
class _Group:
    """Lines that may be something else than text, and how many of them are sentences."""

    lines: list[Line]
    texts: list[str]
    sentences: int

    def share(self, pattern: re.Pattern[str]) -> float:
        """Return the share of short lines that begin with a pattern, less the share of sentences."""
        matches = sum(
            len(text) < 160 and text.count(" ") < 16 and pattern.match(text) is not None for text in self.texts
        )
        return (matches - self.sentences) / len(self.texts)


def _whole_group(lines: list[Line]) -> BlockKind | None:
    """Return the kind of a group that is data, code, a table or a formula as a whole."""
    texts = [_SHORTCODE.sub("x", line.text) if "{" in line.text else line.text for line in lines]
    if not any(_SYMBOL.search(text) for text in texts):
        return None
    sentences = sum(line.mark in STOPS and line.text[0].isupper() and line.text.count(" ") > 4 for line in lines)
    if sentences == len(lines):
        return None
    group = _Group(lines, texts, sentences)
    return next((kind for kind, fits in _WHOLE if fits(group)), None)


def _is_shortcode(group: _Group) -> bool:
    return group.lines[0].text[:2] == "{{" and group.lines[-1].text[-2:] == "}}" and not group.sentences


def _is_data(group: _Group) -> bool:
    """Return whether lines are JSON, XML or a log."""
    first, last = group.texts[0], group.texts[-1]
    if first[0] in "{[" and last[-1] in "}]," and not group.sentences:
        return any(":" in text or '"' in text for text in group.texts) and (len(group.texts) > 1 or '"' in first)
    if first[0] == "<" and last[-1] == ">" and not _INLINE_TAG.match(first):
        return group.sentences * 2 < len(group.texts)
    return group.share(_LOG) > 0.5


def _is_code(group: _Group) -> bool:
    if len(group.texts) == 1:
        return group.texts[0].count(" ") < 10 and group.share(_STRONG_CODE) == 1
    return group.share(_CODE) >= max(0.5, 1.5 / len(group.texts))


def _is_formula(group: _Group) -> bool:
    if _FORMULA.match(group.texts[0]):
        return True
    if len(group.texts) > 2 or not all(len(text) < 120 and _OPERATOR.search(text) for text in group.texts):
        return False
    return sum(len(_LONG_WORD.findall(text)) for text in group.texts) <= len(group.texts)


def _is_table(group: _Group) -> bool:
    gaps = sum(("   " in text or "\t" in text) and _GAP.search(text) is not None for text in group.texts)
    return gaps >= max(2, len(group.texts) * 0.8) and not group.sentences


def _is_record(group: _Group) -> bool:
    """Return whether lines are fields with short values, or values with the same number of commas."""
    count, texts = len(group.texts), group.texts
    if count < 2 or any(line.mark in STOPS for line in group.lines) or LIST_MARKER.match(texts[0]):
        return False
    if all(text.count(" ") < 10 and _FIELD.match(text) for text in texts):
        return True
    commas = texts[0].count(",")
    even = (
        commas > 1 and all(text.count(",") == commas for text in texts) and not any(line.mark for line in group.lines)
    )
    return even and (count > 2 or ", " not in texts[0]) and sum(text.count(" ") for text in texts) <= 3 * commas * count


_WHOLE: tuple[tuple[BlockKind, Callable[[_Group], bool]], ...] = (
    (K.DIRECTIVE, _is_shortcode),
    (K.DATA, _is_data),
    (K.FRONT_MATTER, lambda group: group.share(_HEADER_FIELD) == 1),
    (K.CODE, _is_code),
    (K.FORMULA, _is_formula),
    (K.TABLE, _is_table),
    (K.DATA, _is_record),
)


def _marked_line(line: Line, before: Line | None, layout: Layout) -> tuple[BlockKind | None, int]:
    """Return the kind of a line by its marker and how many characters the marker has."""
    text = line.text
    head = text[0]
    kind, skip = None, 0
    if layout.speakers and (turn := _turn(line)) and turn[1].lower() in layout.speakers:
        kind, skip = K.TURN, min(turn.end(), len(text))
    elif head == ">":
        kind, skip = K.QUOTATION, len(text) - len(text.lstrip("> "))
    elif head in "—―" and (dash := _DASH_TURN.match(text)):
        kind, skip = K.TURN, dash.end()
    elif "|" in text and _TABLE_LINE.match(text):
        kind = K.TABLE
    elif not head.isalnum() and _RULE.match(text):
        titled = before is not None and before.mark not in STOPS and len(before.text) < 100 and head in "=-~_*^"
        kind = K.HEADING if titled and len(set(text)) == 1 else K.DIRECTIVE
    elif (marker := LIST_MARKER.match(text)) and not (before and _is_wrapped_marker(line, before, layout)):
        kind, skip = K.LIST_ITEM, marker.end()
    return kind, skip


def _is_wrapped_marker(line: Line, before: Line, layout: Layout) -> bool:
    """Return whether a dash or a number begins a line only because the text was wrapped there."""
    if before.mark or not _full(before, line.text, layout.width):
        return False
    if before.indent == line.indent and before.text[0] == line.text[0]:
        return False  # items of one list
    return line.text[0] in "–-" or (line.text[0].isalnum() and not LIST_MARKER.match(before.text))


def _ends_short(line: Line, layout: Layout) -> bool:
    return line.mark != "" and len(line.text) < layout.width * 0.6


def _continues(piece: Piece, line: Line, layout: Layout) -> bool:
    """Return whether a line belongs to the item above it: by its indent, or since a sentence goes on."""
    last = piece.lines[-1]
    if line.indent > piece.lines[0].indent:
        return line.indent == last.indent or not last.mark or len(piece.lines) == 1
    return not last.mark and (_begins(line.text, str.islower) or _full(last, line.text, layout.width))


def _begins(text: str, case: Callable[[str], bool]) -> bool:
    """Return whether the first letter or digit of a text is in a case."""
    first = text[0] if text[0].isalnum() else _FIRST.search(text)
    return first is not None and case(first if isinstance(first, str) else first.group())


def _is_open(line: Line) -> bool:
    return line.mark not in STOPS and line.mark != ":"


def _full(line: Line, following: str, width: int) -> bool:
    """Return whether the next line's first word found no room on a line."""
    return width > 40 and len(line.text) + 1 + len(following.split(maxsplit=1)[0]) > width * 0.85


def _flow(lines: list[Line], layout: Layout) -> list[Piece]:
    """Return the paragraphs of lines without markers: wrapped text, verse, or a paragraph per line."""
    if len(lines) < 2:
        return [Piece(K.PARAGRAPH, lines, lines[0].start)] if lines else []
    count = len(lines)
    breaks = [after for line, after in pairwise(lines) if _is_open(line)]
    lower = sum(_begins(after.text, str.islower) for after in breaks)
    words = sum(line.text.count(" ") + 1 for line in lines) / count
    if words >= 3.5 and 0.4 * (count - 1) <= len(breaks) >= 8 * lower and _is_verse(lines, layout):
        label = lines[0].text[0] in "[(" or (lines[0].mark == ":" and lines[0].text.count(" ") < 3)
        head = [Piece(K.HEADING, lines[:1], lines[0].start)] if label else []
        return [*head, Piece(K.VERSE, lines[label:], lines[label].start)]
    widest = max(len(line.text) for line in lines)
    width = max(widest, layout.width) if widest <= 130 else 0
    wrapped = width > 45 and sum(_full(line, after.text, width) for line, after in pairwise(lines)) >= 0.6 * (count - 1)
    sentences = any(line.mark or "," in line.text or ". " in line.text for line in lines)
    solid = words >= 4 or lines[-1].mark in STOPS
    flowing = bool(breaks) and ((lower >= 0.4 * len(breaks) and sentences and solid) or (wrapped and words >= 4))
    groups = [[lines[0]]]
    for line, after in pairwise(lines):
        goes_on = _begins(after.text, str.islower)
        if flowing:
            room = len(line.text) + len(after.text.split(maxsplit=1)[0]) < 0.6 * width
            joins = (goes_on or not room) and (_is_open(line) or (width > 0 and after.indent <= line.indent + 1))
        else:
            joins = _is_open(line) and goes_on and solid
        if joins or (layout.soft and _is_open(line) and (_CARRIES_ON.search(line.text) or after.text[0] in "[`")):
            groups[-1].append(after)
        else:
            groups.append([after])
    if len(groups) == count <= 8 and _is_address(lines):
        return [Piece(K.DATA, lines, lines[0].start)]
    pieces = [Piece(K.PARAGRAPH, group, group[0].start) for group in groups]
    first = lines[0]
    if len(groups) > 1 and len(groups[0]) == 1 and _is_title(first) and len(groups[1][0].text) > len(first.text) + 10:
        pieces[0].kind = K.HEADING
    return pieces


def _is_verse(lines: list[Line], layout: Layout) -> bool:
    """Return whether at least three lines are short, begin with capitals and are punctuated here and there."""
    count = len(lines)
    lengths = [len(line.text) for line in lines]
    if count < 3 or sum(lengths) > 56 * count or max(lengths) > 80:
        return False
    if layout.soft and any("`" in line.text or "]" in line.text[1:-1] for line in lines):
        return False
    punctuated = sum(not line.text[-1].isalnum() or "," in line.text for line in lines)
    return sum(_begins(line.text, str.isupper) for line in lines) >= 0.8 * count and punctuated >= 0.1 * count


def _is_address(lines: list[Line]) -> bool:
    """Return whether lines are short, with a number somewhere and without marks."""
    if lines[0].mark or lines[0].text[-1] == "," or not any(c.isdigit() for line in lines for c in line.text):
        return False
    return all(line.mark not in STOPS and line.text.count(" ") < 6 for line in lines)


def _is_title(line: Line) -> bool:
    """Return whether a line is short, begins like a title and ends without a mark."""
    text = line.text
    if line.mark or text[-1] == "," or text[0] in "\"“'‘«" or len(text) > 120 or _begins(text, str.islower):
        return False
    words = count_words(text)
    capitals = sum(word[0].isupper() for word in text.split())
    return 0 < words <= (14 if capitals * 2 > words else 10)


def _mark_headings(pieces: list[Piece]) -> None:
    """Turn short paragraphs that stand alone above others into headings."""
    for piece, after in pairwise(pieces):
        if piece.alone and piece.kind is K.PARAGRAPH and after.kind is not K.QUOTATION and _is_title(piece.lines[0]):
            piece.kind = K.HEADING


def _mark_letter(pieces: list[Piece]) -> None:
    """Recognize the salutation and the signature of a letter: short lines that end in a comma, and names below."""
    for piece, after in pairwise(pieces[:5]):
        line = piece.lines[0]
        if piece.kind is K.PARAGRAPH and len(piece.lines) == 1 and line.text[-1] == "," and line.text.count(" ") < 6:
            if after.kind in (K.PARAGRAPH, K.LIST_ITEM) and (after.lines[0].text.count(" ") > 5 or after.lines[0].mark):
                piece.kind = K.SALUTATION
            break
    rows = 0
    for at in range(len(pieces) - 1, max(0, len(pieces) - 8), -1):
        first, *names = pieces[at].lines
        rows += 1 + len(names)
        brief = all(line.mark not in STOPS and line.text.count(" ") < 7 for line in pieces[at].lines)
        if rows > 8 or not brief or pieces[at].kind not in _LOOSE or any(line.text[-1] == "," for line in names):
            break
        if first.text[-1] == "," and first.text.count(" ") < 4:
            for piece in pieces[at:]:
                piece.kind = K.SIGNATURE
            break
