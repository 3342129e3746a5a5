"""Repositories of the Hugging Face Hub (hf://), where whatever is written or removed is a commit."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_TRIES = 8
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 16.0
# Somebody else's commit came first, or the server was busy for a moment.
_PASSING = frozenset({409, 412, 500, 502, 503, 504})
_UNKNOWN_TOKEN = "Invalid credentials in Authorization header"


def is_repository(path: str) -> bool:
    """Whether a path lies in a repository; the hub's buckets hold objects without commits."""
    return not path.startswith("buckets/")


def check_takes_commits(system: Any, path: str) -> None:
    """Ask the hub whether there is a repository, with the branch, to which the user may write."""
    system.invalidate_cache()
    place = system.resolve_path(path)
    # of huggingface_hub before 1.0 only the commit itself tells
    with suppress(TypeError):
        _api(system).auth_check(place.repo_id, repo_type=place.repo_type, write=True)


def commit_files(system: Any, files: Sequence[tuple[Path, str]]) -> None:
    """Put files of this machine at paths of one repository, where all of them appear at once."""
    from huggingface_hub import CommitOperationAdd

    def additions(names: Sequence[str]) -> list[Any]:
        pairs = zip(names, files, strict=True)
        return [CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(local)) for name, (local, _) in pairs]

    _commit(system, [path for _, path in files], additions, "Add")


def commit_removal(system: Any, paths: Sequence[str]) -> None:
    """Remove files of one repository, all of them at once; those that are not there are no fault."""
    from huggingface_hub import CommitOperationDelete

    system.invalidate_cache()
    there = [path for path in paths if _is_there(system, path)]
    if there:
        _commit(system, there, lambda names: [CommitOperationDelete(path_in_repo=name) for name in names], "Remove")


def _is_there(system: Any, path: str) -> bool:
    # the file system's own answer is no, too, where the hub cannot be asked
    try:
        system.info(path)
    except FileNotFoundError as error:
        if error.__cause__ is not None:
            raise
        return False
    return True


def _commit(system: Any, paths: Sequence[str], operations: Callable[[Sequence[str]], list[Any]], verb: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    # it warns where a file is there already, as one of a shard that is made again
    logging.getLogger("huggingface_hub.hf_api").setLevel(logging.ERROR)
    places = [system.resolve_path(path) for path in paths]
    names = [place.path_in_repo for place in places]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    for attempt in range(1, _TRIES + 1):
        try:
            _api(system).create_commit(
                repo_id=places[0].repo_id,
                repo_type=places[0].repo_type,
                revision=places[0].revision,
                # made anew, so that what came through the time before is not sent again
                operations=operations(names),
                commit_message=f"{verb} {names[0]}{more}",
            )
            break
        except HfHubHTTPError as error:
            if error.response.status_code not in _PASSING or attempt == _TRIES:
                raise
            # workers that came to grief together must not come back together
            time.sleep(random.uniform(0.5, 1.0) * min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt))
    for path in paths:
        system.invalidate_cache(path)


def hub_reason(error: BaseException | None, done: str) -> str | None:
    """What to tell of an error of the hub, or of what was raised from one; None where it is none of these."""
    from huggingface_hub.errors import HfHubHTTPError

    while error is not None and not isinstance(error, HfHubHTTPError):
        error = error.__cause__
    if error is None:
        return None
    if error.response.status_code == 429:
        sentences = re.split(r"(?<=\.)\s+", error.server_message or "too many requests.")
        return f"the hub takes no more for now: {' '.join(sentences[:2])} The same command goes on from there"
    return _no_access(error, error.response.status_code, reading=done == "read")


def _no_access(error: Exception, status: int, *, reading: bool) -> str | None:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    token = f"set HF_TOKEN to a token that may {'read it' if reading else 'write to it'}"
    if isinstance(error, GatedRepoError):
        return "the repository is gated; ask for access on its page, then set HF_TOKEN to your token"
    if isinstance(error, RevisionNotFoundError):
        hint = "give a branch, a tag or a commit after the @" if reading else "create the branch first"
        return f"the repository has no such revision; {hint}"
    if status == 401 and _UNKNOWN_TOKEN in str(error):
        return "the hub does not know this token; set HF_TOKEN to a valid one, or unset it"
    if isinstance(error, RepositoryNotFoundError) or status == 401:
        return f"no such repository, or a private one; {'check its name' if reading else 'create it first'}, or {token}"
    return f"no permission; {token}" if status == 403 else None


def _api(system: Any) -> Any:
    from huggingface_hub import HfApi

    return HfApi(endpoint=system.endpoint, token=system.token)
