"""The Kubernetes manifests: what they render to, and that an API server would take it."""

import copy
import glob
import http.server
import os
import re
import shutil
import threading
import unittest

import debian
import kube
import manifests
import victim
from exporter import setUpModule
from machine import run
from prometheus import Prometheus
from victim import wait_until

OVERLAYS = ("base", "overlays/example", "overlays/perf-tier")
COMPONENTS = ("components/podmonitor", "components/before-1.30")


def pod_of(daemonset):
    return daemonset["spec"]["template"]["spec"]


def container_of(daemonset):
    (container,) = pod_of(daemonset)["containers"]
    return container


def endpoint_of(monitor):
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    return endpoint


# What is wrong → (kind, how an object is spoiled, the path that must be named)
CONTAINER = "spec.template.spec.containers[0]"
ENDPOINT = "spec.podMetricsEndpoints[0]"
SPOILED = {
    "field unknown to the pod": (
        "DaemonSet", lambda o: pod_of(o).update(hostPid=True), "spec.template.spec.hostPid"),
    "field unknown to the container": (
        "DaemonSet", lambda o: container_of(o).update(arg=[]), CONTAINER + ".arg"),
    "field unknown to a probe": (
        "DaemonSet", lambda o: container_of(o)["startupProbe"].update(failureTreshold=1),
        CONTAINER + ".startupProbe.failureTreshold"),
    "field unknown to metadata": (
        "Namespace", lambda o: o["metadata"].update(label={}), "metadata.label"),
    "field unknown to the object": (
        "ConfigMap", lambda o: o.update(files={}), "files"),
    "field unknown to an endpoint": (
        "PodMonitor", lambda o: endpoint_of(o).update(intervall="30s"), ENDPOINT + ".intervall"),
    "field missing in the container": (
        "DaemonSet", lambda o: container_of(o).pop("name"), CONTAINER),
    "field missing in the monitor": (
        "PodMonitor", lambda o: o["spec"].pop("selector"), "spec"),
    "text for a number": (
        "DaemonSet", lambda o: container_of(o)["ports"][0].update(containerPort="10435"),
        CONTAINER + ".ports[0].containerPort"),
    "value for a list": (
        "DaemonSet", lambda o: container_of(o)["securityContext"]["capabilities"].update(add="BPF"),
        CONTAINER + ".securityContext.capabilities.add"),
    "not among the values": (
        "DaemonSet",
        lambda o: container_of(o)["securityContext"]["seccompProfile"].update(type="None"),
        CONTAINER + ".securityContext.seccompProfile.type"),
    "no quantity": (
        "DaemonSet", lambda o: container_of(o)["resources"]["limits"].update(memory="256MiB"),
        CONTAINER + ".resources.limits.memory"),
    "no duration": (
        "PodMonitor", lambda o: endpoint_of(o).update(interval="30 s"), ENDPOINT + ".interval"),
    "no such kind": (
        "NetworkPolicy", lambda o: o.update(kind="NetworkPolice"), ""),
    "no such version": (
        "DaemonSet", lambda o: o.update(apiVersion="apps/v9"), ""),
}


class WithKubectl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.kubectl = manifests.kubectl()
        except debian.Unavailable as error:
            raise unittest.SkipTest(f"no kubectl that knows components: {error}") from None

    def by_kind(self, folder):
        if folder.startswith("components/"):
            items = manifests.render_with(self.kubectl, folder)
        else:
            items = manifests.render(self.kubectl, os.path.join(kube.FOLDER, folder))
        found = {item["kind"]: item for item in items}
        self.assertEqual(len(found), len(items))
        return found


