"""What is tried by those who mean no good, and what each attempt gets."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from celadon.judge.experiment import Experiment, open_experiment, renew_admin_token
from celadon.judge.store import Store
from celadon.judge.web.app import make_app, make_routes
from celadon.judge.web.site import Site
from celadon.web.security import HEADERS, RateLimit
from tests.judge.conftest import MakeExperiment, served
from tests.judge.visitors import TOKEN, Visitor, client_of, log_in

SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)> \"'&{{7*7}}</p>"
SQL = "3'; DROP TABLE ratings; --"


@pytest.fixture
def experiment(made: MakeExperiment) -> Experiment:
    rows = [
        {"id": f"{number}", "cell": SCRIPT, "system": SCRIPT, "text": f"{number} {SCRIPT}", "context": SCRIPT}
        for number in range(3)
    ]
    return made("likert", rows)


@pytest.fixture
def store(experiment: Experiment) -> Iterator[Store]:
    opened = Store(experiment)
    yield opened
    opened.close()


@pytest.fixture
def victim(experiment: Experiment, store: Store) -> Visitor:
    found = Visitor(client_of(experiment, store), experiment, store)
    found.answer(found.reach_first_trial(), "6")
    return found


@pytest.fixture
def attacker(experiment: Experiment, store: Store) -> Visitor:
    found = Visitor(client_of(experiment, store), experiment, store)
    found.reach_first_trial()
    return found


def strict(response: Any) -> bool:
    """Whether a response has every header of safety, and nothing of the machinery in its text."""
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    return all(name in response.headers for name in HEADERS) and "Traceback" not in response.text


def test_every_response_has_the_headers(victim: Visitor, experiment: Experiment, store: Store) -> None:
    client = victim.client
    seen = {}
    for method, path, options in (
        ("GET", "/", {}),
        ("HEAD", "/", {}),
        ("GET", "/task", {}),
        ("GET", "/static/style.css", {}),
        ("HEAD", "/static/judge.js", {}),
        ("GET", "/nothing", {}),
        ("HEAD", "/nothing", {}),
        ("DELETE", "/", {}),
        ("HEAD", "/admin/logout", {}),
        ("POST", "/consent", {"content": b"x" * 300_000}),
        ("POST", "/consent", {"content": b"x"}),
        ("POST", "/consent", {"data": {"form_token": "x"}}),
        ("POST", "/task/2", {"data": {"form_token": victim.token}}),
        ("GET", "/admin/export.csv", {}),
    ):
        response = client.request(method, path, **options)
        assert strict(response), (method, path)
        seen[response.status_code] = path
        if method == "HEAD":
            assert response.content == b""
    assert set(seen) == {200, 303, 403, 404, 405, 413, 415, 422}
    assert "no-store" in client.get("/task/1").headers["cache-control"]


def test_a_crash_tells_nothing(victim: Visitor, experiment: Experiment, store: Store) -> None:
    client = client_of(experiment, store, raise_server_exceptions=False)
    client.get(f"/p/{victim.link}")

    def broken(person: str) -> None:
        raise RuntimeError("the password is 1234")

    store.way = broken  # type: ignore[method-assign, assignment]
    response = client.get("/task")
    assert response.status_code == 500
    assert strict(response)
    assert "1234" not in response.text


def test_anothers_link_cannot_be_guessed_from_ones_own(victim: Visitor, attacker: Visitor) -> None:
    for guess in (victim.id, victim.link[:-1], victim.link.swapcase(), victim.link + "x", "%00", "' OR 1=1 --"):
        assert attacker.client.get(f"/p/{guess}").status_code == 404
    # the pages of both go by the same addresses: each sees their own
    first = attacker.client.get("/task/2").text
    assert " checked" not in first
    assert victim.id not in first
    assert victim.link not in first


def test_a_forged_form_is_refused_and_changes_nothing(victim: Visitor, attacker: Visitor) -> None:
    fields, before = victim.fields(2, "1"), victim.store.all_ratings()
    for forged in ("", attacker.token, victim.token[:-1], victim.token.upper(), "0" * 64, "é\udcff", victim.link):
        sent = {**fields, "form_token": forged.encode("utf-8", "surrogatepass")}
        assert victim.client.post("/task/2", data=sent).status_code == 403
    assert victim.client.post("/task/2", data={k: v for k, v in fields.items() if k != "form_token"}).status_code == 403
    # somebody else's form, although it is a good one, with this person's cookie
    assert victim.client.post("/task/2", data=attacker.fields(2, "1")).status_code == 403
    assert victim.store.all_ratings() == before


def test_html_in_items_is_text(attacker: Visitor) -> None:
    page = attacker.client.get("/task/2").text
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in page
    assert "{{7*7}}" in page
    assert not re.search(r"<script(?! src=\"/static/judge.js\" defer>)|<img|onerror=alert\(1\)>", page)


def test_sql_in_fields_is_text(victim: Visitor, made: MakeExperiment) -> None:
    assert victim.answer(2, SQL).status_code == 422
    assert victim.client.get(f"/p/{SQL}").status_code == 404
    experiment = made("postedit")
    store = Store(experiment)
    writer = Visitor(client_of(experiment, store), experiment, store)
    position = writer.reach_first_trial()
    assert writer.answer(position, f"{SQL}\0\x1b").status_code == 303
    answer = next(iter(store.answers(writer.id, position).values()))
    assert answer.text == f"{SQL}␀␛"
    store.close()
    assert len(victim.store.all_ratings()) > 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"form_token=" + b"x" * 300_000, 413),
        (b"&".join(b"f%d=1" % number for number in range(400)), 400),
        (b"%" * 1000, 403),
        (b"\xff\xfe\x00", 403),
        (b"", 403),
    ],
)
def test_oversized_and_broken_posts(victim: Visitor, content: bytes, status: int) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for path in ("/task/2", "/consent"):
        assert victim.client.post(path, content=content, headers=headers).status_code == status
    # without saying how long it is
    parts = (content[at : at + 50_000] for at in range(0, max(len(content), 1), 50_000))
    assert victim.client.post("/task/2", content=parts, headers=headers).status_code == status


def test_a_replay_changes_nothing(victim: Visitor) -> None:
    before = victim.store.all_ratings()
    for _ in range(3):
        assert victim.answer(2, "6").status_code == 303
    assert victim.store.all_ratings() == before
    for position in range(3, len(victim.store.way(victim.id))):
        victim.answer(position, "6")
    done = victim.store.all_ratings()
    for position in range(len(victim.store.way(victim.id))):
        assert victim.answer(position, "1").headers["location"] == "/done"
    assert victim.store.all_ratings() == done


def test_half_a_form_is_no_answer(victim: Visitor, experiment: Experiment, store: Store) -> None:
    """The connection is lost in the middle of a post: what came is not taken for the whole."""
    app, before, sent = make_app(experiment, store), store.all_ratings(), []
    body = "&".join(f"{name}={value}" for name, value in victim.fields(2, "1").items()).encode()
    messages = [{"type": "http.request", "body": body, "more_body": True}, {"type": "http.disconnect"}]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [
        (b"cookie", f"celadon-judge={victim.link}".encode()),
        (b"content-type", b"application/x-www-form-urlencoded"),
    ]
    scope = {"type": "http", "method": "POST", "path": "/task/2", "raw_path": b"/task/2", "query_string": b""}
    scope |= {"headers": headers, "scheme": "http", "server": ("x", 80), "client": ("y", 1), "http_version": "1.1"}
    # in a thread of its own: a browser of another test may have a loop in this one
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    assert sent == []
    assert store.all_ratings() == before


def test_nothing_of_the_researchers_is_a_participants(victim: Visitor, experiment: Experiment) -> None:
    client = victim.client
    assert client.get("/admin").headers["location"] == "/admin/login"
    assert client.get("/admin/export.csv").status_code == 403
    for path in ("/admin/links", "/admin/logout"):
        assert client.post(path, data={"form_token": victim.token, "count": "1"}).status_code == 403
    until, nonce, signature = experiment.keys.admin_session().split(".")
    for forged in (
        victim.link,
        f"99999999999.{nonce}.{signature}",
        f"{until}.{nonce}.{'0' * 64}",
        f"nan.{nonce}.",
        "é",
    ):
        cookie = f"celadon-judge-admin={forged}".encode()
        assert client.get("/admin/export.csv", headers={"cookie": cookie}).status_code == 403
    assert log_in(client, experiment.keys.admin_sha256).status_code == 403


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time passes between requests, however slow the machine is."""
    monkeypatch.setattr(RateLimit.__init__, "__defaults__", (lambda: 0.0,))


