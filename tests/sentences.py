"""Looks for what is hard to read: ``python tests/sentences.py [WORD_OF_A_PAGE_NAME]``.

Ends with status 1 where more than MOST per cent of the documentation's sentences have more than LONGEST words, or one
in SHORT_PAGES more than SHORT. With a word it shows the long ones of the pages that have it in their name. Code,
commands and what programs write do not count; a link counts by its text. Words that a reader has to guess are not
allowed, in pages, messages and docstrings, and some in no source.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), ROOT / "tests" / "README.md"]
LEFT_OUT = {"CHANGELOG.md"}
WRITTEN_BY_PROGRAMS = "<!-- What follows is written by"
LONGEST, MOST = 30, 2
# What a person reads first.
SHORT_PAGES, SHORT = {"README.md", "docs/start-faster.md"}, 22
# In pages, messages and docstrings, each with the better word; docs/glossary.md has the meanings.
BETTER = {
    r"kept stores?": "cached store",
    r"whoever": "the process that, the user who",
    r"(?:process(?:es)?|programs?|ranks?|modules?|child(?:ren)?) who": "that",
    r"another one": "a second, a different",
    r"told(?! what)": "gets, knows, shows",
    r"left out": "excluded, without",
    r"step(?:s|ped|ping)? aside": "bypass",
    r"(?:a|one|last) look(?!-)": "a validation, a comparison",
    r"still true": "valid",
    r"doors?": "entry point",
    r"warm (?:image|start)s?": "snapshot",
    r"twins?": "variation run",
    # A relative clause in another.
    r"of which": "two sentences",
    r"whose\b[^,.;:]*\bthat": "two sentences",
}
OLD = {re.compile(rf"\b(?:{word})\b", re.IGNORECASE): better for word, better in BETTER.items()}
# Say whose it is, what it is like, who prints a line; and spell as the British do.
IN_PAGES = "|".join(
    (
        r"\bthat one(?= is\b| and\b| or\b| the\b|[.,;:)]|$)",
        r"(?<!is )(?<!are )(?<!be )\bthe same(?= for\b|[.,;:)]|$)",
        r"\b(?:initial|final|custom|optim|recogn|normal|organ)iz\w+|\bcolors?\b|\bcenters?\b",
    )
)
ANYWHERE = r"\bof ours\b|\bas ever\b|\bwith one line\b(?! for each)|\b[Bb]ehavior"
SOURCES = ("*.md", "*.py", "*.go", "*.sh", "*.yaml", "*.c", "*.h", "Makefile")
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
    unclear = [f"{page.relative_to(ROOT)}: {found}" for page in PAGES for found in unclear_in(page)]
    unclear += [*unclear_anywhere(), *old_words(sentences)]
    print(*unclear, sep="\n", end="\n" * bool(unclear))
    return int(share > MOST or bool(unclear))


def unclear_in(page: Path) -> Iterator[str]:
    for sentence in sentences_of(page):
        if found := re.search(IN_PAGES, sentence):
            yield f"{found[0]!r} in: {sentence}"
        if str(page.relative_to(ROOT)) in SHORT_PAGES and words(sentence) > SHORT:
            yield f"{words(sentence)} words, not {SHORT}: {sentence}"


def old_words(sentences: list[tuple[Path, str]]) -> Iterator[str]:
    for file, text in [*sentences, *messages_and_docstrings()]:
        for pattern, better in OLD.items():
            if found := pattern.search(re.sub(r"``.*?``|`[^`]*`", "code", text)):
                yield f"{file.relative_to(ROOT)}: {found[0]!r}, better: {better}: {' '.join(text.split())[:200]}"


def messages_and_docstrings() -> Iterator[tuple[Path, str]]:
    """Yield the texts in sources: of Python all that have a blank, of Go what a line has between quotation marks."""
    for file in sorted(ROOT.glob("mpiimport/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield file, node.value
    for file in sorted(ROOT.glob("hooks/**/*.go")):
        for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.MULTILINE)):
            if " " in text and not file.stem.endswith("_test"):
                yield file, text


def unclear_anywhere() -> list[str]:
    """The lines of all sources that have what is allowed nowhere, but for this file."""
    words = ["git", "grep", "-nIP", ANYWHERE, "--", *SOURCES, ":!tests/sentences.py", ":!tests/support/corpus"]
    return subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout.splitlines()


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
