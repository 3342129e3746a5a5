"""The loop closed: a table, an audit, an experiment with the chosen items, people, and a narrower second audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from celadon.cli import main
from celadon.judge.experiment import open_experiment
from celadon.judge.rating_config import rating_config
from celadon.judge.store import Answer, Store
from tests.judge.test_analysis import simulate
from tests.meta.judged_texts import judged_texts


def audited(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["meta", "audit", *arguments, "--resamples", "100", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["judges"][0]


def test_a_second_audit_is_narrower(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = judged_texts(80, 2, seed=9, raters=2, unrated=0.75, noise=0.3)
    # the same texts with all ratings: what people say when they are asked
    ratings = {
        f"{row['id']}/{row['system']}": [row["rater1.overall"], row["rater2.overall"]]
        for row in judged_texts(80, 2, seed=9, raters=2, noise=0.3)
    }
    table, items = tmp_path / "scored.jsonl", tmp_path / "next.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = (str(table), "--judge", "judge.run*", "--human", "rater*.overall")
    first = audited(capsys, *options, "--next-items", str(items), "--next", "80")
    chosen = [json.loads(line) for line in items.read_text(encoding="utf-8").splitlines()]
    assert len(chosen) == 80

    folder = tmp_path / "study"
    config = str(items.with_suffix(".toml"))
    assert main(["judge", "new", str(folder), "--items", str(items), "--config", config]) == 0
    experiment = open_experiment(folder)
    assert {item.key for item in experiment.items} == {item["id"] for item in chosen}
    (question,) = experiment.config.questions
    assert (question.low, question.high) == (1, 5)
    store = Store(experiment)
    simulate(experiment, store, 2, lambda person, unit, question: Answer(ratings[unit].pop()))
    store.close()
    answers = tmp_path / "answers.jsonl"
    assert main(["judge", "export", str(folder), "--output", str(answers)]) == 0
    capsys.readouterr()

    second = audited(capsys, *options, "--answers", str(answers))
    assert second["rated"] == first["rated"] + 80

    def width(one: dict[str, Any]) -> float:
        return float(one["high"] - one["low"])

    before, after = ({row["system"]: row for row in one["means"]} for one in (first, second))
    assert before.keys() == after.keys() == {"system0", "system1"}
    for system in before:
        assert after[system]["mean"]["labels"] > before[system]["mean"]["labels"]
        assert width(after[system]["mean"]) < 0.8 * width(before[system]["mean"])
    assert width(second["differences"][0]["difference"]) < width(first["differences"][0]["difference"])
    assert width(second["agreement"][0]) < width(first["agreement"][0])


def test_a_scale_of_many_values_is_refused() -> None:
    from celadon.core import UsageError

    with pytest.raises(UsageError, match="at most 11 values, and 'overall' goes from 0 to 100"):
        rating_config("overall", 0, 100, 3)
