"""`distpu report` makes the page of a run again."""

from terminal import done, refused


def test_the_page_is_made_again_from_its_facts(here, monkeypatch):
    text = done("fit", "table.csv", "--label", "fraud", "--method", "elkan-noto", "--folder", "run")
    page = here / "run/report.html"
    assert "run/report.html" in text
    first = page.read_bytes()
    page.unlink()
    assert done("report", "run") == "page: run/report.html\n" and page.read_bytes() == first
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    done("report", "run", "--open")
    assert seen == [page.as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    assert "no browser was found; open" in distpu_err("report", "run", "--open")


def test_no_report(here):
    text = done("fit", "table.csv", "--label", "fraud", "--method", "elkan-noto", "--folder", "run", "--no-report")
    assert "report.html" not in text and not (here / "run/report.json").exists()
    assert "run the same `distpu fit` again" in refused("report", "run")
    assert "is no run folder" in refused("report", "elsewhere")


def distpu_err(*args):
    from terminal import distpu

    ended = distpu(*args)
    assert ended.code == 2
    return ended.err
