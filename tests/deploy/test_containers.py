# level: full
"""Kubernetes manifests and compose file: valid, hardened, and consistent.

kubernetes-validate and docker-compose check the form; here it is checked that
ports, files, memory and times of the parts fit together, and that rematd takes
the configuration that they mount.
"""
import json
import os
import re
import shutil
import tempfile
import unittest

import deployment
from deployment import in_bytes, run, settings

K8S = os.path.join(deployment.DEPLOY, "k8s")
COMPOSE = os.path.join(deployment.DEPLOY, "compose", "compose.yaml")
VALIDATE = os.path.join(deployment.TOOLS, "venv", "bin", "kubernetes-validate")
VERSIONS = ("1.29", "1.33", "1.37")
HALF_A_GIB = 1 << 29


def manifests():
    """{file: its objects}, without the kustomization, which is no object."""
    return {name: deployment.yaml_documents(deployment.read(K8S, name))
            for name in sorted(os.listdir(K8S)) if name != "kustomization.yaml"}


def objects(kind):
    return [o for found in manifests().values() for o in found
            if o["kind"] == kind]


def most_memory(values):
    """What --help says the process needs at most, and the cache."""
    return (int(values["workers"]) * in_bytes(values["job-memory"])
            + in_bytes(values["body-memory"]) + in_bytes(values["cache"]))


