# level: full
"""Alert rules, dashboard and runbook: valid, and about metrics that exist.

promtool checks the rules and runs their unit tests. Every metric and label in
an expression, of rules and dashboard, is held against what a running rematd
exposes at /metrics.
"""
import copy
import json
import lzma
import os
import re
import tempfile
import unittest

import daemon
import deployment

RULES = "deploy/prometheus/rematd.rules.yml"
CASES = "deploy/prometheus/rematd.test.yml"
DASHBOARD = "deploy/grafana/rematd.json"
RUNBOOK = "deploy/runbook.md"

TARGET_LABELS = {"job", "instance"}
WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and",
         "or", "unless", "bool", "offset", "inf", "nan"}


def parse(text):
    """{family: (type, {label: values})} of Prometheus' text format."""
    families = {name: (kind, {}) for name, kind in
                re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)}
    for name, labels in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.M):
        family = name if name in families else \
            re.sub("_(bucket|sum|count)$", "", name)
        for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels):
            if label != "le":
                families[family][1].setdefault(label, set()).add(value)
    return families


def exposed():
    """The families of a rematd that has been asked for a plan or two."""
    with open(os.path.join(deployment.TOP, "tests", "data", "corpus",
                           "llama_2l_sac.graph.json.xz"), "rb") as file:
        graph = lzma.decompress(file.read())
    with tempfile.TemporaryDirectory() as data, \
            daemon.Daemon("--data", os.path.join(data, "d")) as rematd:
        for body, status in ((graph, 200), (graph, 200), (b"{", 400)):
            answer = rematd.plan(body)
            if answer.status != status:
                raise AssertionError(answer)
        return parse(rematd.get("/metrics").body.decode())


def series_of(families):
    """{name of a series: labels it may have}, Prometheus's own `up` included."""
    series = {"up": set(TARGET_LABELS)}
    for name, (kind, labels) in families.items():
        labels = set(labels) | TARGET_LABELS
        if kind == "histogram":
            series[name + "_bucket"] = labels | {"le"}
            series[name + "_sum"] = series[name + "_count"] = labels
        else:
            series[name] = labels
    return series


def used_in(expression):
    """([(name of a series, labels it is selected by)], labels grouped by)"""
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    grouped = set()
    for inner in re.findall(
            r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)",
            text):
        grouped |= set(re.findall(r"\w+", inner))
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)"
                  r"\s*\([^)]*\)", " ", text)
    text = re.sub(r"\[[^\]]*\]|\boffset\s+\w+", " ", text)
    found = []
    for name, call, matchers in re.findall(
            r"(?<![\w.])([a-zA-Z_:][\w:]*)\s*(\(|\{([^}]*)\})?", text):
        if call == "(" or name.lower() in WORDS:
            continue
        found.append((name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)",
                                           matchers))))
    return found, grouped


def faults_of(expression, series):
    """What is wrong with an expression, as texts."""
    found, grouped = used_in(expression)
    faults = [] if found else ["names no metric"]
    known = set()
    for name, labels in found:
        if name not in series:
            faults.append("no such metric: " + name)
            continue
        known |= series[name]
        faults += [f"{name} has no label {label}"
                   for label in sorted(labels - series[name])]
    if found and not any(f.startswith("no such") for f in faults):
        faults += [f"nothing has a label {label}"
                   for label in sorted(grouped - known)]
    return faults


def rules(kind):
    document, = deployment.yaml_documents(deployment.read(RULES))
    return [rule for group in document["groups"] for rule in group["rules"]
            if kind in rule]


def panels():
    return [p for p in json.loads(deployment.read(DASHBOARD))["panels"]
            if p["type"] != "row"]


def promtool(*arguments):
    return deployment.run(deployment.PROMTOOL, *arguments)


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.families = exposed()

    def setUp(self):
        self.series = series_of(self.families)
        for rule in rules("record"):
            found, grouped = used_in(rule["expr"])
            self.series[rule["record"]] = grouped - {"le"}

    def test_every_rule_names_metrics_that_exist(self):
        names = [rule for kind in ("record", "alert") for rule in rules(kind)]
        self.assertGreater(len(names), 15)
        for rule in names:
            with self.subTest(rule.get("alert") or rule.get("record")):
                self.assertEqual(faults_of(rule["expr"], self.series), [])

    def test_every_panel_names_metrics_that_exist(self):
        self.assertGreater(len(panels()), 20)
        for panel in panels():
            for target in panel["targets"]:
                with self.subTest(panel["title"], expr=target["expr"]):
                    self.assertEqual(faults_of(target["expr"], self.series),
                                     [])

    def test_values_selected_exist(self):
        """No status code or outcome that nothing ever has."""
        codes = set(re.findall(r'X\(PROTO_\w+,\s*"([a-z-]+)"', deployment.read(
            "proto", "include", "proto.h"))) - {"ok"}
        known = {"code": codes, "outcome": set(codes)}
        for _, labels in self.families.values():
            for label, values in labels.items():
                known.setdefault(label, set()).update(values)
        known["status"].add("500")
        expressions = [rule["expr"] for kind in ("record", "alert")
                       for rule in rules(kind)]
        expressions += [target["expr"] for panel in panels()
                        for target in panel["targets"]]
        found = 0
        for expression in expressions:
            for label, values in re.findall(r'(\w+)\s*(?:=~|!=|=)\s*"([^"$]*)"',
                                            expression):
                if label in TARGET_LABELS:
                    continue
                for value in values.split("|"):
                    found += 1
                    self.assertIn(value, known[label], expression)
        self.assertGreater(found, 10)

    def test_a_legend_uses_labels_that_are_left(self):
        for panel in panels():
            for target in panel["targets"]:
                found, grouped = used_in(target["expr"])
                left = grouped or set().union(
                    *(self.series[name] for name, _ in found))
                for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                    with self.subTest(panel["title"]):
                        self.assertIn(label, left)

    def test_expressions_of_the_runbook_name_metrics_that_exist(self):
        recorded = {rule["record"] for rule in rules("record")}
        names = set(re.findall(r"\b(?:rematd|process)_\w+",
                               deployment.read(RUNBOOK)))
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertTrue(name in self.series or
                            name in self.families, name)
        for name in re.findall(r"\brematd:[\w:]+", deployment.read(RUNBOOK)):
            self.assertIn(name, recorded)

    def test_faults_are_seen(self):
        for expression, fault in (
                ("rate(rematd_plans_total[5m])", "no such metric"),
                ('rematd_ready{zone="a"} == 0', "no label zone"),
                ("sum by (zone) (rematd_ready)", "a label zone"),
                ("rematd_store_commit_seconds", "no such metric"),
                ("sum(rate(x_total[$__rate_interval]))", "no such metric"),
                ("1 + 1", "names no metric")):
            with self.subTest(expression):
                self.assertRegex("\n".join(faults_of(expression, self.series)),
                                 fault)


