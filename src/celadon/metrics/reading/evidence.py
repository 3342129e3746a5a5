"""What shows why a text reads as it does: sentences, repetitions, transitions, order."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from celadon.core import Evidence, Section, Span
from celadon.metrics.aspects import SENTENCE, WORST
from celadon.metrics.gruen.coherence import order_evidence
from celadon.metrics.gruen.focus import WEAK
from celadon.metrics.gruen.redundancy import REPEATED, GruenRedundancy
from celadon.metrics.meteor import function_words
from celadon.metrics.reading.features import GAP
from celadon.metrics.reading.judgement import Judgement
from celadon.metrics.reading.rates import WINDOW
from celadon.scoring.batch import Batch, Orders
from celadon.text.language import MIXED
from celadon.text.repetition import Loop, longest_loop, repeated_grams, sentence_words
from celadon.text.surface_marks import hanging_end, hanging_opening, unknown_marks

UNKNOWN, LOOSE, HANGING = "unknown word", "loose end", "hanging opening"
"""The labels of spans."""
_GOOD = 0.75
"""The grammaticality from which on a sentence needs no passage pointed out."""
_LAST_WORDS = 5


def of_whole(metric: str, batch: Batch) -> list[Evidence]:
    """Show whether the one text of a batch is complete, and how much of it was judged."""
    if not batch.proses:
        return []
    source = batch.proses[0].source
    last = " ".join(source.text[slice(*source.sentences[-1])].split()[-_LAST_WORDS:])
    complete = f"the text breaks off after “{last}”" if source.broken_off else "the text does not break off"
    judged = [f"{source.share:.0%} of the words were judged"]
    if source.skipped:
        names = (f"{kind.replace('_', ' ')} {count}" for kind, count in Counter(source.skipped).items())
        judged.append(f"blocks left out: {', '.join(names)}")
    if source.language.code == MIXED:
        judged.append("sentences in other languages were left out")
    return [Evidence(f"{metric}.complete", complete), Evidence(f"{metric}.prose", "; ".join(judged))]


def of_sentences(metric: str, text: str, judged: Judgement) -> Evidence:
    """Show the sentences of the one text that was judged."""
    rates = judged.rates
    worst = int(np.argmin(judged.sentences)) if len(judged.sentences) > 1 else -1
    sentences, marks = [], []
    for at, (start, end) in enumerate(zip(rates.starts.tolist(), rates.ends.tolist(), strict=True)):
        note = f"{judged.sentences[at]:.2f}: {_note(text, judged, at)}"
        sentences.append(Span(start, end, WORST if at == worst else SENTENCE, note, float(judged.sentences[at])))
        sentence = text[start:end]
        marks += [
            Span(each.start, each.end, each.kind, f"probability {each.probability:.0%}") for each in rates.findings[at]
        ]
        marks += [Span(start + a, start + b, UNKNOWN) for a, b in unknown_marks(sentence)]
        if loose := hanging_end(sentence):
            marks.append(Span(start + loose.place[0], start + loose.place[1], LOOSE, loose.why))
    if rates.broken_off[0] and not (marks and marks[-1].label == LOOSE and marks[-1].end >= rates.ends[-1]):
        marks.append(Span(int(rates.starts[-1]), int(rates.ends[-1]), LOOSE, "the text breaks off"))
    count = "1 sentence" if len(sentences) == 1 else f"{len(sentences):,} sentences, the worst {judged.worst[0]:.2f}"
    summary = f"{count}; words in doubt: {len(marks):,}" if marks else count
    sections = (Section("sentences", "Sentences", tuple(sentences)), Section("marks", "Marks", tuple(marks)))
    return Evidence(metric, summary, sections)


def _note(text: str, judged: Judgement, at: int) -> str:
    """What the models say of a sentence; of one that is rather bad than good, also where in it fluency is least."""
    rates = judged.rates
    acceptability, capped = (float(rates.of_sentences[name][at]) for name in ("acceptability", "capped"))
    note = f"acceptable {1 / (1 + math.exp(-acceptability)):.2f}, fluency {capped:.2f}"
    start, end = rates.passages[at]
    if judged.sentences[at] >= _GOOD or 2 * (end - start) > rates.ends[at] - rates.starts[at]:
        return note
    return f"{note}, least in “{_whole_words(text, start, end)}”"


def _whole_words(text: str, start: int, end: int) -> str:
    """Some characters of a text, with the rest of the words at both ends."""
    while start and text[start - 1 : start + 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1 : end + 1].isalnum():
        end += 1
    return text[start:end]


def of_repetition(metric: str, batch: Batch) -> Evidence | None:
    """Show pairs of sentences that repeat each other, and what comes again inside a sentence or across them."""
    pairs = GruenRedundancy().prose_evidence(batch)
    if pairs is None:
        return None
    text = batch.samples[0].text
    words = [each for each in sentence_words(text, batch.sentences()[0]) if each]
    ignored = function_words()
    grams = repeated_grams(words, 2, ignored, WINDOW)
    loops = [loop for each in words if (loop := longest_loop(each, GAP, ignored))]
    spans = _with_new(pairs.text_spans, [_looped(text, loop) for loop in loops])
    spans = _with_new(spans, [Span(*place, REPEATED, "these two words came before") for place in grams.places])
    told = [pairs.summary]
    if loops:
        longest = max(loops, key=lambda loop: loop.words)
        told.append(f"“{text[slice(*longest.first)]}” comes again in its sentence")
    if grams.total:
        told.append(f"{grams.share_in_text:.0%} of the word pairs came before")
    return Evidence(metric, "; ".join(told), (Section("marks", spans=spans), *pairs.of_kind("pair")))


def _looped(text: str, loop: Loop) -> Span:
    return Span(*loop.second, REPEATED, f"“{text[slice(*loop.first)]}” stands in this sentence already")


def _with_new(spans: tuple[Span, ...], more: list[Span]) -> tuple[Span, ...]:
    """Add spans that do not touch any that is there."""
    found = list(spans)
    for span in more:
        if all(span.end <= other.start or other.end <= span.start for other in found):
            found.append(span)
    return tuple(sorted(found))


def of_likeness(metric: str, judged: Judgement, weak: float) -> Evidence:
    """Show the sentences of the one text that was judged which have nothing to do with those around them."""
    rates = judged.rates
    places = zip(rates.starts.tolist(), rates.ends.tolist(), rates.nearest.tolist(), strict=True)
    spans = tuple(
        Span(start, end, WEAK, f"likeness {nearest:.2f} to the nearest neighbor", nearest)
        for start, end, nearest in places
        if nearest < weak
    )
    if len(rates.nearest) == 1:
        summary = "one sentence, so there is no other to keep to"
    else:
        summary = f"{len(spans):,} of {len(rates.nearest):,} sentences are less than {weak:.2f} like any neighbor"
    return Evidence(metric, summary, (Section("marks", "Off the matter", spans),))


def of_order(metric: str, text: str, orders: Orders) -> Evidence:
    """Show where the order of the one text that was judged looks wrong, and an opening that refers to nothing."""
    found = order_evidence(metric, orders)
    hanging = hanging_opening(text)
    if hanging is None:
        return found
    span = Span(*hanging.place, HANGING, hanging.why)
    sections = (Section("marks", "Hanging opening", (span,)), *found.sections)
    return replace(found, summary=f"{found.summary}; {hanging.why}", sections=sections)
