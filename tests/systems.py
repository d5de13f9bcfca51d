"""What POSIX has and other systems have not, for tests that ask for it."""

import os
import signal

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
# Ends a process at once, without asking it; elsewhere `os.kill` does that with any other signal.
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
