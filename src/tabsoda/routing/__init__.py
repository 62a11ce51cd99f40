"""Stage 7a, routing: what the rules say of a row whose gates were drawn.

Input: a table with missing gates, and routing rules. Output: draws in which every follower is
either imputed or skipped, as the drawn gate says.
"""

from tabsoda.routing.record import RoutingRecord

__all__ = ["RoutingRecord"]
