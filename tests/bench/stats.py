"""Medians of rounds, and ratios taken round by round, so that what slows a round cancels out."""

import statistics


def quartiles(values):
    values = sorted(values)
    at = [int(part * (len(values) - 1) + 0.5) for part in (0.25, 0.75)]
    return [values[i] for i in at]


def summary(values):
    return {"median": statistics.median(values), "quartiles": quartiles(values),
            "rounds": len(values)}


def ratio(values, others):
    """Of two lists of the same rounds: the median of their ratios, and how it spreads."""
    return summary([a / b for a, b in zip(values, others)])


def against(rounds, names):
    """{contender: summary, with `to` its ratio to each contender of names}; rounds are
    {contender: [cost]}."""
    table = {}
    for name, values in rounds.items():
        table[name] = summary(values)
        table[name]["to"] = {other: ratio(values, rounds[other]) for other in names
                             if rounds.get(other)}
    return table
