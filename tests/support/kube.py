"""What a Kubernetes pod asks for, as arguments of podman.

Every field must be understood: one that this file does not know is an error, so that nothing in the
manifests is tested as if it were not there.
"""

import os

import yaml

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                      "deploy", "kubernetes")

# Fields that concern the cluster and not the container.
OF_THE_CLUSTER = {
    "pod": {"serviceAccountName", "automountServiceAccountToken", "enableServiceLinks",
            "nodeSelector", "tolerations", "terminationGracePeriodSeconds", "volumes"},
    "container": {"name", "ports", "resources", "startupProbe", "readinessProbe", "livenessProbe"},
}


def documents(path):
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def only(mapping, known, where):
    unknown = set(mapping) - set(known)
    assert not unknown, f"{where}: fields that nothing here understands: {sorted(unknown)}"


def security(context):
    only(context, ("runAsUser", "allowPrivilegeEscalation", "readOnlyRootFilesystem",
                   "capabilities", "seccompProfile", "appArmorProfile", "seLinuxOptions"),
         "securityContext")
    only(context["capabilities"], ("drop", "add"), "capabilities")
    only(context["seLinuxOptions"], ("type",), "seLinuxOptions")
    assert context["capabilities"]["drop"] == ["ALL"]
    assert context["seccompProfile"] == context["appArmorProfile"] == {"type": "Unconfined"}
    arguments = [f"--user={context['runAsUser']}:0", "--cap-drop=all",
                 "--security-opt=seccomp=unconfined", "--security-opt=apparmor=unconfined",
                 f"--security-opt=label=type:{context['seLinuxOptions']['type']}"]
    arguments += [f"--cap-add=CAP_{name}" for name in context["capabilities"]["add"]]
    if context["readOnlyRootFilesystem"]:
        arguments += ["--read-only", "--read-only-tmpfs=false"]
    if not context["allowPrivilegeEscalation"]:
        arguments.append("--security-opt=no-new-privileges")
    return arguments


def mounts(pod, container, config_folder):
    """Volumes as podman's --volume; the ConfigMap is a folder of the test's."""
    sources = {}
    for volume in pod["volumes"]:
        kind = next(key for key in volume if key != "name")
        assert kind in ("configMap", "hostPath"), kind
        sources[volume["name"]] = (config_folder if kind == "configMap"
                                   else volume["hostPath"]["path"])
    arguments = []
    for mount in container["volumeMounts"]:
        only(mount, ("name", "mountPath", "readOnly", "mountPropagation"), "volumeMount")
        assert mount["readOnly"]
        options = ["ro"]
        if "mountPropagation" in mount:
            options.append({"HostToContainer": "rslave"}[mount["mountPropagation"]])
        source = sources.pop(mount["name"])
        os.makedirs(source, exist_ok=True)  # DirectoryOrCreate
        arguments.append(f"--volume={source}:{mount['mountPath']}:{','.join(options)}")
    assert not sources, f"volumes that are not mounted: {sorted(sources)}"
    return arguments


def podman_arguments(daemonset, config_folder):
    """(arguments of podman run, arguments of the program)"""
    pod = daemonset["spec"]["template"]["spec"]
    only(pod, OF_THE_CLUSTER["pod"] | {"hostPID", "containers"}, "pod")
    (container,) = pod["containers"]
    only(container, OF_THE_CLUSTER["container"] | {"image", "args", "securityContext",
                                                   "volumeMounts"}, "container")
    arguments = security(container["securityContext"]) + mounts(pod, container, config_folder)
    if pod["hostPID"]:
        arguments.append("--pid=host")
    return arguments, container["args"]
