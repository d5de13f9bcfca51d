import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_there_is_an_example():
    assert EXAMPLES


def test_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for source in EXAMPLES:
        exec(compile(source, "<example in README>", "exec"), names)
