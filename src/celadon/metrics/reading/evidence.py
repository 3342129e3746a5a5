"""What shows why a text reads as it does: sentences, repetitions, transitions, order."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from celadon.core import Evidence, Sample, Section, Span
from celadon.metrics.aspects import SENTENCE, WORST
from celadon.metrics.gruen.coherence import order_evidence
from celadon.metrics.gruen.focus import Transition, transition_sections
from celadon.metrics.gruen.redundancy import REPEATED, GruenRedundancy
from celadon.metrics.meteor import function_words
from celadon.metrics.reading.features import GAP, WITHIN
from celadon.metrics.reading.judgement import Judgement
from celadon.scoring.batch import Batch, Orders
from celadon.text.repetition import Loop, longest_loop, repeated_grams, sentence_words
from celadon.text.surface_marks import hanging_opening, loose_end, unknown_marks

UNKNOWN, LOOSE, HANGING = "unknown word", "loose end", "hanging opening"
"""The labels of spans."""
_GOOD = 0.5
"""The grammaticality from which on a sentence needs no passage pointed out."""


def of_sentences(metric: str, text: str, found: Judgement) -> Evidence:
    """Show the sentences of the one text that was judged."""
    features = found.features
    worst = int(np.argmin(found.sentences)) if len(found.sentences) > 1 else -1
    sentences, marks = [], []
    last = int(features.ends[-1])
    for at, (start, end) in enumerate(zip(features.starts.tolist(), features.ends.tolist(), strict=True)):
        note = f"{found.sentences[at]:.2f}: {_told(text, found, at)}"
        sentences.append(Span(start, end, WORST if at == worst else SENTENCE, note, float(found.sentences[at])))
        sentence = text[start:end]
        marks += [Span(start + a, start + b, UNKNOWN) for a, b in unknown_marks(sentence)]
        if loose := loose_end(sentence, last=end == last):
            marks.append(Span(start + loose.place[0], start + loose.place[1], LOOSE, loose.why))
    many = "1 sentence" if len(sentences) == 1 else f"{len(sentences):,} sentences, the worst {found.worst[0]:.2f}"
    told = f"{many}; unknown words and loose ends: {len(marks):,}" if marks else many
    sections = (Section("sentences", "Sentences", tuple(sentences)), Section("marks", "Marks", tuple(marks)))
    return Evidence(metric, told, sections)


def _told(text: str, found: Judgement, at: int) -> str:
    """What the models say of a sentence; of one that is rather bad than good, also where in it fluency is least."""
    features = found.features
    acceptability, capped = (float(features.of_sentences[name][at]) for name in ("acceptability", "capped"))
    told = f"acceptable {1 / (1 + math.exp(-acceptability)):.2f}, fluency {capped:.2f}"
    start, end = features.passages[at]
    if found.sentences[at] >= _GOOD or 2 * (end - start) > features.ends[at] - features.starts[at]:
        return told
    return f"{told}, least in “{_whole_words(text, start, end)}”"


def _whole_words(text: str, start: int, end: int) -> str:
    """Some characters of a text, with the rest of the words at both ends."""
    while start and text[start - 1 : start + 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1 : end + 1].isalnum():
        end += 1
    return text[start:end]


def of_repetition(metric: str, sample: Sample) -> Evidence | None:
    """Show pairs of sentences that repeat each other, and what comes again inside a sentence or across them."""
    pairs = GruenRedundancy().evidence(sample)
    if pairs is None:
        return None
    text = sample.text
    words = [each for each in sentence_words(text, Batch([sample]).sentences()[0]) if each]
    ignored = function_words()
    grams = repeated_grams(words, 2, ignored, WITHIN)
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


def of_likeness(metric: str, found: Judgement, weak: float) -> Evidence:
    """Show the transitions of the one text that was judged."""
    places = list(zip(found.features.starts.tolist(), found.features.ends.tolist(), strict=True))
    values = found.features.likeness.tolist()[1:]
    transitions = tuple(Transition(*two, value) for two, value in zip(pairwise(places), values, strict=True))
    sections = transition_sections(transitions, weak, "likeness {:.2f}")
    if not transitions:
        told = "one sentence, so there is no transition to judge"
    else:
        many = "1 transition" if len(transitions) == 1 else f"{len(transitions):,} transitions"
        told = (
            f"{len(sections) - 1:,} of {many} weak: the meaning is less than {weak:.2f} like that of what came before"
        )
        if again := sum(map(math.isnan, values)):
            told += f"; {again:,} left out, where a sentence says again what came before"
    return Evidence(metric, told, sections)


def of_order(metric: str, text: str, orders: Orders) -> Evidence:
    """Show where the order of the one text that was judged looks wrong, and an opening that refers to nothing."""
    found = order_evidence(metric, orders)
    hanging = hanging_opening(text)
    if hanging is None:
        return found
    span = Span(*hanging.place, HANGING, hanging.why)
    sections = (Section("marks", "Hanging opening", (span,)), *found.sections)
    return replace(found, summary=f"{found.summary}; {hanging.why}", sections=sections)
