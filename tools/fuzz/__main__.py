"""Solve random problems of many families, and judge every answer independently of the library."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # this folder is the package `fuzz`

from fuzz.run import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
