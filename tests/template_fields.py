"""The values that the template of an event text needs and shows."""

from tabsoda.event_texts.template import _PARTS, _names


def required_fields(template):
    """Return the values that a template cannot do without."""
    return {name for part in _PARTS.split(template)[::2] for name in _names(part)}


def all_fields(template):
    """Return the values that a template shows, including those in optional parts."""
    return set(_names(template))
