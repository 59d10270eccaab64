"""The documentation as a site (`make docs`): the pages as they lie in the repository, and the order they are read in.

`sphinx-build -c docs/site . build/site`, from the root of the repository.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent.parent
# Who comes in by which entrance, and what there is to read. A page that stands nowhere here fails the build.
ENTRANCES = {
    "Start": ["README", "docs/start-faster", "docs/glossary"],
    "For scientists": [
        "docs/snapshots",
        "docs/sessions",
        "docs/manifests",
        "docs/behaviour",
        "docs/messages",
        "docs/containers",
        "docs/workflows",
        "docs/wrappers",
        "docs/commands",
        "docs/options",
        "docs/report",
        "examples/README",
    ],
    "For administrators": [
        "docs/administrators",
        "docs/installation",
        "docs/my-first-profile",
        "docs/profiles",
        "docs/doctor",
        "docs/plugin",
        "docs/slurm",
        "docs/oci",
        "docs/other-runtimes",
        "docs/one-container-per-node",
        "docs/security",
        "docs/known-issues",
        "containers/README",
        "packaging/README",
    ],
    "For contributors": [
        "CONTRIBUTING",
        "docs/architecture",
        "docs/design/stores",
        "docs/design/manifests",
        "docs/design/snapshots",
        "docs/published-scripts",
        "tests/README",
        "docs/lab",
        "docs/benchmarks",
        "CHANGELOG",
    ],
}

project = "mpiimport"
release = re.search(r'__version__ = "(.*)"', (ROOT / "mpiimport" / "__init__.py").read_text())[1]  # type: ignore[index]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/*.md", "docs/design/*.md", "*/README.md"]
exclude_patterns = ["build/**", ".*/**"]
extensions = ["myst_parser"]
# Headings have the anchors that GitHub gives them, so links hold in both places.
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"mpiimport {release}"
html_copy_source = False
html_show_sphinx = False
nitpicky = True


def add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the entrances to the first page. In the file itself a reader of plain Markdown would see directives."""
    if page != root_doc:
        return
    for entrance, pages in ENTRANCES.items():
        entries = "\n".join(f"/{entry}" for entry in pages)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {entrance}\n\n{entries}\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", add_navigation)
