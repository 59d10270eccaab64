"""The site's entrances list every page once."""

import ast

from tests.conftest import ROOT

PAGES = [path.relative_to(ROOT) for pattern in ("*.md", "*/*.md", "docs/*/*.md") for path in ROOT.glob(pattern)]


def test_every_page_has_its_place_in_the_site() -> None:
    tree = ast.parse((ROOT / "docs" / "site" / "conf.py").read_text())
    values = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    entrances = ast.literal_eval(values["ENTRANCES"])
    listed = [page for pages in entrances.values() for page in pages] + [ast.literal_eval(values["root_doc"])]
    assert sorted(listed) == sorted(str(page.with_suffix("")) for page in PAGES if str(page)[0] != ".")
