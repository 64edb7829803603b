"""Text recognition (OCR) of scans in Spanish: character error rate, CPU seconds and memory a page, by engine.

    python -m benchmarks.recognition

The scans are made by code: three fonts, 8 to 12 points, 150 to 300 dots per inch, grain, blur, up to 1.2 degrees askew.
Tesseract is measured too if it is installed (Debian: ``tesseract-ocr tesseract-ocr-spa``).
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

from PIL import Image

from benchmarks.measure import Report
from ragcorp.domain.documents import SourceFile

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.recognition.scans import PROSE, Scanner, character_errors, image_file

PARAGRAPHS = 24
LETTERS = "áéíóúüñÁÉÍÓÚÜÑ¿¡€ºª"
SCANNERS = (
    Scanner(font="times", size=11, dpi=300),
    Scanner(font="times", size=11, dpi=200, noise=8, angle=0.4, blur=0.5),
    Scanner(font="times", size=10, dpi=150, noise=10, angle=-0.6, blur=0.5),
    Scanner(font="helvetica", size=11, dpi=300, noise=8, angle=0.7, blur=0.6),
    Scanner(font="helvetica", size=10, dpi=200, noise=12, angle=-0.4, blur=0.6),
    Scanner(font="helvetica", size=9, dpi=150, noise=6, angle=0.3, blur=0.4),
    Scanner(font="courier", size=10, dpi=200, noise=10, angle=0.3, blur=0.5),
    Scanner(font="helvetica", size=8, dpi=300, noise=10, angle=0.5, blur=0.8),
    Scanner(font="times", size=12, dpi=150, noise=25, angle=1.2, blur=0.7),
)


def page_text(seed: int) -> str:
    rng = Random(seed)
    return "\n".join(rng.choice(PROSE) for _ in range(PARAGRAPHS))


def paddle() -> Callable[[Image.Image], str]:
    from ragcorp.infrastructure.recognition.recognizer import PageRecognizer

    recognizer = PageRecognizer()

    def read(scan: Image.Image) -> str:
        file = SourceFile(content=image_file(scan), media_type="image/png", filename="scan.png")
        return recognizer.recognize(file, 1).text

    return read


def tesseract(language: str) -> Callable[[Image.Image], str]:
    def read(scan: Image.Image) -> str:
        command = ["tesseract", "-", "-", "-l", language]
        environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
        return subprocess.run(
            command, input=image_file(scan), capture_output=True, check=True, env=environment
        ).stdout.decode()

    return read


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def measure(make: Callable[[], Callable[[Image.Image], str]]) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return a row for each scan, and the figures of all, in this process, which does nothing else."""
    read = make()
    rows: list[dict[str, object]] = []
    errors, seconds = [], []
    wanted, found = 0, 0
    for seed, scanner in enumerate(SCANNERS):
        truth = page_text(seed)
        scan = scanner.scan(truth)
        started = cpu_seconds()
        text = read(scan)
        seconds.append(cpu_seconds() - started)
        errors.append(character_errors(truth, text))
        wanted += sum(truth.count(letter) for letter in LETTERS)
        found += sum(min(truth.count(letter), text.count(letter)) for letter in LETTERS)
        rows.append(
            {
                "scan": f"{scanner.font} {scanner.size:g} pt, {scanner.dpi} dpi, noise {scanner.noise:g}",
                "CER %": f"{100 * errors[-1]:.2f}",
                "CPU s": f"{seconds[-1]:.1f}",
            }
        )
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return rows, {
        "CER %": f"{100 * sum(errors) / len(errors):.2f}",
        "Spanish letters %": f"{100 * found / wanted:.1f}",
        "CPU s a page": f"{sum(seconds) / len(seconds):.1f}",
        "MB": peak >> 10,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = Report(as_json=arguments.json)
    engines: dict[str, Callable[[], Callable[[Image.Image], str]]] = {"PP-OCRv6 small (rapidocr)": paddle}
    if shutil.which("tesseract"):
        engines["Tesseract, spa"] = partial(tesseract, "spa")
    totals: list[dict[str, object]] = []
    for name, make in engines.items():
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows, total = pool.submit(measure, make).result()
        report.table(name, rows)
        totals.append({"engine": name, **total})
    report.table("Engines", totals)
    report.end()


if __name__ == "__main__":
    main()
