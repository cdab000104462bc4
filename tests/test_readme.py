"""What the documentation says is true: its examples run, its links lead somewhere, its tables of parameters are the code's."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import manyboost
from manyboost.algorithms import ALGORITHMS
from manyboost.estimator import BoostingClassifier

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def own_parameters(algorithm: type[BoostingClassifier]) -> dict[str, Any]:
    """The fields that an algorithm adds or gives another default, with their defaults."""
    own = vars(algorithm)["__annotations__"]
    return {field.name: getattr(algorithm(), field.name) for field in fields(algorithm) if field.name in own}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        indent, code = found.groups()
        line = text[: found.start()].count("\n") + 1
        lines = [row.removeprefix(indent) for row in code.splitlines()]
        exec(compile("\n" * line + "\n".join(lines), str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_algorithms_page_lists_the_parameters(algorithm: type[BoostingClassifier]) -> None:
    page = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    sections = [section for section in page.split("\n## ") if f"`manyboost.{algorithm.__name__}`" in section]
    assert len(sections) == 1, f"docs/algorithms.md needs one section on {algorithm.__name__}"
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", sections[0], re.MULTILINE)
    shown = {name: repr(value).replace("'", '"') for name, value in own_parameters(algorithm).items()}
    assert dict(rows) == shown


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=ALGORITHMS)
def test_every_algorithm_is_public_and_in_the_readme(algorithm: type[BoostingClassifier]) -> None:
    assert algorithm.__name__ in manyboost.__all__
    assert f"`{algorithm.__name__}`" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_changelog_knows_the_version() -> None:
    assert f"## [{manyboost.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
