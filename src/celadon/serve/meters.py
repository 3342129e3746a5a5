"""What Prometheus is told."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Meters:
    """Counts of one service.

    ``waiting``: tells how many texts wait.
    """

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "celadon_requests", "Requests by where they went and their status", ["path", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "celadon_request_seconds", "From the first byte of a request to the last of its answer", ["path"],
            registry=self._registry, buckets=_SECONDS,
        )  # fmt: skip
        self._rejected = Counter(
            "celadon_rejected", "Requests that were refused, by why", ["reason"], registry=self._registry
        )
        self._texts = Counter("celadon_texts", "Texts that were scored", registry=self._registry)
        self._batches = Histogram(
            "celadon_batch_texts", "Texts that were scored together", registry=self._registry, buckets=_TEXTS
        )
        queue = Gauge("celadon_queue_texts", "Texts that wait", registry=self._registry)
        queue.set_function(waiting)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request was answered; the path is one of ours, never what a stranger wrote."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def rejected(self, reason: str) -> None:
        """A request was refused."""
        self._rejected.labels(reason).inc()

    def batch(self, size: int) -> None:
        """So many texts were scored together."""
        self._texts.inc(size)
        self._batches.observe(size)

    def text(self) -> bytes:
        """All counts, in the format of Prometheus."""
        return generate_latest(self._registry)
