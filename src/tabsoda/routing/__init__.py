"""Stage 7a, routing: applies the rules to rows whose gates are imputed.

A *gate* is a question whose answer decides whether others are asked; its *followers* are these
others. Input: a table with missing gates, and routing rules. Output: draws in which every follower
is either imputed or skipped, according to the drawn gate.
"""

from tabsoda.routing.record import RoutingRecord

__all__ = ["RoutingRecord"]
