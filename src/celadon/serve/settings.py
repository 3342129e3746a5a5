"""What a service is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass

from celadon.core import UsageError
from celadon.scoring.cache.score_cache import CacheSettings


@dataclass(frozen=True)
class ServeSettings:
    """How the service listens, what it scores and how much it takes."""

    metrics: tuple[str, ...] = ("celadon",)  # in their notation; nothing else is scored
    host: str = "127.0.0.1"
    port: int = 8000
    batch_wait: float = 0.004  # seconds that a text may wait for others to be scored with
    max_batch: int = 128  # the most texts that are scored together
    queue: int = 1024  # the most texts that wait; more are refused
    timeout: float = 30.0  # seconds after which a request is given up
    # max_text_chars, max_texts, max_body_bytes: of a request
    max_text_chars: int = 100_000
    max_texts: int = 1000
    max_body_bytes: int = 16 << 20
    api_keys: str | None = None  # a file with one key per line; None lets everybody in
    cache: CacheSettings | None = None  # where scores are kept and reused across runs; None keeps none
    standardize_on: str | None = None  # a file that gives metrics relative to a set their constants

    def __post_init__(self) -> None:
        if not self.metrics:
            raise UsageError("--metric: name at least one metric")
        if not 0 <= self.port < 65_536:
            raise UsageError(f"--port: {self.port} is no port; choose one up to 65535")
        if self.max_texts > self.queue:
            raise UsageError(
                f"--max-texts: a request of {self.max_texts:,} texts would never fit a queue of {self.queue:,}; "
                "raise --queue or lower --max-texts"
            )
