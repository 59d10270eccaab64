"""Counts the sentences of the documentation that are hard to read: ``python tests/sentences.py [WORD_OF_A_PAGE_NAME]``.

Ends with status 1 where more than MOST per cent of all have more than LONGEST words. With a word it shows those of the
pages whose names contain it. Code, commands and what programs write are left out; a link counts by its text.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), ROOT / "tests" / "README.md"]
LEFT_OUT = {"CHANGELOG.md"}
WRITTEN_BY_PROGRAMS = "<!-- What follows is written by"
LONGEST, MOST = 30, 2
# Shorter ones are labels and cells of tables.
SHORTEST = 3


def main(shown: str = "") -> int:
    sentences = [(page, sentence) for page in PAGES if page.name not in LEFT_OUT for sentence in sentences_of(page)]
    long = [(page, sentence) for page, sentence in sentences if words(sentence) > LONGEST]
    for page, sentence in long:
        if shown and shown in page.name:
            print(f"{page.relative_to(ROOT)}: {words(sentence)} words: {sentence}\n")
    share = 100 * len(long) / len(sentences)
    print(f"{len(long)} of {len(sentences)} sentences ({share:.1f} %) have more than {LONGEST} words")
    return int(share > MOST)


def sentences_of(page: Path) -> Iterator[str]:
    text = page.read_text().partition(WRITTEN_BY_PROGRAMS)[0]
    text = re.sub(r"^```.*?^```$|^    .*?$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))
    for block in re.split(r"\n\s*\n|\n(?=[-|#*]|\d+\.)|\|", text):
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(block.split())):
            if words(sentence) >= SHORTEST:
                yield sentence


def words(sentence: str) -> int:
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
