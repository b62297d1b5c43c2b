"""Edit distance and the similarity made of it."""


def levenshtein(first: str, second: str) -> int:
    """Edit distance (insert, delete, substitute cost 1).

    Myers' bit-vector algorithm in Hyyrö's form: one step for each character of the longer text, on integers
    with as many bits as the shorter one has characters.
    """
    short, long = sorted((first, second), key=len)
    if not short:
        return len(long)
    places: dict[str, int] = {}
    for i, letter in enumerate(short):
        places[letter] = places.get(letter, 0) | 1 << i
    last, mask = 1 << (len(short) - 1), (1 << len(short)) - 1
    rises, falls, distance = mask, 0, len(short)
    for letter in long:
        equal = places.get(letter, 0)
        same = (((equal & rises) + rises) ^ rises) | equal | falls
        up = falls | (mask & ~(same | rises))
        down = rises & same
        distance += bool(up & last) - bool(down & last)
        up = (up << 1) | 1
        rises = ((down << 1) | (mask & ~(same | up))) & mask
        falls = up & same & mask
    return distance


def anls(gold: str, pred: str, threshold: float = 0.5) -> float:
    """1 - edit distance / longer length; values of `threshold` and below become 0."""
    length = max(len(gold), len(pred))
    if length and min(len(gold), len(pred)) <= threshold * length:
        return 0.0  # the distance is at least the difference of the lengths
    value = 1.0 - (levenshtein(gold, pred) / length if length else 0.0)
    return value if value > threshold else 0.0