def effective(config, **environment):
    """The settings rematd would run with, where it takes the file."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(config)
        file.flush()
        done = run(deployment.REMATD, "--config", file.name, "--print-config",
                   env=deployment.environment(**environment))
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return settings(done.stdout)


class Kubernetes(unittest.TestCase):
    def setUp(self):
        self.config, = objects("ConfigMap")
        self.text = self.config["data"]["rematd.conf"]
        self.set, = objects("StatefulSet")
        self.pod = self.set["spec"]["template"]["spec"]
        self.container, = self.pod["containers"]
        self.ports = {p["name"]: p["containerPort"]
                      for p in self.container["ports"]}

    def test_they_are_valid(self):
        files = [os.path.join(K8S, name) for name in manifests()]
        for version in VERSIONS:
            with self.subTest(version):
                done = run(VALIDATE, "--strict", "-k", version, *files)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(len(re.findall(
                    "passed for", done.stdout + done.stderr)), 6)

    def test_a_fault_is_seen(self):
        text = deployment.read(K8S, "statefulset.yaml")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text.replace("periodSeconds: 10", "periodSecs: 10"))
            file.flush()
            self.assertNotEqual(run(VALIDATE, "--strict", file.name).returncode,
                                0)

    def test_kustomization_names_them_all(self):
        kustomization, = deployment.yaml_documents(
            deployment.read(K8S, "kustomization.yaml"))
        self.assertEqual(sorted(kustomization["resources"]),
                         sorted(manifests()))
        self.assertEqual(kustomization["images"][0]["newTag"],
                         deployment.version())
        self.assertEqual(self.container["image"],
                         "rematd:" + deployment.version())

    def test_rematd_takes_the_configuration(self):
        values = effective(self.text)
        for name, value in settings(self.text).items():
            with self.subTest(name):
                self.assertIn(name, values)
                if re.fullmatch(r"\d+[KMG]?", value):
                    self.assertEqual(int(values[name]), in_bytes(value))

    def test_it_is_hardened(self):
        pod, container = (part["securityContext"]
                          for part in (self.pod, self.container))
        self.assertTrue(pod["runAsNonRoot"])
        self.assertGreater(pod["runAsUser"], 0)
        self.assertEqual(pod["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertFalse(container["allowPrivilegeEscalation"])
        self.assertTrue(container["readOnlyRootFilesystem"])
        self.assertEqual(container["capabilities"], {"drop": ["ALL"]})
        self.assertFalse(self.pod["automountServiceAccountToken"])
        account, = objects("ServiceAccount")
        self.assertFalse(account["automountServiceAccountToken"])
        for name in ("hostNetwork", "hostPID", "hostIPC", "hostPath"):
            self.assertNotIn(name, json.dumps(self.pod))
        self.assertNotIn("anonymous", settings(self.text))

    def test_user_and_volume_are_the_images(self):
        dockerfile = deployment.read("Dockerfile")
        user = re.search(r"^USER (\d+):(\d+)$", dockerfile, re.M).groups()
        context = self.pod["securityContext"]
        self.assertEqual(user, (str(context["runAsUser"]),
                                str(context["runAsGroup"])))
        self.assertEqual(context["fsGroup"], context["runAsGroup"])
        mounts = {m["name"]: m["mountPath"]
                  for m in self.container["volumeMounts"]}
        self.assertEqual(mounts["data"], settings(self.text)["data"])
        self.assertIn(f'VOLUME ["{mounts["data"]}"]', dockerfile)

    def test_one_writer_with_its_volume(self):
        self.assertEqual(self.set["spec"]["replicas"], 1)
        claim, = self.set["spec"]["volumeClaimTemplates"]
        self.assertEqual(claim["metadata"]["name"], "data")
        room = in_bytes(claim["spec"]["resources"]["requests"]["storage"])
        kept = in_bytes(settings(self.text)["retain-bytes"])
        self.assertGreaterEqual(room, kept * 3 // 2)

    def test_everything_mounted_is_there(self):
        volumes = {v["name"]: v for v in self.pod["volumes"]}
        self.assertEqual(volumes["config"]["configMap"]["name"],
                         self.config["metadata"]["name"])
        mounts = {m["name"]: m for m in self.container["volumeMounts"]}
        self.assertEqual(set(mounts), set(volumes) | {"data"})
        # What the entry point reads is what is mounted, and so are tokens.
        entry = re.search(r"^ENTRYPOINT (.*)$", deployment.read("Dockerfile"),
                          re.M).group(1)
        self.assertIn(mounts["config"]["mountPath"] + "/rematd.conf",
                      json.loads(entry))
        tokens = settings(self.text)["tokens"]
        self.assertEqual(os.path.dirname(tokens),
                         mounts["tokens"]["mountPath"])
        secret = volumes["tokens"]["secret"]
        self.assertIn(f"create secret generic {secret['secretName']} "
                      f"--from-file={os.path.basename(tokens)}=",
                      deployment.read(K8S, "kustomization.yaml"))
        self.assertEqual(secret["defaultMode"] & 0o037, 0)

    def test_ports_fit(self):
        values = settings(self.text)
        self.assertEqual(self.ports, {
            "http": int(values["listen"].split(":")[1]),
            "admin": int(values["admin-listen"].split(":")[1])})
        labels = self.set["spec"]["template"]["metadata"]["labels"]
        services = {s["metadata"]["name"]: s for s in objects("Service")}
        self.assertEqual(set(services), {"rematd", "rematd-admin"})
        self.assertIn(self.set["spec"]["serviceName"], services)
        for service in services.values():
            self.assertLessEqual(service["spec"]["selector"].items(),
                                 labels.items())
            for port in service["spec"]["ports"]:
                self.assertIn(port["targetPort"], self.ports)
        scraped = services["rematd-admin"]["metadata"]["annotations"]
        self.assertEqual(int(scraped["prometheus.io/port"]),
                         self.ports["admin"])

    def test_network_policy(self):
        policy, = objects("NetworkPolicy")
        spec = policy["spec"]
        self.assertEqual(spec["podSelector"],
                         {"matchLabels": self.set["spec"]["selector"]
                          ["matchLabels"]})
        self.assertEqual(sorted(spec["policyTypes"]), ["Egress", "Ingress"])
        self.assertEqual(spec["egress"], [])
        opened = {port["port"]: rule["from"] for rule in spec["ingress"]
                  for port in rule["ports"]}
        self.assertEqual(set(opened), set(self.ports.values()))
        for callers in opened.values():
            for caller in callers:
                self.assertTrue(caller["podSelector"]["matchLabels"])

    def test_probes(self):
        probes = {name: self.container[name + "Probe"]
                  for name in ("startup", "readiness", "liveness")}
        for name, path in (("startup", "/readyz"), ("readiness", "/readyz"),
                           ("liveness", "/livez")):
            self.assertEqual(probes[name]["httpGet"],
                             {"path": path, "port": "admin"})
        self.assertEqual(
            {name: (probe["periodSeconds"], probe["failureThreshold"])
             for name, probe in probes.items()},
            {"startup": (2, 30), "readiness": (5, 2), "liveness": (10, 6)})

    def test_it_has_time_to_drain(self):
        self.assertGreater(self.pod["terminationGracePeriodSeconds"],
                           int(settings(self.text)["drain-timeout"]) + 10)

    def test_memory_is_enough(self):
        limit = in_bytes(self.container["resources"]["limits"]["memory"])
        self.assertGreaterEqual(
            limit, most_memory(settings(self.text)) + HALF_A_GIB)
        self.assertEqual(self.container["resources"]["requests"]["cpu"],
                         settings(self.text)["workers"])


class Compose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = cls.config("--profile", "monitoring")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.services = deployment.yaml_documents(done.stdout)[0]["services"]
        cls.rematd = cls.services["rematd"]

    @staticmethod
    def config(*flags, file=COMPOSE):
        return run("docker-compose", "-f", file, *flags, "config",
                   env=deployment.environment())

    def test_a_fault_is_seen(self):
        text = deployment.read(COMPOSE)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text.replace("read_only:", "readonly:"))
            file.flush()
            self.assertNotEqual(self.config(file=file.name).returncode, 0)

    def test_alone_it_is_rematd_only(self):
        services = deployment.yaml_documents(self.config().stdout)[0]["services"]
        self.assertIn("rematd", services)
        for name in ("prometheus", "grafana"):
            self.assertEqual(self.services[name]["profiles"], ["monitoring"])
        self.assertNotIn("profiles", self.rematd)

    def test_it_is_hardened(self):
        self.assertTrue(self.rematd["read_only"])
        self.assertEqual(self.rematd["cap_drop"], ["ALL"])
        self.assertIn("no-new-privileges:true", self.rematd["security_opt"])
        for service in self.services.values():
            for port in service.get("ports", []):
                self.assertTrue(str(port).startswith("127.0.0.1:"), port)

    def test_image_and_volume(self):
        self.assertEqual(self.rematd["image"],
                         "rematd:" + deployment.version())
        context = self.rematd["build"]["context"]
        self.assertEqual(os.path.realpath(context),
                         os.path.realpath(deployment.TOP))
        data = settings(deployment.read("deploy/image/rematd.conf"))["data"]
        self.assertIn(f"data:{data}:rw", self.rematd["volumes"])

    def test_files_mounted_exist(self):
        found = 0
        for service in self.services.values():
            for volume in service["volumes"]:
                source = volume.split(":")[0]
                if source.startswith("/"):
                    found += 1
                    self.assertTrue(os.path.isfile(source), source)
        self.assertEqual(found, 5)

    def test_times_and_memory_are_enough(self):
        values = effective(deployment.read("deploy/image/rematd.conf"),
                           **self.rematd["environment"])
        grace = int(self.rematd["stop_grace_period"].rstrip("s"))
        self.assertGreater(grace, int(values["drain-timeout"]) + 10)
        limit = in_bytes(str(self.rematd["mem_limit"]).upper())
        self.assertGreaterEqual(limit, most_memory(values) + HALF_A_GIB)

    def test_prometheus_takes_its_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in ("deploy/compose/prometheus.yml",
                         "deploy/prometheus/rematd.rules.yml"):
                shutil.copy(os.path.join(deployment.TOP, path), folder)
            file = os.path.join(folder, "prometheus.yml")
            done = run(deployment.PROMTOOL, "check", "config", file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        config, = deployment.yaml_documents(
            deployment.read("deploy/compose/prometheus.yml"))
        job, = config["scrape_configs"]
        self.assertEqual(job["job_name"], "rematd")
        host, port = job["static_configs"][0]["targets"][0].split(":")
        self.assertIn(host, self.services)
        admin = settings(deployment.read("deploy/image/rematd.conf"))
        self.assertEqual(port, admin["admin-listen"].split(":")[1])

    def test_grafana_gets_source_and_dashboard(self):
        source, = deployment.yaml_documents(
            deployment.read("deploy/compose/grafana.yml"))
        self.assertEqual(source["datasources"][0]["url"],
                         "http://prometheus:9090")
        provider, = deployment.yaml_documents(
            deployment.read("deploy/compose/dashboards.yml"))
        place = provider["providers"][0]["options"]["path"]
        self.assertTrue(any(f":{place}/rematd.json:" in volume for volume in
                            self.services["grafana"]["volumes"]))


if __name__ == "__main__":
    unittest.main()
