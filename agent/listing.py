"""How an answer writes a list: as MMLongBench's scorer reads one, `['a', 'b']`."""

from collections.abc import Iterable


def as_list(members: Iterable[str]) -> str:
    """Members as one text; quotes and backslashes in them become harmless."""
    return "[" + ", ".join("'" + m.replace("'", "’").replace("\\", "") + "'" for m in members) + "]"
