"""GET /metrics: what docs/metrics.md says and nothing else, exact, and bounded whatever the names. promtool has a look where it is installed."""

import os
import pathlib
import re
import shutil
import subprocess

from lib import Fleet, Service, equal, main, release, test, until, work

SOURCE = pathlib.Path(os.environ["SOURCE"])
SKIPPED = "there is no promtool (Debian: prometheus)"
fleet = Fleet()
service = Service(fleet, "--metrics-name", "known-*")


def scrape(of=None, accept="text/plain"):
    """The content type, and the text."""
    connection = (of or service).connect()
    connection.request("GET", "/metrics", headers={"Accept": accept})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    equal(answer.status, 200, text)
    return answer.getheader("Content-Type"), text


def samples(text):
    """Series and value; a series is its name and its labels."""
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def families(text):
    """Name: type and labels, as a scrape shows them."""
    types = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))
    found = {}
    for series in samples(text):
        name = series.split("{")[0]
        if types.get(name) is None:
            name = re.sub(r"_(bucket|sum|count)$", "", name)
        labels = set(re.findall(r'([a-z_]+)="(?:[^"\\]|\\.)*"', series)) - {"le"}
        found.setdefault(name, (types[name], set()))[1].update(labels)
    equal(sorted(types), sorted(found), "every family has a series; families")
    return found


def documented(*titles):
    """The same, as docs/metrics.md has it in the sections named."""
    found, title = {}, ""
    for line in (SOURCE / "docs/metrics.md").read_text(encoding="utf-8").splitlines():
        title = line[3:] if line.startswith("## ") else title
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if title in titles and cells[0].startswith("`redlock_"):
            found[cells[0].strip("`")] = (cells[1], set(re.findall(r"`([a-z_]+)`", cells[2])))
    return found


@test
def the_page_and_a_scrape_say_the_same():
    lease = service.take("known-a", ttl_ms=5000)
    equal(release(service, "known-a", lease), 204)
    equal(families(scrape()[1]), documented("Of the client", "Of the service"))


@test
def the_file_of_a_run_has_what_the_page_says():
    path = work / "run.prom"
    subprocess.run([os.environ["REDLOCK"], "run", "job", "--metrics-file", path, "--", "true"], env=fleet.environment(), check=True)
    equal(families(path.read_text()), documented("Of the client", "Of `redlock run --metrics-file`"))


@test
def a_thousand_names_add_no_series():
    before = set(samples(scrape()[1]))
    for number in range(1000):
        lease = service.take(f"name-{number}", ttl_ms=5000)
        equal(release(service, f"name-{number}", lease), 204)
    equal(set(samples(scrape()[1])), before)


@test
def names_that_are_asked_for_are_counted_up_to_a_hundred():
    for number in range(120):
        service.take(f"known-{number}", ttl_ms=100)
    values = samples(scrape()[1])
    names = {series for series in values if series.startswith("redlock_name_events_total") and 'event="acquired"' in series}
    equal(len(names), 100)
    equal(values['redlock_name_events_total{name="known-a",event="released"}'], "1")
    equal(int(values["redlock_name_events_left_out_total"]), 21)


@test
def buckets_add_up():
    values = samples(scrape()[1])
    prefix = 'redlock_acquire_duration_seconds_bucket{outcome="acquired",le="'
    counts = [int(value) for series, value in values.items() if series.startswith(prefix)]
    equal(counts, sorted(counts), "each bucket has those before it")
    total = int(values['redlock_acquire_duration_seconds_count{outcome="acquired"}'])
    equal((counts[-1], int(values['redlock_acquisitions_total{outcome="acquired"}'])), (total, total))
    bounds = [series[len(prefix):-2] for series in values if series.startswith(prefix)][:-1]
    equal((bounds[0], bounds[-1]), ("0.000064", "4294.967296"))
    assert all(float(b) == 2 * float(a) for a, b in zip(bounds, bounds[1:])), bounds


@test
def a_node_that_is_gone_is_counted_by_its_reason():
    url = f"unix://{fleet.path(4)}"
    connected = f'redlock_node_connected{{node="{url}"}}'
    equal(samples(scrape()[1])[connected], "1")
    fleet.freeze(4)
    try:
        until(lambda: sum(int(value) for series, value in samples(scrape()[1]).items()
                          if series.startswith(f'redlock_node_failures_total{{node="{url}"')), "a failure that is counted")
    finally:
        fleet.thaw(4)
    until(lambda: samples(scrape()[1])["redlock_nodes_eligible"] == "5", "five nodes that may vote")


@test
def openmetrics_is_there_for_those_who_ask():
    kind, text = scrape(accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    equal(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8")
    assert text.endswith("# EOF\n") and "# TYPE redlock_lost counter\n" in text and "\nredlock_lost_total 0\n" in text, text
    equal(scrape()[0], "text/plain; version=0.0.4; charset=utf-8")
    equal(len(samples(text)), len(samples(scrape()[1])))


def promtool(*arguments, text=None):
    if shutil.which("promtool") is None:
        return SKIPPED
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr if text else ""), (0, ""), done.stdout + done.stderr)
    return None


@test
def promtool_finds_nothing_wrong_with_a_scrape():
    return promtool("check", "metrics", text=scrape()[1])


@test
def it_stops():
    equal(service.stop(), 0)


main()