@pytest.mark.usefixtures("frozen")
def test_guessing_the_token_is_slow(experiment: Experiment, store: Store) -> None:
    token = renew_admin_token(experiment)
    experiment = open_experiment(experiment.folder)
    client = client_of(experiment, store)
    statuses = [log_in(client, f"guess {n}").status_code for n in range(15)]
    assert statuses == [403] * 10 + [429] * 5
    assert log_in(client, token).status_code == 429


def test_the_researcher_cannot_be_logged_in_by_another_site(experiment: Experiment, store: Store) -> None:
    token = renew_admin_token(experiment)
    experiment = open_experiment(experiment.folder)
    visitors = [client_of(experiment, store) for _ in range(2)]
    form_tokens = [TOKEN.findall(client.get("/admin/login").text)[0] for client in visitors]
    # no token of the form, made up, and one that somebody else was given
    for forged in ("", "0" * 64, form_tokens[1]):
        response = visitors[0].post("/admin/login", data={"form_token": forged, "token": token})
        assert response.status_code == 403
        assert "celadon-judge-admin" not in response.headers["set-cookie"]
    # without the cookie of the visit its form is worth nothing
    stranger = client_of(experiment, store)
    assert stranger.post("/admin/login", data={"form_token": form_tokens[0], "token": token}).status_code == 403
    assert log_in(visitors[0], token).headers["location"] == "/admin"


