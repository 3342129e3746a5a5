"""The language of sentences and texts."""

from __future__ import annotations

import json
import lzma
import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.text.language import NAMES, identify, text_language

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=120)
DATA = Path(os.environ.get("CELADON_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.mark.parametrize(
    "sentence",
    [
        "The cat sat on the mat and looked at me.",
        "the cat sat on the mat and looked at me",
        "STOCKS FALL SHARPLY AS INVESTORS FLEE",
        "Real Madrid beat Bayern München in the final at Saint-Denis",
        "San Francisco, Los Angeles, El Paso, Santa Fe and San José",
        "We ate croissants, sauerkraut and gazpacho at the café near the Champs-Élysées.",
        "Use kubectl get pods --namespace=kube-system to list the pods.",
        "The cta sat on teh mat adn lookde at me.",
        "mat the sat on cat looked and me at the",
        "The word 日本語 means the Japanese language.",
        "-Vegetables: carrots, celery, broccoli, cauliflower, spinach, kale, tomatoes, peppers, onions, garlic",
    ],
)
def test_english_stays_english(sentence: str) -> None:
    assert identify(sentence).code == "en"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("es", "El gato se sentó en la alfombra y me miró."),
        ("fr", "Le chat était assis sur le tapis et me regardait."),
        ("de", "Der Hund läuft schnell durch den dunklen Wald."),
        ("it", "Il gatto era seduto sul tappeto e mi guardava."),
        ("pt", "O gato estava sentado no tapete e olhava para mim."),
        ("nl", "De kat zat op de mat en keek naar mij."),
        ("sv", "Katten satt på mattan och tittade på mig."),
        ("fi", "Kissa istui matolla ja katsoi minua pitkään."),
        ("pl", "Kot siedział na macie i patrzył na mnie."),
        ("cs", "Kočka seděla na rohožce a dívala se na mě."),
        ("hu", "A macska a szőnyegen ült, és engem nézett."),
        ("tr", "Kedi paspasın üzerinde oturuyordu ve bana bakıyordu."),
        ("id", "Kucing itu duduk di atas tikar dan melihat saya."),
        ("vi", "Con mèo ngồi trên tấm thảm và nhìn tôi."),
        ("ru", "Кошка сидела на коврике и смотрела на меня."),
        ("uk", "Кішка сиділа на килимку і дивилася на мене."),
        ("el", "Η γάτα καθόταν στο χαλί και με κοιτούσε."),
        ("ar", "جلست القطة على السجادة ونظرت إلي."),
        ("he", "החתול ישב על השטיח והביט בי."),
        ("hi", "बिल्ली चटाई पर बैठी और मुझे देखा।"),
        ("zh", "猫坐在垫子上看着我。"),
        ("ja", "猫がマットの上に座って私を見た。"),
        ("ko", "고양이가 매트 위에 앉아 나를 보았다."),
        ("th", "แมวนั่งอยู่บนเสื่อและมองมาที่ฉัน"),
    ],
)
def test_other_languages_are_named(code: str, sentence: str) -> None:
    language = identify(sentence)
    assert language.code == code
    assert language.name == NAMES[code]
    assert language.confidence > 0.9


@pytest.mark.parametrize(
    "sentence",
    [
        "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa na wote wamejaliwa akili.",
        "Kõik inimesed sünnivad vabadena ja võrdsetena oma väärikuselt ja õigustelt.",
        "Alle menslike wesens word vry, met gelyke waardigheid en regte, gebore.",
    ],
)
def test_a_language_without_a_table_is_not_english(sentence: str) -> None:
    assert identify(sentence).code not in ("en", "und")


@pytest.mark.parametrize("sentence", ["", " ", "12 34", "Hello!", "👍 🥳", "...", "OK then"])
def test_too_short_is_unknown(sentence: str) -> None:
    assert identify(sentence).code == "und"


@pytest.mark.parametrize(
    "sentence",
    [
        '"sha256": "8bfe29f17c10e2f2e619de8033a07a224058d96b3bfe2ed61777596f7ffd7fa9"',
        "uid: 05f8da22-d671-11e5-8cd0-68f728db1985",
        "- `gcr.io/kubernetes-e2e-test-images/nautilus:1.0`",
        "V1PodList list = api.listPodForAllNamespaces(null, null, null, null, null, null);",
    ],
)
def test_code_is_of_no_other_language(sentence: str) -> None:
    assert identify(sentence).code in ("en", "und")


ENGLISH = "The weather was fine and we went for a long walk."
SPANISH = "El tiempo era bueno y dimos un largo paseo."


@pytest.mark.parametrize(
    ("sentences", "code"),
    [
        ([ENGLISH] * 5, "en"),
        ([ENGLISH] * 9 + [SPANISH], "en"),
        ([ENGLISH, SPANISH], "mul"),
        ([SPANISH] * 5, "es"),
        ([SPANISH] * 9 + [ENGLISH], "es"),
        (["OK", "1.", "👍"], "und"),
        ([], "und"),
    ],
)
def test_the_language_of_a_text(sentences: list[str], code: str) -> None:
    language = text_language(sentences)
    assert language.code == code
    assert language.is_english == (code in ("en", "und"))
    assert sum(language.shares.values()) == pytest.approx(1 if language.shares else 0)
    assert list(language.shares.values()) == sorted(language.shares.values(), reverse=True)


@given(ANY)
def test_any_text_has_a_language(text: str) -> None:
    language = identify(text)
    assert language.name == NAMES[language.code]
    assert 0 <= language.confidence <= 1
    assert language == identify(text)


@pytest.mark.parametrize("unit", ["a", "a ", "xq ", "Xq-", "é", "語", "ж ", "'", "q'", "a-", "\u0301", "."])
def test_time_is_linear(unit: str) -> None:
    begin = time.process_time()
    identify((unit * 1_000_000)[:1_000_000])
    assert time.process_time() - begin < 10


@pytest.mark.parametrize("name", ["dialogue_sgd", "fiction_gutenberg", "gum_dev"])
def test_documents_of_several_genres_are_english(name: str) -> None:
    from celadon.text.sentence_splitter import split_sentences

    path = DATA / "genres" / f"{name}.jsonl.xz"
    if not path.exists():
        pytest.skip(f"no {path}; set CELADON_DATA to the folder that holds genres/{path.name}")
    with lzma.open(path, "rt", encoding="utf-8") as rows:
        texts = [row.get("text") or "\n".join(row["turns"]) for row in map(json.loads, rows)]
    generator = random.Random(0)
    for text in generator.sample(texts, min(100, len(texts))):
        sentences = [text[start:end] for start, end in split_sentences(text)]
        shuffled = [" ".join(generator.sample(words, len(words))) for words in map(str.split, sentences)]
        assert text_language(sentences).is_english
        assert text_language(shuffled).is_english
        assert text_language(map(str.lower, sentences)).is_english