class Rules(unittest.TestCase):
    def test_promtool_accepts_them(self):
        done = promtool("check", "rules", RULES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_runs_their_tests(self):
        done = promtool("test", "rules", CASES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_wrong_rule_fails_them(self):
        """Every alert's case depends on the alert: without it promtool fails."""
        document, = deployment.yaml_documents(deployment.read(RULES))
        cases, = deployment.yaml_documents(deployment.read(CASES))
        for name in (rule["alert"] for rule in rules("alert")):
            broken, mine = copy.deepcopy(document), copy.deepcopy(cases)
            for group in broken["groups"]:
                group["rules"] = [r for r in group["rules"]
                                  if r.get("alert") != name]
            mine["tests"] = [c for c in cases["tests"]
                             if c["name"].split(",")[0] == name]
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for file, what in (("rematd.rules.yml", broken),
                                   ("rematd.test.yml", mine)):
                    with open(os.path.join(folder, file), "w",
                              encoding="utf-8") as out:
                        json.dump(what, out)  # JSON is YAML
                done = promtool("test", "rules",
                                os.path.join(folder, "rematd.test.yml"))
                self.assertNotEqual(done.returncode, 0)

    def test_the_runbook_has_a_section_for_each_alert(self):
        sections = re.findall(r"^## (\w+)\n\n(.+?)(?=^## |\Z)",
                              deployment.read(RUNBOOK), re.M | re.S)
        alerts = [rule["alert"] for rule in rules("alert")]
        self.assertEqual([name for name, _ in sections], alerts)
        for name, text in sections:
            self.assertGreater(len(text), 150, name)

    def test_alerts_say_what_and_where(self):
        for rule in rules("alert"):
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("page", "ticket"))
                self.assertEqual(rule["annotations"]["runbook_url"],
                                 f"{RUNBOOK}#{rule['alert'].lower()}")
                self.assertGreater(len(rule["annotations"]["summary"]), 20)

    def test_links_of_the_runbook_lead_somewhere(self):
        text = deployment.read(RUNBOOK)
        anchors = {h.lower() for h in re.findall(r"^## (\w+)$", text, re.M)}
        for target in re.findall(r"\]\(([^)]+)\)", text):
            with self.subTest(target):
                if target.startswith("#"):
                    self.assertIn(target[1:], anchors)
                else:
                    self.assertTrue(os.path.exists(
                        os.path.join(deployment.DEPLOY, target)))

class Dashboard(unittest.TestCase):
    def test_prometheus_understands_every_expression(self):
        """As recording rules, with Grafana's variables filled in."""
        found = []
        for panel in panels():
            for target in panel["targets"]:
                expression = target["expr"].replace("$__rate_interval", "5m") \
                    .replace("$instance", ".*")
                self.assertNotIn("$", expression)
                found.append({"record": f"x:n{len(found)}",
                              "expr": expression})
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump({"groups": [{"name": "x", "rules": found}]}, file)
            file.flush()
            done = promtool("check", "rules", file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_panels_have_a_place_of_their_own(self):
        taken, ids = set(), set()
        for panel in json.loads(deployment.read(DASHBOARD))["panels"]:
            place = panel["gridPos"]
            cells = {(x, y)
                     for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            self.assertLessEqual(place["x"] + place["w"], 24)
            self.assertNotIn(panel["id"], ids)
            taken |= cells
            ids.add(panel["id"])

    def test_panels_ask_the_chosen_source(self):
        dashboard = json.loads(deployment.read(DASHBOARD))
        variables = {v["name"]: v["type"]
                     for v in dashboard["templating"]["list"]}
        self.assertEqual(variables["datasource"], "datasource")
        for panel in panels():
            for target in [panel] + panel["targets"]:
                self.assertEqual(target["datasource"],
                                 {"type": "prometheus",
                                  "uid": "${datasource}"})
            self.assertEqual(len({t["refId"] for t in panel["targets"]}),
                             len(panel["targets"]))


if __name__ == "__main__":
    unittest.main()
