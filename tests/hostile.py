"""A page whose every text of a user's is an attack."""

import copy

SCRIPT = "</script><script>document.title='owned'</script>"
IMAGE = "<img src=x onerror=\"document.title='owned'\">"
QUOTES = "\" onmouseover='document.title=1' x=\""
TURNED = "abc\u202egpj.exe\u2028\u2067"
FORMULA = "=HYPERLINK('evil')&<b>"
ALL = (SCRIPT, IMAGE, QUOTES, TURNED, FORMULA)


def hostile(facts):
    """The same facts with hostile column names, cells, ids, file name, label and messages."""
    facts = copy.deepcopy(facts)
    facts |= {"source": IMAGE, "label": SCRIPT, "id": QUOTES, "positive": SCRIPT, "command": f"distpu {SCRIPT}"}
    facts["top"]["columns"] = [*ALL]
    for k, row in enumerate(facts["top"]["rows"]):
        row["id"], row["cells"], row["rank"] = ALL[k % len(ALL)], [*ALL], SCRIPT + IMAGE
    for k, one in enumerate(facts["drivers"]["columns"]):
        one["column"] = ALL[k % len(ALL)]
    facts["drivers"] |= {"looked_at": SCRIPT, "of": IMAGE}  # in this order: the page compares both
    for k, one in enumerate(facts["columns"]):
        one |= {"name": ALL[k % len(ALL)], "what": SCRIPT, "kind": IMAGE}
    for one in facts["findings"]:
        one |= {"text": SCRIPT + IMAGE, "remedy": QUOTES}
    facts["settings"] |= {SCRIPT: IMAGE}
    facts["counts_explained"] = SCRIPT
    facts["cut"]["words"] = IMAGE
    facts["images"] = {"sheet": [{"id": SCRIPT, "src": "javascript:alert(1)"}], "words": SCRIPT}
    return facts
