"""Datasets of the Hugging Face Hub: the real client and command, against a server that speaks the hub's interface."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from celadon.cli import main
from celadon.io.remote import expand_url, open_url, put_file, put_files, remove_urls, sizes_below
from tests.conftest import missing_part
from tests.runs.hub_server import Hub
from tests.runs.remote_parts import lines_of, local_shards, parquet_of, run_line, shards_of, table_of
from tests.runs.run_parts import make_rows, run_of

try:
    from huggingface_hub import HfFileSystem, constants
except ImportError:
    missing_part("huggingface_hub", "run: celadon install hf")

ROWS = make_rows(100)
FILES = {
    "data/a.parquet": parquet_of(ROWS[:60]),
    "data/b.parquet": parquet_of(ROWS[60:]),
    "data/c.jsonl": lines_of(ROWS),
    **{f"more/{number}.txt": b"nothing" for number in range(7)},
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The server, with a dataset to read and one to write to; the environment leads there."""
    home = tmp_path_factory.mktemp("home")
    with Hub() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in (("HF_ENDPOINT", server.url), ("HF_HUB_DISABLE_XET", "1")):
            patch.setenv(name, value)
        # what the client has read from the environment if an earlier test has loaded it
        patch.setattr(constants, "ENDPOINT", server.url)
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("/{repo_id}")[1:]
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + "".join(template))
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        patch.setenv("HF_TOKEN", "hf_writer")
        patch.setenv("CELADON_HOME", str(home))
        patch.setattr("celadon.io.hub._FIRST_WAIT", 0.02)
        server.dataset("user/name", FILES).branches["old"] = [{"data/a.parquet": parquet_of(ROWS[:9])}]
        server.dataset("user/secret", {"a.jsonl": lines_of(ROWS)}, private=True)
        server.dataset("user/out")
        HfFileSystem.clear_instance_cache()
        yield server
        HfFileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("user/name/data/*.parquet", ROWS),
        ("user/name/data/c.jsonl", ROWS),
        ("user/name@main/data/[b].parquet", ROWS[60:]),
        ("user/name@old/data/a.parquet", ROWS[:9]),
        ("user/secret/a.jsonl", ROWS),
    ],
)
@pytest.mark.usefixtures("hub")
def test_datasets_are_read(source: str, rows: list[dict[str, object]], tmp_path: Path) -> None:
    output = tmp_path / "scored.jsonl"
    assert main(["score", f"hf://datasets/{source}", "-m", "rouge1", "-o", str(output)]) == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == [row["id"] for row in rows]


