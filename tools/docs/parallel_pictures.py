"""The drawn pictures of the tutorials about several ranks: see pictures.py."""

from tools.docs.picture import BODY, Picture, arrow, label

__all__ = ["buckets"]

PARAMETERS = "4.bias", "4.weight", "2.bias", "2.weight", "0.bias", "0.weight"
SIZES = 3, 1, 2         # of the buckets, in parameters


def buckets():
    d = Picture("buckets", 580, 196, "Buckets, and their all-reduces",
                "Two lanes over time. The backward computes layers 4, 2 and 0. Below, the all-reduces of buckets 0 and 1 run "
                "beside it. Only that of bucket 2 runs after it.")
    left, wide, first = 88.0, 62.0, 0
    label(d, 8, 43, "backward", BODY, "bold", "blue", "start")
    label(d, 8, 91, "buckets", BODY, "bold", "violet", "start")
    label(d, 8, 144, "network", BODY, "bold", "amber", "start")
    for i, name in enumerate(PARAMETERS):
        d.rect(left + i * wide, 26, wide - 2, 26, "pale-blue", "blue", 2)
        label(d, left + (i + 0.5) * wide - 1, 43, name, 11.0, "mono", "ink")
    end = left + wide * len(PARAMETERS)
    for i, count in enumerate(SIZES):
        x, full = left + first * wide, left + (first + count) * wide
        d.rect(x, 74, full - x - 2, 26, "pale-violet", "violet", 2)
        label(d, (x + full) / 2 - 1, 91, f"{i}" if count == 1 else f"bucket {i}", BODY, "sans", "ink")
        first += count
        for k in range(first - count, first):
            arrow(d, [(left + (k + 0.5) * wide - 1, 53), (left + (k + 0.5) * wide - 1, 73)])
        start = max(full, left + 4.4 * wide) if i == 1 else full
        arrow(d, [(full - 8, 101), (start + 4, 126)], "amber")
        d.rect(start, 127, 1.3 * wide - 4 if i < 2 else wide, 26, "pale-amber", "amber", 2)
        label(d, start + (0.65 if i < 2 else 0.5) * wide - 2, 144, f"mean {i}", BODY, "sans", "ink")
    d.line([(end, 39), (end + wide, 39)], "soft", 1.2, dashed=True)
    label(d, end + wide / 2, 32, "waits")
    d.rect(end + wide + 2, 26, 46, 26, "panel", "rule", 2)
    label(d, end + wide + 25, 43, "step", BODY, "sans", "ink")
    label(d, 290, 184, "time goes to the right: an all-reduce starts when its bucket is full")
    return d
