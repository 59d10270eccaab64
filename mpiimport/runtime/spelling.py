"""Which known word somebody probably meant."""


def nearest(word: str, candidates: list[str]) -> str:
    """Return the candidate that the fewest changes make of ``word``; empty where none is close."""
    best, distance = "", len(word) // 3 + 1
    for candidate in candidates:
        changes = edits(word, candidate)
        if changes < distance:
            best, distance = candidate, changes
    return best


def edits(word: str, other: str) -> int:
    """Count the insertions, deletions and replacements that turn one word into the other (Levenshtein)."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        diagonal, row[0] = row[0], i
        for j, same in enumerate(other, 1):
            diagonal, row[j] = row[j], min(diagonal + (letter != same), row[j] + 1, row[j - 1] + 1)
    return row[-1]