def test_scores_are_written_to_a_branch(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    hub.repositories["datasets", "user/out"].branches["drafts"] = [{}]
    address = "hf://datasets/user/out@drafts/scored.jsonl"
    assert main(["score", "hf://datasets/user/name/data/b.parquet", "-m", "rouge1", "-o", address]) == 0
    assert f"wrote {address}" in capsys.readouterr().err
    (scored,) = hub.files("user/out", "", "drafts").values()
    assert [json.loads(line)["id"] for line in scored.splitlines()] == [row["id"] for row in ROWS[60:]]


def test_a_run_that_the_hub_stops_goes_on(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The hub takes so many commits an hour; after that the same command goes on, to the bytes of a local run."""
    line = run_line("hf://datasets/user/name/data/*.parquet", "hf://datasets/user/out/run/", "--shard-rows", "15")
    hub.commits_left, hub.conflicts = 5, 1
    assert main(line) == 4
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("celadon: hf://datasets/user/out/run/")
    assert "(128 per hour). You can retry this action in 43 minutes. The same command goes on from there" in told
    before = hub.files("user/out", "run/")
    whole = [name for name in before if name.startswith("shards/") and name.endswith(".json")]
    # the manifest, and a commit a shard
    assert len(whole) == 4
    assert len(before) == 1 + 3 * 4

    hub.commits_left = None
    assert main(line) == 0
    assert f"{len(whole)} of 7 shards are there; going on" in capsys.readouterr().err
    after = hub.files("user/out", "run/")
    sources = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for source in sources:
        source.write_bytes(FILES[f"data/{source.name}"])
    run_of(sources, tmp_path / "out", shard_rows=15)
    assert shards_of(after) == local_shards(tmp_path / "out")
    assert table_of(after)["id"].to_list() == [row["id"] for row in ROWS]
    assert not [name for name, data in after.items() if b"hf_writer" in data]
    # no whole shard was written again: since then a commit changed what it says, and nothing else
    history = hub.repositories["datasets", "user/out"].branches["main"]
    for name in whole:
        assert len({commit[f"run/{name}"] for commit in history if f"run/{name}" in commit}) == 1

    assert main(["runs", "show", "hf://datasets/user/out/run/", "--verify"]) == 0
    assert "14 of 14 files are as they were written" in capsys.readouterr().out


def test_a_shard_is_one_commit(hub: Hub) -> None:
    """With its note; so is one whose columns get other types, and all that a new beginning throws away."""
    rows = [{**row, "n": number if number < 20 else number / 4} for number, row in enumerate(ROWS[:60])]
    hub.dataset("user/mixed", {"in.jsonl": lines_of(rows)})
    branch = hub.dataset("user/counted").branches["main"]
    line = run_line("hf://datasets/user/mixed/in.jsonl", "hf://datasets/user/counted/run/", "--shard-rows", "20")
    assert main(line) == 0
    shards = [[f"part-0000{n}.parquet", f"shards/part-0000{n}.json", f"shards/part-0000{n}.npz"] for n in range(3)]
    recast = ["part-00000.parquet", "shards/part-00000.json"]
    assert _changes(branch) == [["run.json"], *shards, recast, ["summary.json"]]
    finished = hub.files("user/counted", "run/")
    first = len(branch)
    assert main([*line, "--restart"]) == 0
    assert _changes(branch[first - 1 :]) == [sorted(finished), ["run.json"], *shards, recast, ["summary.json"]]
    assert shards_of(hub.files("user/counted", "run/")) == shards_of(finished)


def _changes(commits: list[dict[str, bytes]]) -> list[list[str]]:
    """The files of the run that each commit after the first has added, changed or removed."""
    return [
        sorted(name.removeprefix("run/") for name in {*old, *new} if old.get(name) != new.get(name))
        for old, new in itertools.pairwise(commits)
    ]


def test_what_others_write_is_seen_at_once(hub: Hub, tmp_path: Path) -> None:
    """The client keeps listings; files that came, grew or went since then are told and read as they are now."""
    hub.dataset("user/busy", {"a/1.txt": b"one"})
    branch = hub.repositories["datasets", "user/busy"].branches["main"]
    place = "hf://datasets/user/busy/a"
    assert sizes_below(place) == {"1.txt": 3}
    branch.append({"a/1.txt": b"one and more", "a/2.txt": b"two"})
    for name, data in (("1.txt", b"one and more"), ("2.txt", b"two")):
        with open_url(f"{place}/{name}") as file:
            assert file.read() == data
    assert expand_url(f"{place}/*") == [f"{place}/1.txt", f"{place}/2.txt"]
    branch.append({"b": b""})
    assert sizes_below(place) == {}
    branch.append({"a/3.txt": b"three"})
    remove_urls([f"{place}/3.txt", f"{place}/4.txt"])
    assert branch[-1] == {}


def test_files_of_one_commit(hub: Hub, tmp_path: Path) -> None:
    """They appear together, large ones and small ones, and another's commit at the same time is no obstacle."""
    branch = hub.dataset("user/together").branches["main"]
    contents = {"x.parquet": b"large" * 9, "x.json": b"{}", "y.npz": b"also large", "empty.txt": b""}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    hub.conflicts = 1
    put_files([(tmp_path / name, f"hf://datasets/user/together/in/{name}") for name in contents])
    assert branch == [{}, {f"in/{name}": data for name, data in contents.items()}]
    # what is there already is no commit
    put_file(tmp_path / "x.json", "hf://datasets/user/together/in/x.json")
    assert len(branch) == 2
    remove_urls([f"hf://datasets/user/together/in/{name}" for name in contents])
    assert branch[2:] == [{}]


IN, OUT = "hf://datasets/user/name", "hf://datasets/user/out"
PRIVATE = "no such repository, or a private one; "


@pytest.mark.parametrize(
    ("token", "source", "output", "message"),
    [
        ("hf_reader", f"{IN}/no.jsonl", None, "no such file"),
        ("hf_reader", f"{IN}/data/*.csv", None, "no file matches this pattern"),
        ("hf_reader", f"{IN}/data", None, "is a directory; give its files, for example "),
        ("hf_reader", f"{IN}@v9/a.jsonl", None, "the repository has no such revision; give a branch"),
        ("hf_reader", "hf://datasets/user/none/a.jsonl", None, f"{PRIVATE}check its name, or set HF_TOKEN to a token "),
        ("hf_reader", "hf://datasets/user/none/*.jsonl", None, PRIVATE),
        ("hf_reader", "hf://nothing", None, "cannot be read: Repository id must be 'namespace/name'"),
        ("", "hf://datasets/user/secret/a.jsonl", None, PRIVATE),
        ("hf_wrong", f"{IN}/data/c.jsonl", None, "the hub does not know this token; set HF_TOKEN to a valid one"),
        ("hf_writer", f"{IN}/data/c.jsonl", "hf://datasets/user/none/a.jsonl", f"{PRIVATE}create it first, or set HF_"),
        ("hf_writer", f"{IN}/data/c.jsonl", f"{OUT}@v9/run/", "the repository has no such revision; create the branch"),
        ("hf_reader", f"{IN}/data/c.jsonl", f"{OUT}/a.jsonl", "no permission; set HF_TOKEN to a token that may write"),
        ("", f"{IN}/data/c.jsonl", f"{OUT}/refused/", PRIVATE),
    ],
)
def test_what_goes_wrong_is_one_line(
    token: str,
    source: str,
    output: str | None,
    message: str,
    hub: Hub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    else:
        monkeypatch.delenv("HF_TOKEN")
    commits = hub.requests["commit"]
    line = ["score", source, "-m", "rouge1", *(["-o", output] if output else [])]
    assert main(line) == (4 if output else 2)
    told = capsys.readouterr()
    assert told.err.startswith(f"celadon: {output or source}: {message}")
    assert told.err.count("\n") == 1
    assert told.out == ""
    assert "hf_" not in told.err  # as tokens begin
    assert hub.requests["commit"] == commits