def test_what_is_no_http_is_refused_with_the_headers_too(experiment: Experiment, store: Store) -> None:
    with served(make_app(experiment, store)) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        for nonsense in (
            b"\x16\x03\x01 hello\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET /\x00 HTTP/1.1\r\nhost: x\r\n\r\n",
        ):
            with socket.create_connection((host, int(port)), 10) as connection:
                connection.sendall(nonsense)
                answer = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
            head, _, body = answer.partition("\r\n\r\n")
            assert head.startswith("HTTP/1.1 400 Bad Request")
            given = dict(line.split(": ", 1) for line in head.splitlines()[1:])
            assert HEADERS.items() <= given.items()
            assert "hello" not in body


@pytest.mark.usefixtures("frozen")
def test_a_flood_is_stopped_person_by_person(made: MakeExperiment) -> None:
    experiment = made("duc")
    path = experiment.folder / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8") + "\n[limits]\nrequests_per_minute = 20\n", encoding="utf-8")
    experiment = open_experiment(experiment.folder)
    store = Store(experiment)
    client = client_of(experiment, store)
    flooder, other = Visitor(client, experiment, store), Visitor(client_of(experiment, store), experiment, store)
    flooder.agree()
    statuses = [client.get("/task").status_code for _ in range(30)]
    # two of the twenty were used to enter
    assert statuses == [303] * 18 + [429] * 12
    assert client.get("/task").headers["retry-after"] == "30"
    assert strict(client.get("/task"))
    other.client = client
    client.cookies.clear()
    other.agree()
    assert client.get("/task").status_code == 303
    # a new name each time is no way around it
    stranger = [client.get("/", headers={"cookie": f"celadon-judge=made-up-{n}"}).status_code for n in range(90)]
    assert stranger[-1] == 429
    assert 60 < stranger.count(200) < 80
    store.close()


