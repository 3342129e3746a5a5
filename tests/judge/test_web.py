"""The pages as a client sees them: ways through, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from celadon.judge.config import DESIGNS
from celadon.judge.experiment import Experiment
from celadon.judge.store import Answer, Store
from tests.judge.conftest import MakeExperiment, item_rows
from tests.judge.visitors import TOKEN, Visitor, client_of, log_in

VALUES = {"likert": "3", "duc": "3", "magnitude": "2,5", "pairwise": "1", "postedit": "Repaired."}


@pytest.fixture
def experiment(made: MakeExperiment) -> Experiment:
    return made("likert", ratings_per_item=4)


@pytest.fixture
def store(experiment: Experiment) -> Iterator[Store]:
    opened = Store(experiment)
    yield opened
    opened.close()


@pytest.fixture
def visitor(experiment: Experiment, store: Store) -> Visitor:
    return Visitor(client_of(experiment, store), experiment, store)


def test_a_stranger_is_welcome_and_sees_no_item(visitor: Visitor) -> None:
    for method in ("GET", "HEAD"):
        response = visitor.client.request(method, "/")
        assert response.status_code == 200
        assert not any(item.text in response.text for item in visitor.experiment.items)
    assert "A study of texts" in visitor.client.get("/").text
    assert visitor.client.head("/").content == b""
    for path in ("/task", "/task/1", "/consent", "/done", "/p/guess", "/join/guess"):
        response = visitor.client.get(path)
        assert response.status_code == 404
        assert "text of system" not in response.text


@pytest.mark.parametrize("design", DESIGNS)
def test_from_link_to_code(made: MakeExperiment, design: str) -> None:
    experiment = made(design)
    store = Store(experiment)
    visitor = Visitor(client_of(experiment, store), experiment, store)
    code = visitor.finish(VALUES[design])
    assert code == experiment.keys.code(visitor.id)
    trials = [kept for kept in store.way(visitor.id) if kept.page.kind == "trial"]
    shown = sum(len(experiment.units(kept.page)) for kept in trials) * len(experiment.config.questions)
    positions = {kept.position for kept in trials}
    ratings = [rating for rating in store.all_ratings() if rating.position in positions]
    assert len(ratings) == shown
    assert all(kept.seconds is not None for kept in trials)
    expected = {
        "likert": Answer(3.0),
        "duc": Answer(3.0),
        "magnitude": Answer(2.5),
        "postedit": Answer(None, "Repaired."),
    }
    if design == "pairwise":
        # the first text was chosen throughout, whichever of the two it was
        chosen = {rating.position: rating.answer.text for rating in ratings}
        assert all(chosen[kept.position] == kept.page.items[0] for kept in trials)
    else:
        assert {rating.answer for rating in ratings} == {expected[design]}
    store.close()


def test_it_goes_on_where_the_person_left_off(visitor: Visitor) -> None:
    first = visitor.reach_first_trial()
    visitor.answer(first)
    again = Visitor(client_of(visitor.experiment, visitor.store), visitor.experiment, visitor.store)
    again.link = visitor.link
    again.client.get(f"/p/{visitor.link}")
    assert again.client.get("/task").headers["location"] == f"/task/{first + 1}"
    # not further, and what was said is still there to be changed
    assert again.client.get(f"/task/{first + 2}").headers["location"] == f"/task/{first + 1}"
    before = again.client.get(f"/task/{first}").text
    assert before.count(" checked") == len(visitor.fields(first, "3")) - 1
    assert "You are changing answers" in before


def test_an_incomplete_page_says_what_is_missing_and_keeps_the_rest(visitor: Visitor) -> None:
    first = visitor.reach_first_trial()
    fields = visitor.fields(first, "6")
    fields.pop("0.quality")
    before = visitor.store.all_ratings()
    response = visitor.client.post(f"/task/{first}", data=fields)
    assert response.status_code == 422
    assert 'id="0.quality-problem"' in response.text
    assert response.text.count(" checked") == len(fields) - 1
    assert visitor.store.all_ratings() == before


def test_a_value_off_the_scale_is_no_answer(visitor: Visitor) -> None:
    first = visitor.reach_first_trial()
    for value in ("0", "8", "-1", "3.5", "x", "", " ", "1e3", "٣", "9" * 400):
        assert visitor.answer(first, value).status_code == 422, value
    assert visitor.answer(first, "7").status_code == 303


def test_magnitudes_are_numbers_above_zero(made: MakeExperiment) -> None:
    experiment = made("magnitude")
    store = Store(experiment)
    visitor = Visitor(client_of(experiment, store), experiment, store)
    visitor.agree()
    visitor.answer(0)
    for bad in ("0", "-3", "1,000", "ten", "1e9", "nan", "inf", "", "1.2.3", "0.0", "9" * 20):
        assert visitor.answer(1, bad).status_code == 422, bad
    assert store.all_ratings() == ()
    for value, number in (("100", 100.0), (" 2.5 ", 2.5), ("2,5", 2.5), (".5", 0.5), ("1000", 1000.0)):
        assert visitor.answer(1, value).status_code == 303
        assert [rating.answer.number for rating in store.all_ratings()] == [number]
    store.close()


def test_an_untouched_text_must_be_said_to_need_no_repair(made: MakeExperiment) -> None:
    experiment = made("postedit")
    store = Store(experiment)
    visitor = Visitor(client_of(experiment, store), experiment, store)
    first = visitor.reach_first_trial()
    text = experiment.content(store.way(visitor.id)[first].page).texts[0].text
    fields = visitor.fields(first, text)
    response = visitor.client.post(f"/task/{first}", data=fields)
    assert response.status_code == 422
    assert "You have not changed the text" in response.text
    assert visitor.client.post(f"/task/{first}", data={**fields, "0.repair.unchanged": "on"}).status_code == 303
    assert store.answers(visitor.id, first) == {
        (store.way(visitor.id)[first].page.items[0], "repair"): Answer(None, text)
    }
    assert visitor.client.get(f"/task/{first}").text.count(" checked") == 1
    store.close()


def test_the_open_link_lets_people_in_until_there_are_enough(made: MakeExperiment) -> None:
    experiment = made("likert", ratings_per_item=2)
    store = Store(experiment)
    path = f"/join/{experiment.keys.join_token}"
    for number in range(2):
        client = client_of(experiment, store)
        page = client.get(f"{path}?PROLIFIC_PID=person{number}").text
        data = {"form_token": TOKEN.findall(page)[0], "person": f"person{number}"}
        assert f'value="person{number}"' in page
        assert client.post(path, data=data).headers["location"] == "/task"
        assert client.get("/task").headers["location"] == "/task/0"
        # the same person again, in this browser and in another
        assert client.get(path).headers["location"] == "/task"
        assert client.post(path, data=data).headers["location"] == "/task"
        assert client_of(experiment, store).post(path, data=data).status_code == 409
    assert "has all the answers it needs" in client_of(experiment, store).get(path).text
    late = Visitor(client_of(experiment, store), experiment, store)
    late.client.get(f"/p/{late.link}")
    assert "has all the answers it needs" in late.client.get("/consent").text
    data = {"form_token": experiment.keys.form_token(late.link)}
    assert "has all the answers it needs" in late.client.post("/consent", data=data).text
    assert len(store.people()) == 2
    database = b"".join(file.read_bytes() for file in experiment.folder.glob("answers.sqlite*"))
    assert b"person0" not in database
    store.close()


def test_a_code_and_a_way_back_may_be_the_platforms(made: MakeExperiment) -> None:
    experiment = made("duc", code="C0FFEE", url="https://platform.example/done?cc={code}&x=1")
    store = Store(experiment)
    visitor = Visitor(client_of(experiment, store), experiment, store)
    assert visitor.finish() == "C0FFEE"
    assert 'href="https://platform.example/done?cc=C0FFEE&amp;x=1"' in visitor.client.get("/done").text
    store.close()


def test_other_languages_have_their_own_marks(made: MakeExperiment) -> None:
    rows = [{"id": "1", "text": "هذا نص عربي.", "lang": "ar"}, {"id": "2", "text": "これは文です。", "lang": "ja"}]
    experiment = made("duc", rows, language="he")
    store = Store(experiment)
    visitor = Visitor(client_of(experiment, store), experiment, store)
    first = visitor.reach_first_trial()
    for position, page in ((at, store.way(visitor.id)[at].page) for at in (first, first + 1)):
        text = visitor.client.get(f"/task/{position}").text
        if page.kind != "trial":
            continue
        assert '<html lang="he" dir="rtl">' in text
        item = experiment.by_key[page.items[0]]
        assert re.search(rf'<p class="text" lang="{item.language}" dir="auto">{item.text}</p>', text)
        visitor.answer(position)
    store.close()


def test_words_may_be_the_experiments_own(made: MakeExperiment) -> None:
    experiment = made()
    path = experiment.folder / "experiment.toml"
    path.write_text(
        path.read_text(encoding="utf-8") + '\n[words]\nnext = "Weiter"\npage_of = "{page} von {pages}, {x}"\n'
    )
    from celadon.judge.experiment import open_experiment

    changed = open_experiment(experiment.folder)
    store = Store(changed)
    visitor = Visitor(client_of(changed, store), changed, store)
    visitor.agree()
    visitor.answer(0)
    page = visitor.client.get("/task/1").text
    assert "<button>Weiter</button>" in page
    assert "2 von 7, {x}" in page
    store.close()


def test_the_researcher_sees_how_it_stands_and_takes_the_answers_away(made: MakeExperiment) -> None:
    from celadon.judge.experiment import open_experiment, renew_admin_token

    experiment = made("likert", rows=item_rows())
    token = renew_admin_token(experiment)
    experiment = open_experiment(experiment.folder)
    store = Store(experiment)
    people = [Visitor(client_of(experiment, store), experiment, store) for _ in range(3)]
    code = people[0].finish("5")
    people[1].finish("2")
    people[2].agree()
    researcher = client_of(experiment, store)
    assert researcher.get("/admin").headers["location"] == "/admin/login"
    assert log_in(researcher, f" {token}\n").headers["location"] == "/admin"
    page = researcher.get("/admin").text
    assert re.search(r"People who finished</dt><dd>2 <small>of 10", page)
    # one gave 5 where the check asked for 2, both gave the same answer throughout and took no time
    rows = dict(re.findall(r'<th scope="row">(P\w+)</th>.*?<td class="words">([^<]+)', page))
    assert "failed 1 of 1 checks" in rows[people[0].id]
    assert "failed" not in rows[people[1].id]
    assert "the same answer throughout" in rows[people[1].id]
    assert rows[people[2].id] == "none"
    assert f"<td>{code}</td>" in page
    for kind, begins in {"csv": b"participant,", "jsonl": b'{"participant"', "parquet": b"PAR1"}.items():
        response = researcher.get(f"/admin/export.{kind}")
        assert response.status_code == 200
        assert response.content.startswith(begins)
        assert response.headers["content-disposition"] == f'attachment; filename="answers.{kind}"'
    assert researcher.get("/admin/export.exe").status_code == 404
    data = {"form_token": TOKEN.findall(page)[0], "count": "3"}
    made_links = re.findall(r"http://testserver/p/([\w-]{43})", researcher.post("/admin/links", data=data).text)
    assert len(made_links) == 3
    assert all(store.participant(link) is not None for link in made_links)
    assert researcher.post("/admin/links", data={**data, "count": "1001"}).status_code == 422
    assert researcher.post("/admin/logout", data=data).headers["location"] == "/admin/login"
    assert researcher.get("/admin").status_code == 303
    store.close()
