"""Promises of operating points: how often they are kept, and what they cost, beside rivals.

The same as ``run.py --question operating``; `questions.operating` says what is measured and how.
"""

import sys

from run import main

if __name__ == "__main__":
    sys.argv[1:1] = ["--question", "operating"]
    sys.exit(main())
