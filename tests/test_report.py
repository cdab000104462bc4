"""The report: what is in it, that it needs nothing else, and how it behaves in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from manyboost.evaluation import DataSet, KFold
from manyboost.evaluation.runs import FIELDS
from manyboost.plots import StagedErrorDisplay
from manyboost.report import Findings, write_report

ALGORITHMS = ("Alpha", "Beta", "Gamma & <Delta>", "An algorithm with quite a long name")
SETS = ("wine", "glass", "a set with a long name", "zoo")


def results(sets: tuple[str, ...] = SETS, folds: int = 4) -> pd.DataFrame:
    """What a run of the algorithms, the first of which is best, would have left."""
    rng = np.random.default_rng(0)
    rows = []
    for data_set in sets:
        for at, algorithm in enumerate(ALGORITHMS):
            for fold in range(folds):
                error = 0.1 + 0.05 * at + rng.normal(0, 0.004)
                rows.append({
                    "data_set": data_set, "algorithm": algorithm, "split": f"1-{fold + 1}", "error": error, "log_loss": 2 * error,
                    "fit_seconds": 1.0 + at, "predict_seconds": 0.01, "rounds": 4, "weak_learners": 8, "train_rows": 75, "test_rows": 25,
                    "seed": 0, "settings": "s", "parameters": f"{algorithm}(depth={at})", "versions": "manyboost 0.1.0",
                    "curve": f"1:0.5 2:0.4 4:{error:.4f}" if at < 3 else np.nan,
                })  # fmt: skip
    return pd.DataFrame(rows, columns=list(FIELDS))


def page(path: Path, table: pd.DataFrame, **settings: Any) -> str:
    data = [DataSet(name, pd.DataFrame({"x": [1, 1], "z": [1, 2]}), np.array([0, 1])) for name in dict.fromkeys(table["data_set"])]
    settings = {"data_sets": data, "protocol": KFold(4), "title": "Comparison <of> classifiers", "notes": ["Mind & see."], **settings}
    return write_report(Findings(table), path, **settings).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    page(path, results(), command="manyboost <compare>")
    return path


class Page(HTMLParser):
    """Tags with their attributes, in order; complains of tags that are not closed."""

    VOID = frozenset(("meta", "link", "br", "input"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(report: Path) -> None:
    parsed = Page(report.read_text(encoding="utf-8"))
    assert not parsed.open
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "xlink:href", "action", "data"):
            target = attributes.get(name) or ""
            assert target.startswith(("#", "data:")) or not target, (tag, name, target)
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for tag, attributes in parsed.tags if tag == "a"}
    assert {target[1:] for target in targets if target} <= set(ids)


def test_the_page_can_be_read_without_eyes(report: Path) -> None:
    parsed = Page(report.read_text(encoding="utf-8"))
    tags = [tag for tag, _ in parsed.tags]
    assert tags.count("h1") == tags.count("main") == tags.count("nav") == 1
    assert next(attributes for tag, attributes in parsed.tags if tag == "html")["lang"] == "en"
    for tag, attributes in parsed.tags:
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag == "table":
            assert attributes["aria-describedby"]


def test_an_algorithm_has_one_colour_in_all_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = results()
    table.loc[(table["data_set"] == "zoo") & (table["algorithm"] == "Alpha"), "error"] += 0.07  # second there, best elsewhere
    drawn: list[dict[str, str]] = []
    draw = StagedErrorDisplay.plot

    def note(self: StagedErrorDisplay, **settings: Any) -> StagedErrorDisplay:
        draw(self, **settings)
        drawn.append({line.get_label(): line.get_color() for line in self.ax_.get_lines()})
        return self

    monkeypatch.setattr(StagedErrorDisplay, "plot", note)
    page(tmp_path / "report.html", table)
    assert [list(colours) for colours in drawn[2:]] == [list(ALGORITHMS[:3]), ["Beta", "Alpha", "Gamma & <Delta>"]]
    assert all(colours == drawn[0] for colours in drawn)


def test_names_are_escaped(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "manyboost &lt;compare&gt;" in text
    assert "<Delta>" not in text
    assert "Gamma &amp; &lt;Delta&gt;" in text
    assert "Comparison &lt;of&gt; classifiers" in text
    assert "Mind &amp; see." in text


def test_findings_over_several_sets() -> None:
    findings = Findings(results())
    assert findings.best == "Alpha"
    assert findings.ranking["mean_rank"].tolist() == [1, 2, 3, 4]
    assert findings.comparison is not None
    assert np.isnan(findings.ranking["p_value"].iloc[0])
    assert findings.ranking["p_value"].tolist()[1:] == findings.comparison.nemenyi["Alpha"].tolist()[1:]
    assert findings.sentence().startswith("Alpha is best, Beta second (mean rank 1.00 against 2.00")


def test_findings_on_one_set_compare_folds(tmp_path: Path) -> None:
    findings = Findings(results(("wine",)))
    assert findings.comparison is None
    assert (findings.ranking["p_value"].iloc[1:] < 0.05).all()
    assert "which is significant); 3 of the 3 others" in findings.sentence()
    assert "There is one data set" in page(tmp_path / "report.html", results(("wine",)))
    single = Findings(results(("wine",), folds=1))
    assert single.ranking["p_value"].isna().all()
    assert single.sentence().endswith("; with a single split nothing can be said of significance.")


def test_what_failed_is_left_out_of_the_ranking_and_named(tmp_path: Path) -> None:
    table = results()
    table["message"] = table["message"].astype(object)
    failed = (table["algorithm"] == "Beta") & (table["data_set"] == "zoo")
    table.loc[failed, ["error", "log_loss"]] = np.nan
    table.loc[failed, "message"] = "ValueError: too many animals"
    findings = Findings(table)
    assert "Beta" not in findings.ranking.index
    assert findings.failures.to_numpy().tolist() == [["zoo", "Beta", "ValueError: too many animals"]]
    assert "Beta on zoo: ValueError: too many animals" in page(tmp_path / "report.html", table)


def test_one_algorithm_alone(tmp_path: Path) -> None:
    table = results(("wine",))
    alone = table[table["algorithm"] == "Alpha"]
    assert "nothing to compare it with" in page(tmp_path / "report.html", alone)


# ---- in a browser ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("there is no chromium with chromedriver here")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield opened
    opened.quit()


OVERLAPS = """
const seen = [...document.querySelectorAll("h1, h2, h3, p, .scroll, figure, nav li, summary")].filter((one) => one.checkVisibility());
const boxes = seen.map((one) => [one, one.getBoundingClientRect()]);
return boxes.flatMap(([a, r], i) => boxes.slice(i + 1).filter(([b, s]) => !a.contains(b) && !b.contains(a)
  && Math.min(r.right, s.right) - Math.max(r.left, s.left) > 1 && Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top) > 1)
  .map(([b]) => a.textContent.slice(0, 30) + " / " + b.textContent.slice(0, 30)));
