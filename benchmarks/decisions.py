"""Decisions without tuning by hand, beside calibrated SVMs, logistic regression and boosting.

The same as ``run.py --question decisions``; `questions.decisions` says what is measured and how.
"""

import sys

from run import main

if __name__ == "__main__":
    sys.argv[1:1] = ["--question", "decisions"]
    sys.exit(main())
