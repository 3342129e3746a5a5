"""What is said to a request that gets no scores."""

from __future__ import annotations

from celadon.core import InputError, UsageError
from celadon.web.guard import ClientGoneError, RefusedError, failed


def refusal_for(error: Exception) -> Exception:
    """What is said of something that went wrong while texts were scored."""
    if isinstance(error, RefusedError | ClientGoneError):
        return error
    if isinstance(error, InputError | UsageError):
        return RefusedError(422, "not_scorable", str(error))
    return failed()


def no_room(retry_after: int) -> RefusedError:
    """Too many texts wait."""
    message = f"more texts wait than fit the queue; try again in {retry_after} s"
    return RefusedError(429, "queue_full", message, headers={"retry-after": str(retry_after)})


def too_slow(seconds: float) -> RefusedError:
    """The time is over."""
    return RefusedError(504, "timeout", f"the texts were not scored within {seconds:g} s; send fewer or shorter ones")


def not_now(draining: bool) -> RefusedError:
    """The service begins or ends."""
    message = "the service is stopping" if draining else "the models are being loaded"
    headers = {"retry-after": "5", **({"connection": "close"} if draining else {})}
    return RefusedError(503, "draining" if draining else "loading", message, headers=headers)


def no_key() -> RefusedError:
    """The key is missing or wrong."""
    message = "send one of the service's API keys as: Authorization: Bearer KEY"
    return RefusedError(401, "no_key", message, headers={"www-authenticate": "Bearer"})