"""
WIDER = """
return [...document.querySelectorAll("h1, h2, h3, p, li, .scroll, figure, summary, select")]
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((one) => one.textContent.slice(0, 40));
"""
HEIGHTS = "return [...document.querySelectorAll('svg')].map((one) => one.getBoundingClientRect().height)"
COLUMN = "return [...document.querySelectorAll('#cells tbody tr:not([hidden])')].map((row) => row.cells[arguments[0]].textContent)"
CHOOSE = """
const head = document.querySelectorAll("#cells th[scope=col]")[arguments[0]];
head.querySelector("button").click();
return head.ariaSort;
"""


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_in_chromium(browser: Any, report: Path, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(report.as_uri())
    assert browser.execute_script("const root = document.documentElement; return root.scrollWidth - root.clientWidth") == 0
    assert browser.execute_script(OVERLAPS) == []
    assert browser.execute_script(WIDER) == []
    assert min(browser.execute_script(HEIGHTS)) > 100

    assert browser.execute_script(CHOOSE, 2) == "ascending"
    numbers = [float(text) for text in browser.execute_script(COLUMN, 2)]
    assert numbers == sorted(numbers)
    assert len(numbers) == len(ALGORITHMS) * len(SETS)
    assert browser.execute_script(CHOOSE, 2) == "descending"
    assert [float(text) for text in browser.execute_script(COLUMN, 2)] == sorted(numbers, reverse=True)
    browser.execute_script(CHOOSE, 1)
    names = browser.execute_script(COLUMN, 1)
    assert names == sorted(names, key=str.lower)
    browser.execute_script(
        "const chosen = document.getElementById('filter'); chosen.value = 'zoo'; chosen.dispatchEvent(new Event('change'))"
    )
    assert browser.execute_script(COLUMN, 0) == ["zoo"] * len(ALGORITHMS)
    assert browser.get_log("browser") == []
