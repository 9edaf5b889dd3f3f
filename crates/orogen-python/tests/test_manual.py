"""The Python of the manual, run as a reader would: every block in turn, what is shown compared with what happens."""

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("page", ["docs/src/python.md", "README.md"])
def test_every_block_of_the_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink(ROOT / "recipes", tmp_path / "recipes")
    blocks = re.findall(r"^```(python|pycon)\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert blocks, f"{page} has no Python"
    names: dict[str, object] = {}
    for language, text in blocks:
        if language == "python":
            exec(compile(text, page, "exec"), names)
            continue
        report: list[str] = []
        test = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        failed = runner.run(test, out=report.append, clear_globs=False).failed
        assert failed == 0, "".join(report)
        # The test works on a copy of the names.
        names.update(test.globs)