def test_a_limit_is_a_rate_and_forgets() -> None:
    now = [0.0]
    limit = RateLimit(60, clock=lambda: now[0])
    assert [limit.allows("a") for _ in range(61)] == [True] * 60 + [False]
    assert limit.allows("b")
    now[0] += 2.0
    assert [limit.allows("a") for _ in range(3)] == [True, True, False]
    for number in range(30_000):
        limit.allows(str(number))
    assert len(limit._buckets) <= 20_000


def test_cookies_are_for_this_site_and_behind_https_for_https_only(experiment: Experiment, store: Store) -> None:
    link = store.new_links(1)[0]
    for site, name, secure in (("http://x", "celadon-judge", False), ("https://x", "__Host-celadon-judge", True)):
        client = client_of(experiment, store, site)
        response = client.get(f"/p/{link}")
        cookie = response.headers["set-cookie"]
        assert cookie.startswith(f"{name}={link};")
        assert ("Secure" in cookie) == secure
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/" in cookie
        assert client.get("/consent").status_code == 200
        assert ("strict-transport-security" in response.headers) == secure


NASTY = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", ".", "..", "%00", "%2e%2e/", "0", "-1", "1" * 30, SQL, SCRIPT, "\u202e", "a\r\nx: y", "٣"]),
)


REQUESTS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET", "HEAD", "POST", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"]),
        "route": st.integers(0, 99),
        "values": st.lists(NASTY, min_size=1, max_size=3),
        "query": st.dictionaries(NASTY, NASTY, max_size=3),
        "form": st.dictionaries(st.one_of(NASTY, st.sampled_from(["0.quality", "token", "count"])), NASTY, max_size=4),
        "raw": st.one_of(st.none(), st.none(), st.binary(max_size=60)),
        "kind": st.sampled_from(
            ["application/x-www-form-urlencoded"] * 3 + ["multipart/form-data; boundary=x", "application/json", ""]
        ),
        "signed": st.booleans(),
        "who": st.sampled_from(["nobody", "person", "garbage", "researcher"]),
    }
)


def as_bytes(pairs: dict[str, str]) -> dict[bytes, bytes]:
    return {name.encode("utf-8", "replace"): value.encode("utf-8", "replace") for name, value in pairs.items()}


def test_no_request_to_any_route_fails_inside(victim: Visitor, experiment: Experiment, store: Store) -> None:
    """Any method, path, query, form, body and cookie: refused or answered, never a crash, always with its headers."""
    paths = sorted(make_routes(Site(experiment, store)).openapi()["paths"])
    assert len(paths) >= 13
    client = client_of(experiment, store)
    session = experiment.keys.admin_session()
    cookies = {
        "nobody": ("", ""),
        "garbage": (f"celadon-judge={'x' * 500}", ""),
        "person": (f"celadon-judge={victim.link}", victim.token),
        "researcher": (f"celadon-judge-admin={session}", experiment.keys.form_token(session)),
    }
    statuses: set[int] = set()
    # which requests are drawn depends on hypothesis; few of them lead to another page
    redirected: dict[str, Any] = {
        "method": "GET",
        "route": paths.index("/consent"),
        "values": [""],
        "query": {},
        "form": {},
        "raw": None,
        "kind": "",
        "signed": False,
        "who": "person",
    }

    @settings(
        max_examples=120,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @example(redirected)
    @given(REQUESTS)
    def try_one(request: dict[str, Any]) -> None:
        values = iter(request["values"] * 3)
        path = paths[request["route"] % len(paths)]
        path = re.sub(r"\{\w+\}", lambda _: quote(next(values), safe="", errors="replace"), path)
        cookie, token = cookies[request["who"]]
        form = {**as_bytes(request["form"]), **({b"form_token": token.encode()} if request["signed"] else {})}
        content = urlencode(form).encode() if request["raw"] is None else request["raw"]
        headers = {"content-type": request["kind"], "cookie": cookie}
        target = f"{path}?{urlencode(as_bytes(request['query']))}"
        response = client.request(request["method"], target, content=content, headers=headers)
        assert response.status_code < 500, (request["method"], target, response.status_code)
        assert strict(response)
        statuses.add(response.status_code)

    try_one()
    assert {200, 303, 403, 404, 405} <= statuses
