"""Wheels for 64-bit ARM, made and tested on another machine: what ``python -m tools.linux_wheels --aarch64`` needs.

    gcc-aarch64-linux-gnu       a compiler that runs here and writes for ARM, with OpenMP
    qemu-user-static            an emulator: it runs a program of ARM here
    Debian's Python for ARM     runs in the emulator, and tests the wheel

All three are packages of Debian, which `tools.pythons` unpacks into build/pythons/aarch64. Nothing is installed.

The Python of this machine builds the wheel, with its own headers and those of its NumPy: for both machines they say the same about
what an extension module uses. So the C sources that Cython has written once serve both, too.
"""

import platform

from tools.python_table import call
from tools.pythons import HERE, SUITES, fetch

FOLDER = HERE / "aarch64"
TOOLS = FOLDER / "tools"                            # programs of this machine
LIBRARIES = TOOLS / "usr" / "aarch64-linux-gnu" / "lib"     # libgomp for ARM
# The emulator takes ten to thirty times as long. So an eighth of these tests stands for all: the kernels, views, and what the
# engine calls when.
TESTS = ["--share=1/8", "tests/kernels/test_contract.py", "tests/core/test_views.py", "tests/core/test_engine_order.py"]


def release():
    """The name of the Debian of this machine, such as ``bookworm``."""
    return platform.freedesktop_os_release().get("VERSION_CODENAME", "stable")


def write_script(path, *lines):
    """Write a program for /bin/sh. Return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), "utf-8")
    path.chmod(0o755)
    return path


def settings(version):
    """The environment in which the Python of this machine builds a wheel for ARM.

    Raises:
        Unavailable: the compiler cannot be had.
    """
    if not (TOOLS / "gcc").exists():
        fetch(["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user-static"], TOOLS, [release()])
        write_script(TOOLS / "gcc",
                     f"export PATH={TOOLS}/usr/bin:$PATH LD_LIBRARY_PATH={TOOLS}/usr/lib/{platform.machine()}-linux-gnu",
                     f'exec {TOOLS}/usr/bin/aarch64-linux-gnu-gcc --sysroot={TOOLS} "$@"')
    return {"CC": f"{TOOLS}/gcc", "LDSHARED": f"{TOOLS}/gcc -shared", "_PYTHON_HOST_PLATFORM": "linux-aarch64",
            "SETUPTOOLS_EXT_SUFFIX": f".cpython-{version.replace('.', '')}-aarch64-linux-gnu.so"}


def make_environment(version, inside, folder):
    """Make a virtual environment in the emulator. Its Python is a script, which programs of this machine can start.

    Args:
        version (str): of Python.
        inside (Path): a Python of this version with pip, on this machine. In the emulator, pip would take minutes.
        folder (Path): where to make it.

    Returns:
        Its Python, and the command that installs packages into it.

    Raises:
        Unavailable: Debian has no such Python.
    """
    root = FOLDER / version
    if not (root / "lib").exists():
        fetch([f"python{version}", "libstdc++6"], root, [release(), *SUITES], "arm64")
        (root / "lib").symlink_to("usr/lib")        # a package of Debian that we have not unpacked would make this link
        call(inside, "-m", "compileall", "-q", root / "usr" / "lib" / f"python{version}")   # a .pyc file serves all machines
    packages = folder / "lib" / f"python{version}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {root}/usr/bin\ninclude-system-site-packages = false\n", "utf-8")
    python = write_script(folder / "bin" / "python",
                          # A processor without SVE: with it, OpenBLAS computes wrong numbers in the emulator.
                          f'exec {TOOLS}/usr/bin/qemu-aarch64-static -cpu cortex-a72 -L {root} -0 "$0" '
                          f'{root}/usr/bin/python{version} "$@"')
    tags = [part for minor in range(17, 40) for part in ("--platform", f"manylinux_2_{minor}_aarch64")]
    return python, [inside, "-m", "pip", "install", "--target", packages, "--only-binary", ":all:", *tags]
