# tls.py - the bars of TLS between ranks: tutti's own network (TUTTI_TLS=all) beside UCX's TCP, by turns (bench/tls.py).
# Hosts of network namespaces need root.
# SPDX-License-Identifier: BSD-3-Clause
import os

import tls
from measure import Failed, bytes_name
from verdict import Cannot, at_most, limit

TITLE = "time by TLS / time by UCX's TCP, sums of two ranks (the hosts need root)"
SHORT, LONG = 1.5, 2.0
STORED = {}


def bars(build, quick):
    found, rows, columns = {}, {size: [bytes_name(size) + (" B" if size < 1024 else "B")] for size in tls.SIZES}, [""]
    for place in tls.PLACES:
        why = "no figures"
        try:
            found = tls.measured(place, os.path.abspath(build), 1 if quick else 5)
            ratio = tls.ratios(found)
        except Failed as e:
            found, ratio, why = {}, {}, Cannot(e) if e.status == 77 else str(e)
        yield at_most("%s: 8 B" % place, SHORT, ratio.get(8), why)
        longer = [size for size in ratio if size > 8]
        worst = max(longer, key=ratio.get) if longer else None
        yield at_most("%s: 64K and more, most%s" % (place, " (at %s)" % bytes_name(worst) if worst else ""), LONG,
                      ratio.get(worst), why)
        columns += ["%s: UCX's TCP" % place, "TLS", "time by TLS / UCX"]
        for size in tls.SIZES:
            rows[size] += [tls.shown(size, found[side][size]) if found else None for side in ("UCX", "TLS")] + [ratio.get(size)]
    yield limit("AES-128-GCM on one core, GB/s", tls.aes())
    STORED["tls"] = ("TLS between ranks beside UCX's TCP", columns, [rows[size] for size in tls.SIZES])
