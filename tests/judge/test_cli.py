"""``celadon judge`` as a user runs it."""

from __future__ import annotations

import http.client
import json
import re
import sys
import time
from pathlib import Path

import pytest

from celadon.cli import main
from celadon.judge.experiment import open_experiment
from tests import processes
from tests.judge.conftest import MakeExperiment, item_rows
from tests.judge.crowd import Server


@pytest.fixture
def items(tmp_path: Path) -> str:
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in item_rows()), encoding="utf-8")
    return str(path)


def test_from_items_to_export(tmp_path: Path, items: str, capsys: pytest.CaptureFixture[str]) -> None:
    study = str(tmp_path / "study")
    assert main(["judge", "new", study, "--items", items, "--design", "likert", "--title", 'A "new" study']) == 0
    printed = capsys.readouterr().out
    assert "12 items in 4 cells; 10 people with 4 pages each" in printed
    token = re.findall(r"token, shown only now: (\S+)", printed)[0]
    experiment = open_experiment(Path(study))
    assert experiment.config.title == 'A "new" study'
    assert experiment.keys.is_admin_token(token)
    assert main(["judge", "links", study, "--count", "3", "--site", "https://x.example/"]) == 0
    links = capsys.readouterr().out.split()
    assert len(set(links)) == 3
    assert all(re.fullmatch(r"https://x\.example/p/[\w-]{43}", link) for link in links)
    assert main(["judge", "links", study]) == 0
    assert capsys.readouterr().out.strip() == f"/join/{experiment.keys.join_token}"
    assert main(["judge", "show", study]) == 0
    assert "0 of 10 people finished" in capsys.readouterr().out
    assert main(["judge", "token", study]) == 0
    assert not open_experiment(Path(study)).keys.is_admin_token(token)
    assert main(["judge", "export", study, "--output", str(tmp_path / "a.csv")]) == 0
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").startswith("participant,place,page,on_page,cell,item")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["new", "{study}", "--items", "{items}", "--design", "likert"], 2, "is there already"),
        (["new", "{new}", "--items", "{items}", "--design", "guess"], 2, "unknown design 'guess'"),
        (["new", "{new}", "--items", "nothing.jsonl", "--design", "duc"], 2, "nothing.jsonl"),
        (["new", "/proc/no/such", "--items", "{items}", "--design", "duc"], 4, "/proc/no/such"),
        (["serve", "{new}"], 2, "there is no such folder"),
        (["serve", "{study}", "--port", "99999"], 2, "is no port"),
        (["serve", "{study}", "--host", "203.0.113.7"], 2, "cannot listen on"),
        (["links", "{study}", "--again", "P0"], 2, "there is no person 'P0'"),
        (["analyse", "{study}"], 2, "there are no answers yet"),
        (["export", "{study}", "--output", "answers.xlsx"], 2, "unknown format 'xlsx'; known: csv, jsonl, parquet"),
        (["export", "{study}", "--output", "/proc/no/a.csv"], 4, "/proc/no"),
        (["show", "{study}", "--database", "postgresql://me:hidden@127.0.0.1:1/x"], 1, "does not answer"),
    ],
)
def test_what_a_user_gets_wrong_is_one_line(
    made: MakeExperiment,
    tmp_path: Path,
    items: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    folder = made("duc").folder
    given = [one.format(study=folder, new=tmp_path / "new", items=items) for one in arguments]
    assert main(["judge", *given]) == code
    complaint = capsys.readouterr().err
    assert message in complaint
    assert complaint.count("\n") == 1
    assert "hidden" not in complaint
    assert not (tmp_path / "new").exists()


def test_the_server_ends_when_it_is_told_to_and_keeps_no_secret_in_its_log(made: MakeExperiment) -> None:
    from celadon.judge.store import Store

    experiment = made("duc")
    store = Store(experiment)
    link = store.new_links(1)[0]
    server = Server(experiment.folder, None, "--behind-proxy", "127.0.0.1")
    server.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    for path in (f"/p/{link}", "/consent", f"/p/{link}x", f"/join/{experiment.keys.join_token}", "/admin"):
        connection.request("GET", path, headers={"cookie": f"celadon-judge={link}"})
        response = connection.getresponse()
        response.read()
        assert response.headers["content-security-policy"]
        assert "server" not in response.headers
    # what the proxy says of https is believed
    connection.request("GET", f"/p/{link}", headers={"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.1"})
    cookie = connection.getresponse().headers["set-cookie"]
    assert cookie.startswith("__Host-celadon-judge=")
    assert "Secure" in cookie
    store.close()
    assert server._process is not None
    server._process.terminate()
    server._process.wait(20)
    server.close()
    log = (experiment.folder / "server.log").read_text(encoding="utf-8")
    assert f"http://127.0.0.1:{server.port}" in log
    assert not any(secret in log for secret in (link, experiment.keys.join_token, "192.0.2.1", "Traceback"))


def test_help_is_instant_and_needs_no_extra() -> None:
    slow = ("sqlalchemy", "fastapi", "jinja2", "uvicorn", "numpy")
    code = (
        f"import sys; from celadon.cli import parser; parser('judge'); sys.exit(bool(set({slow!r}) & set(sys.modules)))"
    )
    begun = time.perf_counter()
    assert processes.run([sys.executable, "-c", code], check=False).returncode == 0
    assert time.perf_counter() - begun < 20
