import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_there_is_an_example():
    assert EXAMPLES


@pytest.mark.parametrize("source", EXAMPLES)
def test_example_runs(source):
    exec(compile(source, "<example in README>", "exec"), {})
