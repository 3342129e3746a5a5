"""Where networks of transformers run: on the processor, or on a device that ``CELADON_DEVICE`` names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from celadon.core import UsageError

VARIABLE = "CELADON_DEVICE"
_KINDS = re.compile(r"cpu|mps|cuda(:\d+)?")


def device_name() -> str:
    """The device that was asked for; never one that nobody named, since scores differ in their last digits there."""
    name = os.environ.get(VARIABLE, "").strip() or "cpu"
    if not _KINDS.fullmatch(name):
        raise UsageError(f"{VARIABLE}: {name!r} is no device; choose cpu, cuda, cuda:0, cuda:1 ... or mps")
    return name


def device_facts() -> Mapping[str, str]:
    """What a signature says of the device: nothing of the processor."""
    name = device_name().partition(":")[0]
    return {} if name == "cpu" else {"device": name}


def moved(model: Any) -> Any:
    """A network on the device that was asked for; what is given to it goes there by itself.

    Asked for when it is first run, and not when it is loaded: whoever starts a run may have no such device.
    """
    name = device_name()
    if name == "cpu":
        return model
    try:
        model = model.to(name)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise UsageError(
            f"{VARIABLE}: {name} cannot be used here ({reason}); leave it out to use the processor"
        ) from None

    def there(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(map(_to, given)), {key: _to(value) for key, value in named.items()}

    def _to(value: Any) -> Any:
        return value.to(model.device) if hasattr(value, "to") else value

    model.register_forward_pre_hook(there, with_kwargs=True)
    return model
