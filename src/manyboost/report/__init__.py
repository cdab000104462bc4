"""One HTML page for a comparison, with everything in it: no network, no other file.

Needs jinja2 and matplotlib: ``pip install "manyboost[report]"``.
"""

from manyboost.report.curves import draw_curves
from manyboost.report.findings import Findings
from manyboost.report.page import write_report

__all__ = ["Findings", "draw_curves", "write_report"]
