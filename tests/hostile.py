"""The program that makes hostile files, for tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools" / "hostile_files"))

from anatomy import Parts, assembled, places, put
from good_models import more_free_than_columns
from judging import judge_all

PROGRAM = Path(__file__).parents[1] / "tools" / "hostile_files"
__all__ = [
    "PROGRAM",
    "Parts",
    "assembled",
    "judge_all",
    "more_free_than_columns",
    "places",
    "put",
]
