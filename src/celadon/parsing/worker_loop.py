"""The process that a library runs in: it reads one sentence per line in JSON, and writes one answer per line.

This file is run as a script by a bare interpreter (see ``worker_parser``), so it imports only the standard library.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import runpy
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Answer sentences from the standard input until it ends, within the limits that the command line states."""
    told = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (told["bytes"], told["bytes"]))
    # The library may print; answers have their own way out.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sentences: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sentences,), daemon=True).start()
    try:
        library = runpy.run_path(told["script"])["Library"](**told["options"])
    except ImportError as error:
        _write(answers, {"absent": str(error)})
        return
    _write(answers, library.versions)
    while True:
        sentence = sentences.get()
        # A library looks at its own clock only now and then, or has none; this ends the process where it does not.
        signal.setitimer(signal.ITIMER_PROF, told["seconds"] + 1)
        answer = library.parse(sentence)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(answers, answer)


def _listen(sentences: queue.SimpleQueue[str]) -> None:
    """Read sentences; end the process with its input, whatever it is doing, for then its parent has ended."""
    for line in sys.stdin.buffer:
        sentences.put(json.loads(line))
    os._exit(0)


def _write(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
