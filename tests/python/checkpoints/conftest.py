"""These tests need PyTorch, which `make test-torch` installs. They are skipped without it."""

import importlib.util
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
collect_ignore_glob = ["kill_test.py"] + ([] if importlib.util.find_spec("torch") else ["test_*.py"])
