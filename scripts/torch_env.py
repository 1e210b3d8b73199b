#!/usr/bin/env python3
"""Makes a virtual environment with PyTorch for tests on the CPU, without the gigabytes of CUDA libraries that its
package depends on: python3 scripts/torch_env.py DIRECTORY. An existing complete environment is left unchanged.

PyTorch's own libraries are linked with CUDA libraries even if it never calls them. The two libraries that it calls
at load time (cudart and cupti) are installed; the others are replaced by empty libraries of the same names."""

import glob
import os
import re
import subprocess
import sys
import venv

TORCH = "torch==2.15.0"
NEEDS = [
    "numpy",
    "fsspec",
    "safetensors>=0.8",
    "pytest",
    "mypy",
    "filelock",
    "typing-extensions",
    "sympy",
    "networkx",
    "jinja2",
    "setuptools>=77.0.3",
]
DRIVER = ["nvidia-cuda-runtime==13.2.*", "nvidia-cuda-cupti==13.2.*"]
PURPOSE = "for tests of sheaf.torch"


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def missing_libraries(folder):
    """Returns the names of shared libraries that `import torch` needs and the loader does not find."""
    found = set()
    for path in (f"{folder}/libtorch_python.so", f"{folder}/libtorch_global_deps.so"):
        told = subprocess.run(
            ["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ).stdout
        found |= set(re.findall(r"^\s*(lib\S+) => not found", told, re.M))
    return sorted(found)


def wanted_versions(folder, name):
    """Returns the symbol versions that PyTorch's libraries require from a library."""
    found = set()
    for path in glob.glob(f"{folder}/lib*.so*"):
        for file, names in re.findall(
            r"Version: 1\s+File: (\S+)\s+Cnt: \d+\n((?:.*Name: .*\n)+)", run("readelf", "-VW", path)
        ):
            if file == name:
                found |= set(re.findall(r"Name: (\S+)", names))
    return sorted(found)


def wanted_at_load(folder, versions):
    """Returns the symbols with the given versions that are needed to load the library. All others are resolved at their
    first call."""
    found = set()
    for path in glob.glob(f"{folder}/lib*.so*"):
        for symbol, version in re.findall(
            r"R_X86_64_GLOB_DAT\s+\S+\s+(\w+)@(\S+)", run("readelf", "-rW", path)
        ):
            if version in versions:
                found.add((symbol, version))
    return sorted(found)


def make_empty(folder, name):
    versions = wanted_versions(folder, name)
    symbols = wanted_at_load(folder, versions)
    script = os.path.join(folder, f"{name}.versions")
    with open(script, "w") as file:
        for version in versions or ["EMPTY"]:
            exported = "".join(f"{symbol}; " for symbol, of in symbols if of == version)
            file.write(f"{version} {{ {'global: ' if exported else ''}{exported}}};\n")
    source = "".join(f"long {symbol};\n" for symbol, _ in symbols) + "typedef int nothing;\n"
    subprocess.run(
        [
            "cc",
            "-shared",
            "-x",
            "c",
            "-",
            "-o",
            os.path.join(folder, name),
            f"-Wl,-soname,{name}",
            f"-Wl,--version-script={script}",
        ],
        input=source,
        text=True,
        check=True,
    )
    os.remove(script)


def main(directory):
    python = os.path.join(directory, "bin", "python")
    done = os.path.join(directory, "complete")
    wanted = " ".join([TORCH, *NEEDS, *DRIVER])
    if os.path.exists(done) and open(done).read() == wanted:
        return
    print(f"installing {TORCH} in {directory} ({PURPOSE}; 1.6 GB)", flush=True)
    venv.create(directory, with_pip=True, clear=True)
    pip = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-cache-dir",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, *NEEDS, *DRIVER], check=True)
    subprocess.run([*pip, "--no-deps", TORCH], check=True)
    folder = (
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip()
        + "/torch/lib"
    )
    with open(os.path.join(folder, "..", "..", "lazy_binding.pth"), "w") as file:
        file.write("import os, sys; sys.setdlopenflags(os.RTLD_LAZY)\n")
    while True:
        missing = missing_libraries(folder)
        if not missing:
            break
        for name in missing:
            make_empty(folder, name)
    subprocess.run(
        [
            python,
            "-c",
            "import torch.distributed.checkpoint, torch.distributed as d; assert d.is_gloo_available()",
        ],
        check=True,
    )
    with open(done, "w") as file:
        file.write(wanted)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]))
