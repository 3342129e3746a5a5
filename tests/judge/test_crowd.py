"""Two hundred people at once before ``celadon judge serve``, and a server killed under a crowd: nothing is lost."""

from __future__ import annotations

from pathlib import Path

from tests.judge.crowd import VARIANTS, Crowd, ForkedServer, Server, run

CELLS, QUESTIONS = 1, 2


def take_part(
    folder: Path, url: str | None, people: int, kills: int, kind: type[Server]
) -> dict[str, float | int | str]:
    """A crowd of whom some press twice; each of their answers must be there, once, as the page confirmed it."""
    found = run(folder, Crowd(people, CELLS, extras=False, kills=kills, twice=0.1), url, kind)
    assert found["problems"] == ""
    assert found["finished"] == people
    assert found["confirmed"] == people * CELLS * VARIANTS * QUESTIONS
    assert (found["lost"], found["changed"], found["doubled"]) == (0, 0, 0)
    # were no form sent twice, none could be doubled
    assert found["sent_twice"]
    return found


def test_two_hundred_people_at_once_lose_and_double_nothing(tmp_path: Path, url: str | None) -> None:
    found = take_part(tmp_path / "crowd", url, 200, 0, Server)
    assert found["lost_connections"] == 0


def test_a_server_killed_five_times_under_a_crowd_loses_nothing(tmp_path: Path, url: str | None) -> None:
    found = take_part(tmp_path / "crowd", url, 50, 5, ForkedServer)
    # were the server killed while nobody waited for an answer, nothing could be lost
    assert found["lost_connections"]
