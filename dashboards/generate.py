#!/usr/bin/python3
"""Write the Grafana dashboards from the tables below.

    dashboards/generate.py [--check] [FOLDER]

One JSON file each, to be imported as it is or provisioned. What is shown is said here once: a panel
is a title, a kind, a unit and its queries. --check writes nothing and fails when a file differs.
Grafana's dashboard JSON model, schema 39 (Grafana 10 and newer).
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = 39
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24  # columns of Grafana's grid

EXPORTER = 'job=~"$job",instance=~"$instance"'
TARGET = EXPORTER + ',target=~"$target"'
# "All" is .*, which also matches series without the label: those of the other kind.
FUNCTION = TARGET + ',function=~"$function",function!=""'
PROBE = TARGET + ',probe=~"$probe",probe!=""'
BY_FUNCTION = "target, function"
BY_PROBE = "target, probe"
BY_INSTANCE = "instance"


def rate(metric, labels, by):
    return f"sum by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def quantile(q, metric, labels, by):
    return (f"histogram_quantile({q}, sum by (le, {by}) "
            f"(rate({metric}_bucket{{{labels}}}[$__rate_interval])))")


def mean(metric, labels, by):
    return f"{rate(metric + '_sum', labels, by)} / {rate(metric + '_count', labels, by)}"


def query(expression, legend="", **keys):
    return {"expr": expression, "legend": legend, **keys}


def panel(title, kind, queries, unit="short", width=12, height=8, about="", **keys):
    return {"title": title, "kind": kind, "queries": queries, "unit": unit, "width": width,
            "height": height, "about": about, **keys}


def row(title):
    return {"title": title, "kind": "row", "width": WIDTH, "height": 1}


def stat(title, expression, unit="short", about="", **keys):
    return panel(title, "stat", [query(expression, keys.pop("legend", ""))], unit, 4, 4, about,
                 **keys)


F, U = "uprobe_function", "uprobe_usdt"
NAMED_F, NAMED_U = "{{target}} {{function}}", "{{target}} {{probe}}"
ATTACHED = "uprobe_exporter_probe_attached"
# What the probes see, each in one of them: calls that are timed or counted, pairs and single hits.
EVENTS = (F + "_entries_total", F + "_calls_total", U + "_starts_total", U + "_hits_total")
BAD_ABOVE_0 = [(None, "green"), (1, "red")]
BAD_BELOW_1 = [(None, "red"), (1, "green")]


def quantile_panels(width):
    """p50, p90 and p99 of everything that is timed: one panel a quantile."""
    return [panel(f"p{round(q * 100)}", "timeseries", [
        query(quantile(q, F + "_duration_seconds", TARGET, BY_FUNCTION), NAMED_F),
        query(quantile(q, U + "_duration_seconds", TARGET, BY_PROBE), NAMED_U)], "s", width, log=True)
        for q in (0.5, 0.9, 0.99)]


OVERVIEW = [
    stat("Configured", f"count({ATTACHED}{{{TARGET}}})"),
    stat("Attached", f"sum({ATTACHED}{{{TARGET}}})"),
    stat("Not attached", f"count({ATTACHED}{{{TARGET}}} == 0) or vector(0)", steps=BAD_ABOVE_0),
    stat("Calls", f"sum(rate({F}_duration_seconds_count{{{TARGET}}}[$__rate_interval]))", "ops",
         "Of functions that are timed."),
    stat("Abandoned", f"sum(rate({F}_abandoned_calls_total{{{TARGET}}}[$__rate_interval]))", "ops",
         "Calls that never returned: left by an exception or longjmp, or their thread ended."),
    stat("Lost", f"sum(rate(uprobe_exporter_events_lost_total{{{TARGET}}}[$__rate_interval]))",
         "ops", "Calls that were seen and could not be measured.", steps=[(None, "green"),
                                                                         (1e-9, "red")]),
    panel("Calls", "timeseries", [
        query(rate(F + "_duration_seconds_count", TARGET, BY_FUNCTION), NAMED_F),
        query(rate(F + "_calls_total", TARGET, BY_FUNCTION), NAMED_F + " (counted)"),
        query(rate(U + "_duration_seconds_count", TARGET, BY_PROBE), NAMED_U),
        query(rate(U + "_hits_total", TARGET, BY_PROBE), NAMED_U + " (hits)")], "ops"),
    panel("Mean duration", "timeseries", [
        query(mean(F + "_duration_seconds", TARGET, BY_FUNCTION), NAMED_F),
        query(mean(U + "_duration_seconds", TARGET, BY_PROBE), NAMED_U)], "s", log=True),
    *quantile_panels(8),
    panel("Time spent", "timeseries", [
        query(rate(F + "_duration_seconds_sum", TARGET, BY_FUNCTION), NAMED_F),
        query(rate(U + "_duration_seconds_sum", TARGET, BY_PROBE), NAMED_U)], "short",
        about="Seconds inside the function a second: how many threads are in it on average."),
    panel("In flight", "timeseries", [
        query(f"sum by ({BY_FUNCTION}) ({F}_in_flight{{{TARGET}}})", NAMED_F),
        query(f"sum by ({BY_PROBE}) ({U}_in_flight{{{TARGET}}})", NAMED_U)]),
    panel("Not attached, and why", "table", [
        query(f"uprobe_exporter_probe_failure_info{{{TARGET}}}", instant=True)], width=WIDTH, height=6,
        columns=("instance", "target", "function", "probe", "reason"),
        about="docs/troubleshooting.md tells for each reason what to do."),
]


def depth(metric, labels, by, name, abandoned, entries, about):
    """Everything there is about one function, or one pair of USDT probes."""
    histogram, legend = metric + "_duration_seconds", "{{" + name + "}}"
    return [
        panel("Durations", "heatmap", [
            query(f"sum by (le) (increase({histogram}_bucket{{{labels}}}[$__rate_interval]))",
                  "{{le}}", format="heatmap")], "s", WIDTH, 10,
            about="How many calls took how long; the darker, the more."),
        panel("Quantiles", "timeseries", [
            query(quantile(q, histogram, labels, by), f"p{round(q * 1000) / 10:g} {legend}")
            for q in (0.5, 0.9, 0.99, 0.999)], "s"),
        panel("Calls and mean", "timeseries", [
            query(rate(histogram + "_count", labels, by), f"calls {legend}"),
            query(mean(histogram, labels, by), f"mean {legend}", unit="s")], "ops"),
        panel("Entered and observed", "timeseries", [
            query(rate(entries, labels, by), f"entered {legend}"),
            query(rate(histogram + "_count", labels, by), f"observed {legend}")], "ops", 6),
        panel("In flight", "timeseries", [
            query(f"sum by ({by}) ({metric}_in_flight{{{labels}}})", legend)], width=6),
        panel("Abandoned", "timeseries", [
            query(rate(abandoned, labels, by + ", reason"), legend + " {{reason}}")], "ops", 6,
            about=about),
        panel("Lost", "timeseries", [
            query(rate("uprobe_exporter_events_lost_total", labels, by + ", reason"),
                  legend + " {{reason}}")], "ops", 6,
            about="Calls that were seen and could not be measured."),
        panel("Where the probe is", "table", [
            query(f"uprobe_exporter_probe_info{{{labels}}}", instant=True)], width=WIDTH, height=6,
            columns=("instance", "target", name, "binary", "build_id", "entry_offset",
                     "exit_strategy", "attach_kind")),
    ]


ONE_FUNCTION = depth(
    F, FUNCTION, BY_FUNCTION, "function", F + "_abandoned_calls_total", F + "_entries_total",
    "Entered, and left without a return: an exception, longjmp, the thread's end.")
ONE_USDT = depth(
    U, PROBE, BY_PROBE, "probe", U + "_abandoned_starts_total", U + "_starts_total",
    "Begun, and not ended: begun again, or the thread ended.")
ONE_USDT.insert(-1, panel("Hits, and ends without a start", "timeseries", [
    query(rate(U + "_hits_total", TARGET, BY_PROBE), NAMED_U + " hits"),
    query(rate(U + "_unmatched_ends_total", PROBE, BY_PROBE), NAMED_U + " unmatched")], "ops", WIDTH))

HEALTH = [
    stat("Exporters up", f"sum(up{{{EXPORTER}}})"),
    stat("Attached", f"sum({ATTACHED}{{{EXPORTER}}}) / count({ATTACHED}{{{EXPORTER}}})",
         "percentunit", steps=BAD_BELOW_1),
    stat("Config in force", f"min(uprobe_exporter_config_last_reload_successful{{{EXPORTER}}})",
         steps=BAD_BELOW_1, about="0: the last reload found a config that is wrong."),
    stat("Since the last reload", "time() - min("
         f"uprobe_exporter_config_last_reload_success_timestamp_seconds{{{EXPORTER}}})", "s"),
    stat("Upgrades of targets", f"sum(increase(uprobe_exporter_target_upgrades_total{{{EXPORTER}}}"
         "[$__range]))", about="Within the time that is shown."),
    stat("Highest floor", f"max(uprobe_exporter_probe_floor_seconds{{{EXPORTER}}})", "s",
         "What a probe reports for a function that does nothing, where it reports most."),
    panel("Probes", "timeseries", [
        query(f"sum by ({BY_INSTANCE}) ({ATTACHED}{{{EXPORTER}}})", "{{instance}} attached"),
        query(f"count by ({BY_INSTANCE}) ({ATTACHED}{{{EXPORTER}}})", "{{instance}} configured")]),
    panel("Events lost", "timeseries", [
        query(rate("uprobe_exporter_events_lost_total", EXPORTER, "instance, reason"),
              "{{instance}} {{reason}}")], "ops",
          about="Calls that were seen and could not be measured."),
    panel("Processes not selected in time", "timeseries", [
        query(rate("uprobe_exporter_process_events_lost_total", EXPORTER, "instance, reason"),
              "{{instance}} {{reason}}")], "ops", 8,
          about="too_many_processes: not counted while there is no room for them. queue_full: "
                "selected, and counted, up to a second late."),
    panel("Sets of labels", "timeseries", [
        query(f"uprobe_exporter_label_sets{{{EXPORTER}}}", "{{instance}} {{target}}"),
        query(f"uprobe_exporter_label_sets_folded{{{EXPORTER}}}",
              "{{instance}} {{target}} without room")], width=8,
          about="Of targets with labels_from. Containers and pods without room count as other."),
    panel("Calls of containers that ended", "timeseries", [
        query("sum by (instance, target) (increase("
              f"uprobe_exporter_label_sets_ended_calls_total{{{EXPORTER}}}[$__rate_interval]))",
              "{{instance}} {{target}}")], width=8,
          about="What the series had observed that ended with their container."),
    panel("CPU of the exporter", "timeseries", [
        query(f"rate(process_cpu_seconds_total{{{EXPORTER}}}[$__rate_interval])", "{{instance}}")],
        "percentunit", about="The probes' own time is spent in the programs: see beside it."),
    panel("CPU of the probes, estimated", "timeseries", [
        query(f"sum by ({BY_INSTANCE}) (" + " or ".join(
            f"rate({metric}{{{EXPORTER}}}[$__rate_interval])" for metric in EVENTS) +
              f") * on ({BY_INSTANCE}) max by ({BY_INSTANCE}) "
              f"(uprobe_exporter_probe_floor_seconds{{{EXPORTER}}})", "{{instance}}")],
        "percentunit", about="Calls and hits a second times the highest floor: about what the "
                             "probes take in the programs. Too much where the kernel emulates the "
                             "probed instruction (see Floors); too little, up to threefold, where it "
                             "single-steps both entry and exit: the traps begin before the clock "
                             "is read."),
    panel("Memory", "timeseries", [
        query(f"process_resident_memory_bytes{{{EXPORTER}}}", "{{instance}} resident"),
        query(f"uprobe_exporter_map_memory_bytes{{{EXPORTER}}}", "{{instance}} BPF maps")],
        "bytes"),
    panel("Scrapes", "timeseries", [
        query(f"scrape_duration_seconds{{{EXPORTER}}}", "{{instance}}")], "s"),
    panel("Samples a scrape", "timeseries", [
        query(f"scrape_samples_scraped{{{EXPORTER}}}", "{{instance}}")]),
    panel("File descriptors", "timeseries", [
        query(f"process_open_fds{{{EXPORTER}}}", "{{instance}} open"),
        query(f"process_max_fds{{{EXPORTER}}}", "{{instance}} at most")]),
    panel("Targets replaced", "timeseries", [
        query("sum by (instance, target) (increase(uprobe_exporter_target_upgrades_total"
              f"{{{EXPORTER}}}[$__rate_interval]))", "{{instance}} {{target}}")]),
    panel("Without a probe after an upgrade", "timeseries", [
        query(f"uprobe_exporter_target_upgrade_gap_seconds{{{EXPORTER}}}",
              "{{instance}} {{target}}")], "s"),
    panel("Floors", "timeseries", [
        query(f"max by (entry_class, exit_strategy) (uprobe_exporter_probe_floor_seconds"
              f"{{{EXPORTER}}})", "{{entry_class}} {{exit_strategy}}")], "s", WIDTH, log=True,
        about="What a probe reports for a function that does nothing, for each way in which the "
              "kernel handles the entry and each way in which the exit is seen."),
    panel("Versions and confinement", "table", [
        query(f"uprobe_exporter_build_info{{{EXPORTER}}} * on (job, instance) group_left (tier) "
              f"uprobe_exporter_kernel_tier_info{{{EXPORTER}}} * on (job, instance) "
              f"group_left (capabilities, syscalls) "
              f"uprobe_exporter_confinement_info{{{EXPORTER}}}", instant=True)], width=WIDTH, height=6,
        columns=("instance", "version", "revision", "tier", "capabilities", "syscalls"),
        about="capabilities and syscalls: what the exporter gave up once it had started."),
]

JOB, INSTANCE = (("job", "uprobe_exporter_build_info"),
                 ("instance", 'uprobe_exporter_build_info{job=~"$job"}'))
TARGETS = ("target", f"{ATTACHED}{{{EXPORTER}}}")
DASHBOARDS = {
    "overview": ("uprobe: functions", (JOB, INSTANCE, TARGETS), OVERVIEW),
    "function": ("uprobe: one function", (
        JOB, INSTANCE, TARGETS, ("function", f'{F}_in_flight{{{TARGET}}}'),
        ("probe", f'{U}_in_flight{{{TARGET}}}')),
        [row("Function $function"), *ONE_FUNCTION, row("USDT $probe"), *ONE_USDT]),
    "exporter": ("uprobe: the exporter", (JOB, INSTANCE), HEALTH),
}


def variable(name, selector):
    definition = f"label_values({selector}, {name})"
    return {"name": name, "type": "query", "label": name, "datasource": DATASOURCE,
            "definition": definition, "query": {"query": definition, "refId": name},
            "refresh": 2, "sort": 1, "multi": True, "includeAll": True, "allValue": ".*",
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}


def grafana_query(number, q):
    made = {"refId": chr(ord("A") + number), "datasource": DATASOURCE, "expr": q["expr"],
            "legendFormat": q["legend"] or "__auto", "range": True}
    if q.get("format"):
        made["format"] = q["format"]
    if q.get("instant"):
        made.update(instant=True, range=False, format="table")
    return made


def field_config(p):
    steps = p.get("steps") or [(None, "green")]
    defaults = {"unit": p["unit"], "thresholds": {"mode": "absolute", "steps": [
        {"color": color, "value": value} for value, color in steps]}}
    if p["kind"] == "timeseries":
        defaults["custom"] = {"fillOpacity": 8, "showPoints": "never"}
        if p.get("log"):  # functions that take microseconds beside those that take seconds
            defaults["custom"]["scaleDistribution"] = {"type": "log", "log": 10}
        else:
            defaults["min"] = 0
    overrides = [{"matcher": {"id": "byFrameRefID", "options": chr(ord("A") + i)},
                  "properties": [{"id": "unit", "value": q["unit"]},
                                 {"id": "custom.axisPlacement", "value": "right"}]}
                 for i, q in enumerate(p["queries"]) if q.get("unit")]
    return {"defaults": defaults, "overrides": overrides}


OPTIONS = {
    "timeseries": {"legend": {"displayMode": "list", "placement": "bottom"},
                   "tooltip": {"mode": "multi", "sort": "desc"}},
    "heatmap": {"calculate": False, "yAxis": {"unit": "s"}, "cellGap": 0,
                "color": {"mode": "scheme", "scheme": "Blues", "steps": 64},
                "filterValues": {"le": 1e-9}, "tooltip": {"mode": "single", "yHistogram": True}},
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value",
             "graphMode": "area"},
    "table": {"showHeader": True},
}


def only_columns(columns):
    """Tables show these labels, in this order, and nothing else."""
    return [{"id": "labelsToFields", "options": {}}, {"id": "merge", "options": {}},
            {"id": "filterFieldsByName", "options": {"include": {"names": list(columns)}}},
            {"id": "organize", "options": {
                "indexByName": {name: i for i, name in enumerate(columns)}}}]


def grafana_panel(number, p, x, y):
    made = {"id": number, "title": p["title"], "type": p["kind"],
            "gridPos": {"x": x, "y": y, "w": p["width"], "h": p["height"]}}
    if p["kind"] == "row":
        return {**made, "collapsed": False, "panels": []}
    made.update(datasource=DATASOURCE, fieldConfig=field_config(p), options=OPTIONS[p["kind"]],
                targets=[grafana_query(i, q) for i, q in enumerate(p["queries"])])
    if p["about"]:
        made["description"] = p["about"]
    if p.get("columns"):
        made["transformations"] = only_columns(p["columns"])
    return made


def laid_out(panels):
    """From left to right, in lines as high as their highest panel."""
    made, x, y, height = [], 0, 0, 0
    for number, p in enumerate(panels, 1):
        if x + p["width"] > WIDTH:
            x, y, height = 0, y + height, 0
        made.append(grafana_panel(number, p, x, y))
        x, height = x + p["width"], max(height, p["height"])
    return made


def dashboard(name):
    title, variables, panels = DASHBOARDS[name]
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "source",
              "current": {}, "refresh": 1}
    return {"uid": f"uprobe-{name}", "title": title, "tags": ["uprobe"], "editable": True,
            "schemaVersion": SCHEMA, "version": 1, "refresh": "30s", "timezone": "browser",
            "time": {"from": "now-1h", "to": "now"}, "graphTooltip": 1,
            "templating": {"list": [source, *(variable(*v) for v in variables)]},
            "links": [{"type": "dashboards", "tags": ["uprobe"], "title": "uprobe",
                       "asDropdown": False, "keepTime": True, "includeVars": True}],
            "panels": laid_out(panels)}


def text_of(name):
    return json.dumps(dashboard(name), indent=2, ensure_ascii=False) + "\n"


def differs(path, text):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read() != text
    except FileNotFoundError:
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?", default=HERE)
    options = parser.parse_args()
    stale = []
    for name in DASHBOARDS:
        path = os.path.join(options.folder, name + ".json")
        if not differs(path, text_of(name)):
            continue
        stale.append(path)
        if not options.check:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text_of(name))
    if options.check and stale:
        sys.exit(f"not as generated: {' '.join(stale)}; run dashboards/generate.py")


if __name__ == "__main__":
    main()
