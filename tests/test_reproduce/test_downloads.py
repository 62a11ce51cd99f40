"""The data file is found in what was downloaded; what is missing is named."""

from zipfile import ZipFile

import pytest

from public_file_stand_ins import nsduh_file, path_file, write
from tabsoda.errors import InputError
from tabsoda.reproduce.downloads import read_download
from tabsoda.reproduce.sources import source_of

PATH, NSDUH = source_of("path"), source_of("nsduh")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder as ICPSR packs it, and two forms of NSDUH's file."""
    folder = tmp_path_factory.mktemp("downloads")
    data = folder / "ICPSR_36498"
    write(path_file(60), data / "DS1001" / "36498-1001-Data.sav")
    write(path_file(60), data / "DS1001" / "36498-1001-Data.tsv")
    frame, _ = path_file(60)
    later = frame.rename({n: n.replace("R01", "R02") for n in frame.columns})
    write((later, {}), data / "DS2001" / "36498-2001-Data.sav")
    (data / "36498-manifest.txt").write_text("36498-1001-Data.sav\n")
    write(nsduh_file(60), folder / "NSDUH_2021_Tab.txt")
    write(nsduh_file(60), folder / "NSDUH_2021.dta")
    return folder


def test_the_file_of_the_survey_is_found_in_a_folder(folder):
    raw = read_download(PATH, [folder / "ICPSR_36498"])
    assert raw.source == "36498-1001-Data.sav"
    assert raw.frame.height == 60


def test_the_file_is_found_in_an_archive(folder, tmp_path):
    archive = tmp_path / "ICPSR_36498-V23.zip"
    with ZipFile(archive, "w") as opened:
        for path in sorted((folder / "ICPSR_36498").rglob("*.*")):
            opened.write(path, path.relative_to(folder))
    assert read_download(PATH, [archive]).source == "36498-1001-Data.sav"
    # An archive in a folder, next to files of another survey.
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert read_download(PATH, [tmp_path]).source == "36498-1001-Data.sav"


def test_a_file_with_labels_is_preferred(folder):
    both = [folder / "NSDUH_2021_Tab.txt", folder / "NSDUH_2021.dta"]
    assert read_download(NSDUH, both).source == "NSDUH_2021.dta"
    assert read_download(NSDUH, both[:1]).source == "NSDUH_2021_Tab.txt"


def test_a_codebook_among_the_files_gives_labels(folder, tmp_path):
    book = tmp_path / "36498-1001-ddi.xml"
    book.write_text(
        '<codeBook><dataDscr><var name="r01_ac1002"><labl>Ever smoked</labl></var>'
        "</dataDscr></codeBook>"
    )
    text = folder / "ICPSR_36498" / "DS1001" / "36498-1001-Data.tsv"
    assert read_download(PATH, [text, book]).hint("R01_AC1002").label == "Ever smoked"


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        (PATH, "NSDUH_2021.dta", r"variables of NSDUH 2021.*`tabsoda reproduce nsduh`.*icpsr"),
        (NSDUH, "ICPSR_36498", r"variables of the PATH Study.*`tabsoda reproduce path`.*samhsa"),
        (PATH, "empty", r"no data file in '.*empty'.*\.sav.*icpsr\.umich\.edu"),
        (PATH, "none.sav", r"'.*none\.sav' does not exist.*icpsr"),
        (PATH, "notes.pdf", r"'notes.pdf' has an unknown extension.*\.sav"),
        (PATH, "bad.zip", r"'bad.zip' cannot be opened.*truncated"),
        (NSDUH, "other.csv", r"none of the variables of NSDUH 2021.*a, b.*IRSEX, NEWRACE2.*samhsa"),
    ],
)
def test_a_wrong_download_is_refused(folder, source, name, message):
    (folder / "empty").mkdir(exist_ok=True)
    (folder / "notes.pdf").write_text("%PDF-1.4")
    (folder / "bad.zip").write_text("PK")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=message):
        read_download(source, [folder / name])


def test_no_file_at_all():
    with pytest.raises(InputError, match=r"No file was given.*NSDUH 2021.*samhsa\.gov"):
        read_download(NSDUH, [])
