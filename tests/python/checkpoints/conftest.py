"""These tests need PyTorch: `make test-torch` installs it. They are left out where it is missing."""

import importlib.util
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
