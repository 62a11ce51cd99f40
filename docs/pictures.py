"""Make the pictures of the documentation.

    python docs/pictures.py packages       docs/pictures/packages.svg
    python docs/pictures.py report         docs/pictures/report.png and routing.png

The second takes screenshots of a report on the embedded survey. It needs chromium, chromedriver and
selenium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from base64 import b64decode
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

PICTURES = Path(__file__).resolve().with_name("pictures")
WIDTH, HEIGHT = 1100, 820
_FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-proxy-server")

_STYLE = """\
  .box { fill: #e6f2f1; stroke: #00796b; stroke-width: 1.5 }
  .part { fill: #fff; stroke: #00796b; stroke-width: 1 }
  .shared { fill: #f3f3f3; stroke: #888; stroke-width: 1.5 }
  .after { fill: #fff8e6; stroke: #9a7100; stroke-width: 1.5 }
  .way { fill: none; stroke: #666; stroke-width: 1.5; marker-end: url(#tip) }
  text { fill: #222; text-anchor: middle }
  .name { font-weight: 600 }
  .note { font-size: 13px; fill: #555 }
  .tip { fill: #666 }
  @media (prefers-color-scheme: dark) {
    .box { fill: #12332f; stroke: #4db6ac }
    .part { fill: #1c1c1c; stroke: #4db6ac }
    .shared { fill: #2b2b2b; stroke: #999 }
    .after { fill: #3a3013; stroke: #d9b44a }
    .way { stroke: #aaa }
    text { fill: #eee }
    .note { fill: #bbb }
    .tip { fill: #aaa }
  }
"""
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
    ' orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
)


class Box(NamedTuple):
    """A rectangle with the name of a package and a few words about it."""

    style: str
    x: int
    y: int
    width: int
    height: int
    name: str
    notes: tuple[str, ...] = ()
    top: bool = False

    def svg(self) -> str:
        """Return the rectangle and its lines, centred or at the top."""
        middle = self.x + self.width // 2
        lines = [("name", self.name), *(("note", note) for note in self.notes)]
        first = self.y + (22 if self.top else (self.height - 18 * (len(lines) - 1)) // 2 + 5)
        texts = "".join(
            f'<text class="{style}" x="{middle}" y="{first + 18 * line}">{escape(text)}</text>'
            for line, (style, text) in enumerate(lines)
        )
        corner = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}"'
        return f'<rect class="{self.style}" {corner} rx="6"/>{texts}'


PACKAGES = (
    Box("box", 16, 12, 928, 56, "cli", ("parses the options, calls one function, prints",)),
    Box(
        "box",
        16,
        96,
        928,
        56,
        "imputer",
        ("TabSODAImputer and impute_file: the order of the work",),
    ),
    Box("box", 16, 190, 172, 76, "1  reading", ("with schema and states:", "file → survey")),
    Box("box", 205, 190, 172, 76, "2  skips", ("with questionnaire:", "blank → skipped")),
    Box("box", 394, 190, 172, 76, "3  engines", ("one protocol:", "fit, impute, draw")),
    Box("box", 583, 190, 172, 76, "4  routing, edits", ("missing gates, and", "answers that fit")),
    Box("box", 772, 190, 172, 76, "5  results", ("Imputations,", "the result folder")),
    Box("box", 16, 316, 550, 146, "engine", ("the default",), top=True),
    Box("part", 30, 370, 118, 78, "network", ("predicts hidden", "answers")),
    Box("part", 158, 370, 118, 78, "trees", ("boosted, one", "per question")),
    Box("part", 286, 370, 118, 78, "regressions", ("chained, one", "per question")),
    Box("part", 430, 370, 122, 78, "ensemble", ("blends the three,", "calibrates")),
    Box("box", 583, 316, 361, 146, "paper", ("the published method (--preset)",), top=True),
    Box("part", 597, 370, 104, 78, "codec", ("bits, latents,", "cutpoints")),
    Box("part", 711, 370, 104, 78, "denoiser", ("noise, losses,", "sampler")),
    Box("part", 825, 370, 105, 78, "em", ("M-step and", "E-step")),
    Box(
        "shared",
        *(16, 482, 928, 56),
        "coding, torch_runtime, cost, followers",
        ("used by both engines: row order, training loop, cost estimate, saved models",),
    ),
    Box("after", 16, 572, 172, 76, "review, desk", ("pages in the browser:", "rules; all steps")),
    Box("after", 205, 572, 172, 76, "report", ("report.html", "and report.json")),
    Box("after", 394, 572, 172, 76, "analysis", ("pooling by", "Rubin's rules")),
    Box(
        "after",
        583,
        572,
        172,
        76,
        "exchange, publishing",
        ("files, code, tables", "for other programs"),
    ),
    Box("after", 772, 572, 172, 76, "scale", ("files larger than", "memory")),
    Box(
        "after", 16, 664, 361, 56, "bench, diagnosis, reproduce", ("hide answers, compare methods",)
    ),
    Box("after", 394, 664, 172, 56, "datasets", ("a simulated survey",)),
    Box(
        "shared",
        583,
        664,
        361,
        56,
        "survey, table, events, event_texts",
        ("types and texts for all packages",),
    ),
)
ARROWS = (
    "M480 68V94",
    "M102 152V188",
    "M291 152V188",
    "M480 152V188",
    "M669 152V188",
    "M858 152V188",
    "M583 228H568",
    "M440 266 C440 290 300 290 300 314",
    "M520 266 C520 290 763 290 763 314",
)


def packages_svg() -> str:
    """Return the picture of the packages that one ``tabsoda impute`` goes through."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 734" role="img"'
        ' font-family="system-ui, sans-serif" font-size="15">',
        "<title>The packages of tabsoda, in the order in which tabsoda impute calls them</title>",
        f"<style>\n{_STYLE}</style>",
        _TIP,
        *(box.svg() for box in PACKAGES),
        *(f'<path class="way" d="{arrow}"/>' for arrow in ARROWS),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def write_example_report(folder: Path) -> Path:
    """Impute the embedded survey, and write its report."""
    from tabsoda import TabSODAImputer, mine_rules, read_survey
    from tabsoda.datasets import make_survey

    make_survey(n_rows=1000, seed=1).write(folder, formats=("sav",))
    survey = read_survey(folder / "survey.sav")
    rules = mine_rules(survey).approve(note="read", by="Ann Smith")
    imputer = TabSODAImputer(description=survey.schema, rules=rules, random_state=1)
    result = imputer.fit(survey).impute(survey, m=5)
    result.report(folder / "report.html")
    return folder / "report.html"


def start_browser(profile: Path) -> Any:
    """Start Debian's chromium without a window."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*_FLAGS, f"window-size={WIDTH},{HEIGHT}", f"user-data-dir={profile}"):
        options.add_argument(f"--{flag}")
    service = webdriver.ChromeService(str(shutil.which("chromedriver")))
    return webdriver.Chrome(options=options, service=service)


def take_screenshots() -> None:
    """Write the pictures of a report."""
    with tempfile.TemporaryDirectory() as place:
        page = write_example_report(Path(place))
        browser = start_browser(Path(place) / "profile")
        try:
            browser.get(page.as_uri())
            browser.save_screenshot(str(PICTURES / "report.png"))
            clip = browser.find_element("id", "routing").rect | {"height": 677, "scale": 1}
            # Pictures of elements ignore how far they are from the left edge.
            taken = browser.execute_cdp_cmd(
                "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
            )
            (PICTURES / "routing.png").write_bytes(b64decode(taken["data"]))
        finally:
            browser.quit()


def main(wanted: list[str]) -> None:
    """Make the pictures that are named."""
    if not wanted or not set(wanted) <= {"packages", "report"}:
        sys.exit(__doc__)
    PICTURES.mkdir(exist_ok=True)
    if "packages" in wanted:
        (PICTURES / "packages.svg").write_text(packages_svg(), encoding="utf-8")
    if "report" in wanted:
        take_screenshots()


if __name__ == "__main__":
    main(sys.argv[1:])
