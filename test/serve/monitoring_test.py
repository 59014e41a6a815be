"""contrib/prometheus and contrib/grafana: the rules do what their tests say, and every query of the dashboard finds numbers in a
scrape that is recorded here from a service at work."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from lib import Fleet, Service, Stream, equal, main, release, started, test, until, work

CONTRIB = pathlib.Path(os.environ["SOURCE"]) / "contrib"
DASHBOARD = CONTRIB / "grafana/redlock.json"
METRICS = CONTRIB.parent / "docs/metrics.md"
NO_PROMTOOL = None if shutil.which("promtool") else "there is no promtool (Debian: prometheus)"


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)


def queries():
    """Every query of the dashboard, its variables filled in."""
    document = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    texts = [target["expr"] for panel in document["panels"] for target in panel["targets"]]
    for name, value in (("$instance", ".*"), ("$__rate_interval", "5m"), ("$__range", "1h")):
        texts = [text.replace(name, value) for text in texts]
    return texts


def known_metrics():
    names = set(re.findall(r"^\| `(redlock_[a-z_]+)`", METRICS.read_text(encoding="utf-8"), re.M))
    return names | {f"{name}_{part}" for name in names for part in ("bucket", "sum", "count")}


@test
def rules_and_dashboard_use_nothing_that_is_not_documented():
    known = known_metrics()
    for text in (CONTRIB / "prometheus/alerts.yml").read_text().split("expr: ")[1:] + queries():
        unknown = set(re.findall(r"redlock_[a-z_]+", text.split("\n")[0])) - known
        equal(unknown, set(), text)


@test
def the_alert_rules_are_well_formed():
    return NO_PROMTOOL or promtool("check", "rules", CONTRIB / "prometheus/alerts.yml")


@test
def each_alert_fires_when_it_should_and_only_then():
    tried = (CONTRIB / "prometheus/alerts_test.yml").read_text()
    for name in re.findall(r"alert: (\w+)", (CONTRIB / "prometheus/alerts.yml").read_text()):
        assert tried.count(name) >= 2, f"{name} is not tried"
    return NO_PROMTOOL or promtool("test", "rules", CONTRIB / "prometheus/alerts_test.yml")


def samples(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def record_run(fleet):
    """The file of a run, twice: it is what has renewals."""
    path = work / "run.prom"
    series = 'redlock_renewals_total{outcome="renewed"}'

    def renewals():
        return samples(path.read_text()) if path.exists() else {series: "0"}

    process = subprocess.Popen([os.environ["REDLOCK"], "run", "job", "--ttl", "5s", "--renew", "100ms", "--metrics-file", path,
                                "--", "sleep", "600"], env=fleet.environment())
    started.append(process)
    until(lambda: int(renewals()[series]) > 0, "a renewal")
    first = renewals()
    until(lambda: int(renewals()[series]) > int(first[series]), "another one")
    second = renewals()
    process.terminate()
    process.wait()
    return {with_instance(name, "b"): (first[name], second[name]) for name in first}


def record_service(fleet):
    """Two scrapes of a service at work: series, and both values."""
    service = Service(fleet, resp=True)

    def scrape():
        connection = service.connect()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return samples(text)

    def work_a_little():
        stream = Stream(service, "/v1/locks/held/hold?max_hold_ms=60000&ttl_ms=300")
        for number in range(5):
            lease = service.take(f"name-{number}", ttl_ms=5000)
            service.ask("POST", f"/v1/locks/name-{number}", {})
            service.ask("PATCH", f"/v1/locks/name-{number}", {"ttl_ms": 6000}, Redlock_Token=lease["token"])
            release(service, f"name-{number}", lease)
        while stream.next()["type"] != "renewed":
            pass
        stream.close()

    work_a_little()
    first = scrape()
    work_a_little()
    second = scrape()
    equal(service.stop(), 0)
    return {with_instance(name, "a"): (first[name], second[name]) for name in first}


def with_instance(series, instance):
    name, _, labels = series.partition("{")
    return f'{name}{{instance="{instance}",job="redlock"{"," + labels if labels else "}"}'


@test
def every_query_of_the_dashboard_finds_numbers():
    if NO_PROMTOOL:
        return NO_PROMTOOL
    fleet = Fleet()
    recorded = {**record_service(fleet), **record_run(fleet)}
    inputs = [{"series": series, "values": " ".join(values)} for series, values in recorded.items()]
    # NaN is not equal to itself: it does not count as a number.
    checks = [{"expr": f"count(({text}) == ({text})) > bool 0", "eval_time": "1m", "exp_samples": [{"labels": "{}", "value": 1}]}
              for text in queries()]
    assert len(checks) > 20
    path = work / "queries.yml"  # JSON is YAML
    path.write_text(json.dumps({"tests": [{"interval": "1m", "input_series": inputs, "promql_expr_test": checks}]}))
    return promtool("test", "rules", path)


main()