class Rendered(WithKubectl):
    def test_nothing_is_left_out(self):
        """Every folder with a kustomization is one that the tests here know."""
        found = glob.glob(kube.FOLDER + "/**/kustomization.yaml", recursive=True)
        self.assertEqual({os.path.relpath(os.path.dirname(path), kube.FOLDER) for path in found},
                         {*OVERLAYS, *COMPONENTS})

    def test_base(self):
        found = self.by_kind("base")
        self.assertEqual(set(found), {"Namespace", "ServiceAccount", "ConfigMap", "DaemonSet",
                                      "NetworkPolicy"})
        for item in found.values():
            if item["kind"] != "Namespace":
                self.assertEqual(item["metadata"]["namespace"], "uprobe-exporter")
        self.assertEqual(pod_of(found["DaemonSet"])["volumes"][0]["configMap"]["name"],
                         found["ConfigMap"]["metadata"]["name"])

    def test_example(self):
        found = self.by_kind("overlays/example")
        self.assertIn("PodMonitor", found)
        self.assertEqual(container_of(found["DaemonSet"])["image"],
                         "registry.example.com/uprobe_exporter:0.1.0")
        self.assertIn("postgres", found["ConfigMap"]["data"]["uprobe_exporter.yaml"])
        self.assertEqual(found["NetworkPolicy"]["spec"]["egress"], [])

    def test_perf_tier(self):
        context = container_of(self.by_kind("overlays/perf-tier")["DaemonSet"])["securityContext"]
        self.assertEqual(context["capabilities"]["add"],
                         ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "SYS_ADMIN"])

    def test_before_1_30(self):
        """The annotation in the place of the field, and nothing else."""
        old, new = self.by_kind("components/before-1.30"), self.by_kind("base")
        container = container_of(new["DaemonSet"])
        self.assertEqual(container["securityContext"].pop("appArmorProfile"),
                         {"type": "Unconfined"})
        annotations = old["DaemonSet"]["spec"]["template"]["metadata"].pop("annotations")
        prefix = "container.apparmor.security.beta.kubernetes.io/"
        self.assertEqual(annotations, {prefix + container["name"]: "unconfined"})
        self.assertEqual(old, new)

    def test_another_kubectl_renders_the_same(self):
        """The one that is taken where there is no other."""
        try:
            other = manifests.debians_kubectl()
        except debian.Unavailable as error:
            self.skipTest(str(error))
        for folder in OVERLAYS:
            path = os.path.join(kube.FOLDER, folder)
            self.assertEqual(manifests.render(other, path), manifests.render(self.kubectl, path))

    def test_configs_are_right(self):
        for path in ("base", "overlays/example"):
            file = os.path.join(kube.FOLDER, path, "uprobe_exporter.yaml")
            result = run(os.path.join(victim.BUILD, "uprobe_exporter"), "check",
                         f"--config.file={file}", check=False)
            self.assertIn(result.returncode, (0, 1), result.stderr)  # 2 is a wrong config


class Strict(WithKubectl):
    """Against the published types, in which every field must be known."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lacking = [name for name in ("npm", "node") if not shutil.which(name)]
        if lacking:
            raise unittest.SkipTest(f"not installed: {' '.join(lacking)}")

    def test_what_is_rendered_has_no_fault(self):
        objects = {f"{folder.replace('/', '-')}-{kind}": item
                   for folder in (*OVERLAYS, *COMPONENTS)
                   for kind, item in self.by_kind(folder).items()}
        self.assertEqual({name: found for name, found in manifests.faults(objects).items() if found},
                         {})
        self.assertGreater(len(objects), len(OVERLAYS))

    def test_what_is_spoiled_is_refused(self):
        objects, whole = {}, self.by_kind("overlays/example")
        for what, (kind, spoil, _) in SPOILED.items():
            objects[what] = copy.deepcopy(whole[kind])
            spoil(objects[what])
        said = manifests.faults(objects)
        for what, (_, _, path) in SPOILED.items():
            with self.subTest(what=what):
                self.assertIn(path, [fault.split(":")[0] for fault in said[what]])


PAGE = b'calls{namespace="shop",pod="web-1",container="web"} 3\n'
# What the operator and its service discovery say of the exporter's pod.
DISCOVERED = {"job": "monitoring/uprobe-exporter", "namespace": "uprobe-exporter",
              "pod": "uprobe-exporter-x7k2p", "container": "uprobe-exporter",
              "__meta_kubernetes_pod_node_name": "node-1"}


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def as_prometheus_has_it(relabeling):
    return {re.sub("[A-Z]", lambda m: "_" + m[0].lower(), key): value
            for key, value in relabeling.items()}


class Scraped(WithKubectl):
    def test_labels_of_measured_pods_are_theirs(self):
        """`namespace`, `pod` and `container` of a series are not the exporter's own."""
        relabelings = endpoint_of(self.by_kind("overlays/example")["PodMonitor"])["relabelings"]
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            prometheus = Prometheus({"any": {
                "port": server.server_address[1], "labels": DISCOVERED,
                "relabel_configs": [as_prometheus_has_it(r) for r in relabelings]}})
            try:
                wait_until(lambda: prometheus.query("calls"), 30, "scraped")
                ((labels, _),) = prometheus.query("calls")
            finally:
                prometheus.stop()
                server.shutdown()
        self.assertEqual(labels, {"__name__": "calls", "job": "uprobe", "instance": "node-1",
                                  "namespace": "shop", "pod": "web-1", "container": "web"})
