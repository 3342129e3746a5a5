"""Mehri and Eskenazi 2020, USR: answers in dialogues of Topical-Chat and PersonaChat, means of three raters.

``topical_chat.json`` and ``persona_chat.json`` (of the repository ctc-gen-eval) are lists of model, response,
dialog_history, fact and the six dimensions. Ours is JSON lines, with doc for the dialogue.
"""

from __future__ import annotations

from collections.abc import Iterator

from celadon.io.judgements.files import json_lines, stem, whole_json
from celadon.io.judgements.plain_jsonl import plain_row
from celadon.io.judgements.rows import Fields, Row, judgement

DIMENSIONS = ("natural", "understandable", "maintains_context", "engaging", "uses_knowledge", "overall")
PATTERN = "usr_*.jsonl* topical_chat.json* persona_chat.json* data/*_chat.json*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file; the domain is ``topicalchat`` or ``personachat``, and rows of one dialogue share an id."""
    domain = stem(path).removeprefix("usr_").replace("_", "")
    if ".jsonl" in path.lower():
        for row in json_lines(path):
            yield plain_row(row, domain, facts=row.optional_text("facts")) | {"id": f"{domain}-{row.text('doc')}"}
        return
    dialogues: dict[str, int] = {}
    for number, item in enumerate(whole_json(path), 1):
        row = Fields(f"{path}: item {number}", item)
        history = row.text("dialog_history").strip()
        dialogue = dialogues.setdefault(history, len(dialogues))
        facts = row.optional_text("fact")
        yield judgement(
            id=f"{domain}-dialogue-{dialogue}",
            system=row.text("model"),
            domain=domain,
            text=row.text("response").strip(),
            source=history,
            scores={name: row.number(name) for name in DIMENSIONS},
            facts=facts.strip() if facts and domain == "personachat" else None,
        )
