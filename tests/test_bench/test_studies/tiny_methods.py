"""Methods small enough to test the harness with; imported by name, also in other processes."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from tabsoda.bench.methods.contract import Estimates


def _filled(table, pick):
    values = table.values.copy()
    for position in range(table.shape[1]):
        answers = table.values[table.states.answered[:, position], position]
        if answers.size:
            empty = ~table.states.answered[:, position]
            values[empty, position] = pick(answers, int(empty.sum()))
    return Estimates(values, values, {})


class HotDeck:
    """Fills a cell with somebody else's answer."""

    name = "Hot deck"
    knows_skips = False

    def impute(self, table, seed, skip_view):
        generator = np.random.default_rng(seed)
        return _filled(table, lambda answers, n: generator.choice(answers, n))


class KnowsSkips(HotDeck):
    name = "Knows skips"
    knows_skips = True


class Remembers(HotDeck):
    """Appends its arguments to a file."""

    name = "Remembers"

    def __init__(self, path, mined=None):
        self.path, self.mined = Path(path), mined

    def impute(self, table, seed, skip_view):
        mined = -1 if self.mined is None else int(self.mined.sum())
        states = np.bincount(table.states.states.ravel(), minlength=3).tolist()
        with self.path.open("a") as file:
            file.write(f"{seed} {skip_view} {mined} {states}\n")
        return super().impute(table, seed, skip_view)


class Broken(HotDeck):
    name = "Broken"

    def __init__(self, path=None):
        self.path = path

    def impute(self, table, seed, skip_view):
        if self.path is None or not Path(self.path).exists():
            raise ZeroDivisionError("nothing to divide by")
        return super().impute(table, seed, skip_view)


class LeavesHoles(HotDeck):
    name = "Leaves holes"

    def impute(self, table, seed, skip_view):
        return Estimates(table.values, table.values, {})


class Slow(HotDeck):
    name = "Slow"

    def impute(self, table, seed, skip_view):
        time.sleep(0.4)
        return super().impute(table, seed, skip_view)


class Dies(HotDeck):
    """Kills its process; with a path, only the first time."""

    name = "Dies"

    def __init__(self, path=None):
        self.path = path

    def impute(self, table, seed, skip_view):
        if self.path is None or not Path(self.path).exists():
            if self.path is not None:
                Path(self.path).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().impute(table, seed, skip_view)
