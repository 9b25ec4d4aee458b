"""The report of a real comparison in Chromium: as a person opens it, headless."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from tests.reports.reading import Page
from tests.reports.test_page import SECTIONS, records
from towpath.reports.page import write_report

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"
)
LIGHT, DARK = 1, 0


def browse(page, profile, *options, at=""):
    """Standard output and error of a headless visit; `at` is the part after the address's #."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # not even the browser's own
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
        "--v=0",
        *options,
        f"{page.as_uri()}#{at}" if at else page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


def requested(log):
    """Every URL in a net log that the page asked for (the browser's own have no initiator)."""
    text = log.read_text()
    try:
        events = json.loads(text)["events"]
    except json.JSONDecodeError:  # the log of a browser that ends fast lacks its closing brackets
        events = json.loads(text.rstrip().rstrip(",") + "]}")["events"]
    return {
        event["params"]["url"]
        for event in events
        if isinstance(event.get("params"), dict)
        and event["params"].get("initiator", "not an origin") != "not an origin"
    }


@pytest.fixture(scope="module")
def page(comparison, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report([comparison], path)
    return path


def test_opens_without_errors_or_requests_and_shows_the_records(page, comparison, tmp_path):
    log = tmp_path / "net.json"
    dom, said = browse(page, tmp_path / "p", "--dump-dom", f"--log-net-log={log}")
    console = [line for line in said.splitlines() if "CONSOLE" in line]
    assert console == []
    assert {url for url in requested(log) if not url.startswith(("file:", "data:"))} == set()
    shown = Page(dom)
    assert shown.sections == [f"tiny-{name}" for name in SECTIONS]
    assert len(shown.svgs) >= 12
    for svg in shown.svgs.values():
        assert len(svg["shapes"]) > 3, svg["id"]
        assert svg["text"].strip()
    for line, label in zip(
        shown.lines("tiny-curve-steps"), ("uniform", "tow-targets"), strict=True
    ):
        checks = [
            [
                (r["step"], 100 * r["validation"]["mean"])
                for r in records(comparison / f"{label}-seed{seed}")
                if "validation" in r
            ]
            for seed in (0, 1)
        ]
        assert np.allclose(line, np.mean(checks, axis=0), atol=0.05)


def test_a_console_error_would_be_seen(tmp_path):
    """The check above can fail: a page with a broken script and a request to the outside."""
    bad = tmp_path / "bad.html"
    bad.write_text("<script>throw new Error('x')</script><img src='http://127.0.0.1:9/x.png'>")
    log = tmp_path / "net.json"
    _, said = browse(bad, tmp_path / "p", "--dump-dom", f"--log-net-log={log}")
    assert any("CONSOLE" in line for line in said.splitlines())
    assert any(url.startswith("http://127.0.0.1:9/") for url in requested(log))


@pytest.mark.parametrize("width", [390, 1400])
def test_light_and_dark_at_two_widths(page, width, tmp_path):
    means = []
    for scheme in (LIGHT, DARK):
        shot = tmp_path / f"{width}-{scheme}.png"
        browse(
            page,
            tmp_path / f"p{scheme}",
            f"--window-size={width},1600",
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--screenshot={shot}",
        )
        with Image.open(shot) as image:
            assert image.size == (width, 1600)
            pixels = np.asarray(image.convert("L"), dtype=float)
        means.append(pixels.mean())
        assert pixels.std() > 10  # something is drawn
        # nothing sticks out: the outermost columns are all background
        assert np.ptp(pixels[:, -6:], axis=1).max() < 40
    assert means[0] > 200 > 80 > means[1]


WHERE = """<script>
function where(id) {
  const place = document.querySelector(`#${id} h2`).getBoundingClientRect();
  return place.top >= 0 && place.bottom <= innerHeight ? "in view" : `at ${place.top}`;
}
addEventListener("load", () => {
  const loaded = where("LOADED");
  document.querySelector('a[href="#FOLLOWED"]').click();
  document.title = `${loaded}, then ${where("FOLLOWED")}`;
});
</script>"""


@pytest.mark.parametrize(
    ("loaded", "followed"), [("tiny-weights", "tiny-made"), ("tiny-made", "tiny-curves")]
)
def test_a_section_is_in_view_once_its_link_was_followed(page, tmp_path, loaded, followed):
    """Also in the address that the page is loaded from; sections are far below the first view."""
    text = page.read_text()
    script = WHERE.replace("LOADED", loaded).replace("FOLLOWED", followed)
    text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', script, text, count=1)
    assert script in text  # a report runs none, so this copy looks in its place
    copy = tmp_path / "copy.html"
    copy.write_text(text)
    dom, _ = browse(copy, tmp_path / "p", "--dump-dom", at=loaded)
    assert re.findall("<title>(.*?)</title>", dom)[:1] == ["in view, then in view"]
