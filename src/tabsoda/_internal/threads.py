"""How many threads the engines use.

OpenMP threads that wait for each other spin by default and keep a core busy that other work could
use. So small work gets one thread, large work gets as many as it can use and the machine allows,
and torch is loaded such that its threads sleep while they wait. Torch is imported only when it is
needed, because the process that fits trees does not use it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Floating-point operations per training step that justify one more thread. With fewer, a second
# thread saves almost nothing.
_OPERATIONS_PER_THREAD = 1e9
_CGROUPS = Path("/sys/fs/cgroup")
# OpenMP variables with which a user has set how threads wait.
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
# For a process that manages its own threads: its libraries start none.
SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}


def granted_cores() -> int:
    """Return how many cores this process may use.

    The minimum of: the cores it may run on (affinity), its cgroup's CPU quota, ``OMP_NUM_THREADS``,
    and the number of threads that torch is limited to.
    """
    limits = [_affinity(), cgroup_cores(), omp_limit(os.environ.get("OMP_NUM_THREADS"))]
    torch = sys.modules.get("torch")
    if torch is not None:
        limits.append(torch.get_num_threads())
    return max(min(limit for limit in limits if limit is not None), 1)


@dataclass(frozen=True)
class Threads:
    """How many threads each part of the engine uses.

    Attributes
    ----------
    cores : int
        Cores that may be used.
    network : int
        Threads of torch. BLAS, and the OpenMP of other libraries, get one.
    spin : bool
        Whether torch gets one thread because further ones would spin while they wait.

    Examples
    --------
    >>> [Threads.planned(work, cores=4, passive=True).network for work in (1e8, 2.5e9, 1e12)]
    [1, 2, 4]
    """

    cores: int
    network: int
    spin: bool = False

    @classmethod
    def planned(
        cls, operations: float, *, cores: int | None = None, passive: bool | None = None
    ) -> Threads:
        """Plan the threads of a fit or of imputing.

        Parameters
        ----------
        operations : float
            Floating-point operations on the CPU in one training step of the network.
        cores : int, optional
            :func:`granted_cores` unless given.
        passive : bool, optional
            Whether threads sleep while they wait; unless given, as torch was loaded. If they spin,
            one thread is faster as soon as anything else runs on the machine.
        """
        cores = granted_cores() if cores is None else cores
        passive = load_torch() if passive is None else passive
        wanted = int(min(max(operations // _OPERATIONS_PER_THREAD, 1), cores))
        return cls(cores, wanted if passive else 1, spin=wanted > 1 and not passive)

    @property
    def beside_trees(self) -> int:
        """Threads of torch while trees are fitted in a separate process, which needs a core too."""
        return min(self.network, max(self.cores - 1, 1))

    @property
    def trees(self) -> int:
        """Tree models to fit at a time in a separate process while the network trains."""
        return max(self.cores - self.beside_trees, 1)


@contextmanager
def worker_threads(n_threads: int) -> Iterator[None]:
    """Limit torch to some threads, and BLAS and OpenMP libraries to one; restore at the end.

    Examples
    --------
    >>> import torch
    >>> before = torch.get_num_threads()
    >>> with worker_threads(1):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = None if torch is None else torch.get_num_threads()
    try:
        with threadpool_limits(1):
            if torch is not None:
                # Torch's own OpenMP library was limited with the others.
                torch.set_num_threads(n_threads)
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(before)


@functools.cache
def load_torch() -> bool:
    """Import torch such that its threads sleep while they wait; return whether they do.

    OpenMP reads this setting when it is loaded; the environment is restored afterwards. A setting
    of the user is kept and counts as sleeping. If torch has been loaded before, nothing can be
    changed.
    """
    if any(name in os.environ for name in _WAITING):
        return True
    if "torch" in sys.modules:
        return False
    wait_passively()
    try:
        import torch  # noqa: F401
    finally:
        del os.environ["OMP_WAIT_POLICY"]
    return True


def wait_passively() -> None:
    """Make OpenMP threads of libraries and processes loaded later sleep while they wait.

    For commands. A setting of the user is kept.
    """
    if not any(name in os.environ for name in _WAITING):
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"


def omp_limit(value: str | None) -> int | None:
    """Read ``OMP_NUM_THREADS``; None if it is not set or not a number.

    Examples
    --------
    >>> omp_limit("4"), omp_limit("4,2"), omp_limit(""), omp_limit(None)
    (4, 4, None, None)
    """
    first = (value or "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def cgroup_cores(root: Path = _CGROUPS, process: Path = Path("/proc/self/cgroup")) -> int | None:
    """Return the number of whole cores in this process's CPU quota; None without a quota.

    Parameters
    ----------
    root : Path
        Where control groups (version 1 or 2) are mounted.
    process : Path
        The file that lists the groups of this process.
    """
    try:
        lines = process.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    quotas = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            quotas += [_version_2(folder) for folder in _with_parents(root, path)]
        elif "cpu" in controllers.split(","):
            for mount in (root / "cpu", root / controllers):
                quotas += [_version_1(folder) for folder in _with_parents(mount, path)]
    cores = [quota for quota in quotas if quota is not None]
    return max(int(min(cores)), 1) if cores else None


def _affinity() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count()


def _with_parents(root: Path, path: str) -> list[Path]:
    """Return a group's folder and its parents: a quota also applies to everything below it."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return [root.joinpath(*parts[:n]) for n in range(len(parts) + 1)]


def _version_2(folder: Path) -> float | None:
    quota = _numbers(folder / "cpu.max")
    return quota[0] / quota[1] if len(quota) == 2 else None


def _version_1(folder: Path) -> float | None:
    quota = _numbers(folder / "cpu.cfs_quota_us") + _numbers(folder / "cpu.cfs_period_us")
    return quota[0] / quota[1] if len(quota) == 2 else None


def _numbers(file: Path) -> list[float]:
    """Read positive numbers; return none if there are other values, such as "max" or -1."""
    try:
        words = file.read_text(encoding="ascii").split()
    except OSError:
        return []
    return [float(word) for word in words] if all(word.isdecimal() for word in words) else []
