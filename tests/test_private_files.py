"""Results are for their owner alone, in the folders named; one run at a time, no leftovers."""

import json
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

from tabsoda._internal.files import atomic_path, make_folder, temporary_prefix, write_text
from tabsoda._internal.folder_lock import hold_folder
from tabsoda.errors import InputError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")

# A whole day of work, with the paths of all files opened for writing.
RUN = """
import os, sys, tempfile
from pathlib import Path
place = Path(sys.argv[1])
written = []
def note(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if isinstance(path, (str, bytes)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            written.append(os.fsdecode(path))
    elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
        written.append(os.fsdecode(arguments[1 if event != "os.mkdir" else 0]))
sys.dont_write_bytecode = True
os.umask(0o022)
from tabsoda.cli.main import main
from tabsoda.datasets import make_survey
import torch, sklearn.ensemble
truth = make_survey(80, n_columns=10, seed=3, nonresponse=0.1)
(place / "data").mkdir()
truth.write(place / "data")
truth.rules.to_toml(place / "data" / "rules.toml")
os.chmod(place / "data" / "rules.toml", 0o644)
os.chdir(place / "elsewhere")
sys.addaudithook(note)
data = [str(place / "data" / "survey.csv"), "--survey", str(place / "data" / "survey.toml")]
rules = str(place / "data" / "rules.toml")
out = str(place / "named" / "deep" / "out")
tiny = ["--quality", "tiny", "-m", "1", "--device", "cpu"]
main(["mine", *data, "-o", str(place / "named.toml")])
main(["impute", *data, "--rules", rules, "-o", out, *tiny])
main(["impute", *data, "--model", out + "/model", "-o", str(place / "named" / "again"), *tiny[2:]])
for to in ("stata", "r", "spss", "sas", "csv", "parquet"):
    main(["export", out, "--to", to, "-o", str(place / "named" / to)])
main(["report", out, "-o", str(place / "named" / "page.html")])
from tabsoda.reading import read_survey
from tabsoda.review.session import ReviewSession
session = ReviewSession(Path(rules), read_survey(data[0], data[2]), by="somebody")
found = session.summary()
session.decide(found["version"], [found["rules"][0]["id"]], "reject")
print("\\n" + "\\n".join(["WRITTEN", *written]))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("run")
    for name in ("named", "elsewhere", "temporary"):
        (place / name).mkdir()
    (place / "named").chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(place)],
        capture_output=True,
        text=True,
        # PyTorch, if loaded by another test, sets the folder of its cache for child processes too.
        env={k: v for k, v in os.environ.items() if not k.startswith("TORCHINDUCTOR")}
        | {
            "HOME": str(place / "elsewhere"),
            "TMPDIR": str(place / "temporary"),
            "OMP_NUM_THREADS": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    return place, done.stdout.rsplit("WRITTEN\n", 1)[1].splitlines()


def test_nothing_is_written_outside_the_folders_named(run):
    place, written = run
    allowed = (str(place / "named"), str(place / "data" / "rules.toml"))
    # Temporary files stand next to their target, with its name.
    beside = (str(place / ".named.toml."), str(place / "data" / ".rules.toml."))
    outside = [path for path in written if not path.startswith((*allowed, *beside, "/dev/"))]
    # Python tries whether the folder for temporary files can be written to, and PyTorch makes an
    # empty folder in it when it is imported. Neither keeps a file.
    assert {Path(path).parent for path in outside} <= {place / "temporary"}
    left = [path.name for path in (place / "temporary").rglob("*")]
    assert all(name.startswith("torchinductor_") for name in left)
    assert len(left) <= 1
    assert len([path for path in written if path.startswith(str(place / "named"))]) > 50
    assert list((place / "elsewhere").iterdir()) == []
    assert [path.name for path in place.rglob(".*")] == []


def test_everything_is_readable_by_its_owner_alone(run):
    place, _ = run
    named = [place / "named.toml", *(place / "named").rglob("*")]
    assert len(named) > 40
    for path in named:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_what_was_there_keeps_its_permissions(run):
    place, _ = run
    assert stat.S_IMODE((place / "named").stat().st_mode) == 0o755
    assert stat.S_IMODE((place / "data" / "rules.toml").stat().st_mode) == 0o644
    assert "rejected" in (place / "data" / "rules.toml").read_text()


def test_new_parents_are_private_and_old_ones_unchanged(tmp_path):
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (tmp_path, tmp_path / "a", tmp_path / "a/b")]
    assert modes == [0o755, 0o700, 0o700]


def test_files_of_killed_processes_are_removed_and_those_of_others_kept(tmp_path):
    target = tmp_path / "rules.toml"
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], text=True, capture_output=True
    )
    mine = temporary_prefix(target)
    abandoned = tmp_path / mine.replace(str(os.getpid()), ended.stdout.strip())
    running, strange = tmp_path / f"{mine}x.toml", tmp_path / ".rules.toml.backup"
    elsewhere = tmp_path / f".rules.toml.000000-{ended.stdout.strip()}.x"
    for path in (abandoned, running, strange, elsewhere):
        path.write_text("half")
    write_text(target, "whole")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"rules.toml", running.name, strange.name, elsewhere.name}


def test_a_long_name_can_be_written(tmp_path):
    target = tmp_path / ("x" * 240 + ".toml")
    with atomic_path(target) as temporary:
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_a_folder_is_held_by_one_process_until_it_ends(tmp_path):
    code = textwrap.dedent(
        """
        import sys, time
        from pathlib import Path
        from tabsoda._internal.folder_lock import hold_folder
        with hold_folder(Path(sys.argv[1])):
            print("held", flush=True)
            time.sleep(60)
        """
    )
    folder = tmp_path / "out"
    other = subprocess.Popen(
        [sys.executable, "-c", code, folder], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "held\n"
        message = r"Another run is writing into the folder .*out"
        with pytest.raises(InputError, match=message), hold_folder(folder):
            pass
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    # The system has released the lock of the killed process.
    with hold_folder(folder):
        (folder / "file").write_text("")
    assert (folder / "file").exists()


def test_only_a_folder_that_was_made_for_nothing_is_removed(tmp_path):
    with hold_folder(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with hold_folder(tmp_path / "old"):
        pass
    assert (tmp_path / "old").is_dir()


def test_terminated_commands_clean_up(tmp_path):
    code = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        import tabsoda.cli.main as cli
        from tabsoda._internal.files import atomic_path
        def work(*_, **__):
            with atomic_path(Path(sys.argv[1]) / "x.toml") as temporary:
                temporary.write_text("half")
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
        cli.app = work
        cli.main([])
        """
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path])
    assert done.returncode == 143
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "code"), [("| true", 0), ("> /dev/full", 2), ("--json > /dev/full", 2)]
)
def test_outputs_that_end_early(line, code, tmp_path):
    if "full" in line and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    pl.DataFrame({f"question_{k}": [k, k + 1] for k in range(20)}).write_csv(tmp_path / "a.csv")
    command = f"'{sys.executable}' -m tabsoda.cli.main inspect '{tmp_path / 'a.csv'}' {line}"
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert ("The output cannot be written: No space left" in done.stderr) == (code == 2)


def test_an_export_that_was_killed_while_moving_is_repeated(run, tmp_path):
    from tabsoda import load_result
    from tabsoda.exchange.exporting import RECORD, check_target, export

    result = load_result(run[0] / "named" / "deep" / "out")
    whole = {path.name: path.read_bytes() for path in export(result, "csv", tmp_path / "whole")}
    (tmp_path / "half").mkdir()
    ended = subprocess.run(["sh", "-c", "echo $$"], text=True, capture_output=True).stdout.strip()
    # Killed while it wrote the record that says so.
    prefix = temporary_prefix(tmp_path / "half" / RECORD).replace(str(os.getpid()), ended)
    (tmp_path / "half" / f"{prefix}x.json").write_text("{")
    check_target(tmp_path / "half", force=False)
    assert list((tmp_path / "half").iterdir()) == []
    (tmp_path / "half" / RECORD).write_text(json.dumps({"unfinished": True}))
    (tmp_path / "half" / "imputations.csv").write_text("old")
    export(result, "csv", tmp_path / "half")
    assert {path.name: path.read_bytes() for path in (tmp_path / "half").iterdir()} == whole
    with pytest.raises(InputError, match="already contains an export"):
        export(result, "csv", tmp_path / "half")
