"""A strict reader of the text format 0.0.4 and of OpenMetrics 1.0.

Prometheus forgives much; this does not. parse() raises ScrapeError for anything that the formats
forbid: metadata twice or late, families that are not contiguous, a series twice, bad escapes,
histograms whose buckets do not ascend or do not end in +Inf == _count. The rules are those of
Prometheus' exposition_formats.md and the OpenMetrics 1.0 specification.
"""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf|NaN)$")
UNESCAPE = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
TEXT_TYPES = {"counter", "gauge", "histogram", "untyped", "summary"}
OM_TYPES = {"counter", "gauge", "histogram", "info", "unknown", "stateset", "summary"}
OM_SUFFIXES = {
    "counter": {"_total", "_created"},
    "gauge": {""},
    "info": {"_info"},
    "histogram": {"_bucket", "_sum", "_count", "_created"},
    "unknown": {""},
}


class ScrapeError(AssertionError):
    """The scraped text breaks a rule of its format."""


class Family:
    def __init__(self, name):
        self.name = name
        self.type = self.help = self.unit = None
        self.samples = []  # (sample name, labels as a dict, number)


class Histogram:
    def __init__(self, buckets, count, total):
        self.buckets = buckets  # [(le, cumulative count)], ascending, +Inf last
        self.count, self.sum = count, total

    def between(self, low, high):
        """How many observations lie in (low, high], both being bounds."""
        at = dict(self.buckets)
        return at[high] - (at[low] if low else 0)


def _need(condition, line, why):
    if not condition:
        raise ScrapeError(f"{why}: {line!r}")


def _labels(text, line):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        _need(match, line, "bad label")
        name, value = match.group(1), match.group(2)
        _need(name not in labels, line, "label twice")
        labels[name] = re.sub(r"\\[\\\"n]", lambda m: UNESCAPE[m.group()], value)
        at = match.end()
        _need(match.group(3) == "," or at == len(text), line, "bad label list")
    return labels


def _sample_family(name, families, openmetrics, line):
    """The family that a sample belongs to: the last one named."""
    _need(families, line, "sample before its metadata")
    family = families[-1]
    _need(name.startswith(family.name), line, f"sample outside family {family.name}")
    suffix = name[len(family.name):]
    if openmetrics:
        allowed = OM_SUFFIXES[family.type]
    else:
        allowed = {"_bucket", "_sum", "_count"} if family.type == "histogram" else {""}
    _need(suffix in allowed, line, f"bad name in {family.type} family {family.name}")
    return family


class Scrape:
    def __init__(self, families):
        self.families = {family.name: family for family in families}
        self.series = {}
        for family in families:
            for name, labels, value in family.samples:
                key = (name, frozenset(labels.items()))
                _need(key not in self.series, key, "series twice")
                self.series[key] = value

    def find(self, name, **wanted):
        """[(labels, value)] of the samples of this name that have these labels."""
        return [(dict(labels), value) for (sample, labels), value in self.series.items()
                if sample == name and wanted.items() <= dict(labels).items()]

    def value(self, name, **wanted):
        """The value of the one sample that fits."""
        found = self.find(name, **wanted)
        if len(found) != 1:
            raise ScrapeError(f"{len(found)} samples of {name} {wanted}")
        return found[0][1]

    def total(self, name, **wanted):
        return sum(value for _, value in self.find(name, **wanted))

    def histogram(self, name, **wanted):
        buckets = sorted((float(labels["le"]), value)
                         for labels, value in self.find(name + "_bucket", **wanted))
        if len({le for le, _ in buckets}) != len(buckets):
            raise ScrapeError(f"more than one histogram {name} {wanted}")
        return Histogram(buckets, self.value(name + "_count", **wanted),
                         self.value(name + "_sum", **wanted))


