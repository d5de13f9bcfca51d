"""Quantiles and intervals of `QuantileSVRCV`, beside its variants, forests and boosting.

The same as ``run.py --question quantiles``; `questions.quantiles` says what is measured and how.
"""

import sys

from run import main

if __name__ == "__main__":
    sys.argv[1:1] = ["--question", "quantiles"]
    sys.exit(main())
