"""Why one source of a download did not serve; the next one is then tried."""

from __future__ import annotations

from celadon.core import CeladonError


class SourceError(CeladonError):
    """A source cannot be reached, or does not give what the catalog pins."""

    exit_code = 3