def _check_histograms(family):
    groups = {}
    for name, labels, value in family.samples:
        le = labels.get("le")
        key = frozenset((k, v) for k, v in labels.items() if k != "le")
        groups.setdefault(key, {"le": []})
        if name.endswith("_bucket"):
            _need(le is not None, labels, "bucket without le")
            _need(re.search(r"[.e]|Inf", le), le, "le without a point or exponent")
            groups[key]["le"].append((float(le), value))
        else:
            _need(le is None, labels, "le outside a bucket")
            groups[key][name.rsplit("_", 1)[1]] = value
    for key, group in groups.items():
        bounds = [le for le, _ in group["le"]]
        counts = [count for _, count in group["le"]]
        _need(bounds and bounds == sorted(set(bounds)), key, "le does not ascend")
        _need(math.isinf(bounds[-1]), key, "no +Inf bucket")
        _need(counts == sorted(counts), key, "bucket counts go down")
        _need(counts[-1] == group.get("count"), key, "+Inf differs from _count")
        _need("sum" in group, key, "no _sum")
        _need(group["sum"] >= 0, key, "negative _sum")
        _need(counts[-1] or not group["sum"], key, "a sum of nothing")


def _metadata(line, families, seen, openmetrics):
    match = re.match(rf"# (HELP|TYPE|UNIT) ({NAME}) (.*)$", line)
    _need(match, line, "neither metadata nor sample")
    kind, name, rest = match.groups()
    if not families or families[-1].name != name:
        _need(name not in seen, line, "family is not contiguous")
        seen.add(name)
        families.append(Family(name))
    family = families[-1]
    _need(not family.samples, line, "metadata after samples")
    _need(getattr(family, kind.lower()) is None, line, "metadata twice")
    if kind == "TYPE":
        _need(rest in (OM_TYPES if openmetrics else TEXT_TYPES), line, "unknown type")
        _need(not openmetrics or (family.help is None and family.unit is None), line,
              "TYPE comes first in OpenMetrics")
    if kind == "UNIT":
        _need(openmetrics, line, "UNIT in the text format")
        _need(name.endswith("_" + rest), line, "unit is not the name's suffix")
        _need(family.help is None, line, "UNIT comes before HELP")
    if kind == "HELP":
        _need(not re.search(r"\\[^\\n\"]", rest), line, "bad escape")
    setattr(family, kind.lower(), rest)


def parse(body, openmetrics=False):
    """bytes of one answer → Scrape."""
    text = body.decode("utf-8")  # strict
    _need(text.endswith("\n"), text[-40:], "no newline at the end")
    _need("\r" not in text, "", "carriage return")
    lines = text[:-1].split("\n")
    if openmetrics:
        _need(lines.pop() == "# EOF", text[-40:], "no # EOF at the end")
    families, seen = [], set()
    for line in lines:
        if line.startswith("#"):
            _metadata(line, families, seen, openmetrics)
            continue
        match = SAMPLE.match(line)
        _need(match, line, "bad sample")
        name, labels, number = match.groups()
        _need(NUMBER.match(number), line, "bad number")
        family = _sample_family(name, families, openmetrics, line)
        family.samples.append((name, _labels(labels or "", line), float(number)))
    for family in families:
        _need(family.type and family.help, family.name, "no TYPE or HELP")
        if family.type == "counter" and not openmetrics:
            _need(family.name.endswith("_total"), family.name, "counter without _total")
        if family.type == "histogram":
            _check_histograms(family)
    return Scrape(families)


class Monotonic:
    """Feed it scrapes in order: no counter or histogram series goes down or vanishes."""

    def __init__(self):
        self.last = {}

    def see(self, scrape):
        now = {}
        for family in scrape.families.values():
            if family.type in ("counter", "histogram"):
                for name, labels, value in family.samples:
                    now[(name, frozenset(labels.items()))] = value
        for key, before in self.last.items():
            _need(key in now, key, "series vanished")
            _need(now[key] >= before, key, f"went down from {before} to {now[key]}")
        self.last = now
