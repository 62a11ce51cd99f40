"""Whose folder it is: what a run that was interrupted early leaves does not block the next one."""

import pytest

from tabsoda._internal.files import remove_abandoned
from tabsoda.errors import InputError, OutputExistsError
from tabsoda.results.run_folder import CHECKPOINT, check_folder, claim_folder

RUN = {"seed": 1}


@pytest.mark.parametrize("left", [None, ".run.json.abcdef-1.x.json"])
def test_a_run_that_ended_before_its_claim_can_be_repeated(left, tmp_path):
    checkpoint = tmp_path / CHECKPOINT
    checkpoint.mkdir()
    if left is not None:
        (checkpoint / left).write_text("{")
    check_folder(tmp_path, [], RUN, force=False)
    claim_folder(tmp_path, RUN)
    check_folder(tmp_path, [], RUN, force=False)
    with pytest.raises(OutputExistsError, match="another command"):
        check_folder(tmp_path, [], {"seed": 2}, force=False)


@pytest.mark.parametrize("name", ["notes.txt", f"{CHECKPOINT}/draws"])
def test_files_of_somebody_else_still_block_a_folder(name, tmp_path):
    (tmp_path / CHECKPOINT).mkdir()
    (tmp_path / name).write_text("kept")
    with pytest.raises(OutputExistsError, match="not empty"):
        check_folder(tmp_path, [], RUN, force=False)


def test_a_name_with_an_impossible_process_number_is_left_alone(tmp_path):
    from tabsoda._internal.files import temporary_prefix

    target = tmp_path / "out.json"
    machine = temporary_prefix(target).split(".")[-2].split("-")[0]
    stranger = tmp_path / f".out.json.{machine}-{10**30}.x"
    stranger.touch()
    remove_abandoned(target)
    assert stranger.exists()


@pytest.mark.parametrize("name", [CHECKPOINT, ".writing", "imputations", "point.parquet"])
@pytest.mark.parametrize("force", [True, False])
def test_a_link_in_the_folder_would_lead_the_result_elsewhere(name, force, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match="symbolic link"):
        check_folder(out, [], RUN, force=force)
    # The folder itself may be a link.
    (tmp_path / "link").symlink_to(elsewhere)
    check_folder(tmp_path / "link", [], RUN, force=force)
