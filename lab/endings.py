"""Recordings of a part: the hang stands as they end, and perhaps already as they begin, so nobody is seen to end it, and no
round went well before. Seeds from FIRST on are such, of all arrangements; what other seeds make stays as it is.
"""
import random

FIRST = 2000000
KINDS = {'open': (3000, 3800), 'late': (6000, 7000)}     # how long the fault lasts, in ms
BEGIN, END = 15, 72             # per cent of the fault, at which a late recording begins, and at which both end


def kind_of(seed):
    return random.Random(seed * 13 + 5).choice(['open', 'open', 'late']) if seed >= FIRST else ''


def span_ms(seed):
    return random.Random(seed * 13 + 6).randrange(*KINDS[kind_of(seed)])


def truth_of(seed, span, fault_at_ms=None):
    """Times are from the fault's begin; fault_at_ms: that, from the run's begin, where a file does not tell it."""
    kind = kind_of(seed)
    return {'kind': kind, 'from_ms': span * BEGIN // 100 if kind == 'late' else None, 'until_ms': span * END // 100, 'fault_at_ms': fault_at_ms}
