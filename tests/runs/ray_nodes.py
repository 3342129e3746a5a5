"""A Ray cluster of several nodes on this machine, and the death of one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celadon.runs.ray_engine import imported_ray

_STORE_BYTES = 80 << 20
# A dead node is noticed after two seconds, not twenty.
_NOTICE = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
# of one that nothing runs on
_GPU = {"num_gpus": 1}


class Nodes:
    """A running cluster.

    Attributes
    ----------
    address
        What a driver connects to; it is then at home on the first node.
    """

    def __init__(self, count: int) -> None:
        imported_ray()
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={**_node(), **_GPU, "_system_config": _NOTICE})
        self._others = [self._cluster.add_node(wait=False, **_node()) for _ in range(count - 1)]
        self._cluster.wait_for_nodes()
        self.address: str = self._cluster.address

    def kill_one(self) -> int:
        """Kill -9 the raylet of a node where no driver is, as if the machine had gone; its workers go with it."""
        pid = _raylet(self._others.pop(0))
        os.kill(pid, signal.SIGKILL)
        return pid

    def replace_one(self) -> None:
        """Add a node in the place of one that was killed."""
        self._others.append(self._cluster.add_node(**_node()))

    def shut_down(self) -> None:
        """End all processes."""
        self._cluster.shutdown()


def _raylet(node: Any) -> int:
    pid: int = node.all_processes["raylet"][0].process.pid
    return pid


def _node() -> dict[str, Any]:
    return {
        "num_cpus": 1,
        "object_store_memory": _STORE_BYTES,
        "include_dashboard": False,
        "include_log_monitor": False,
    }


@contextmanager
def several_nodes(count: int = 3) -> Iterator[Nodes]:
    """A cluster of nodes with one core each, for as long as the block lasts."""
    nodes = Nodes(count)
    try:
        yield nodes
    finally:
        nodes.shut_down()
