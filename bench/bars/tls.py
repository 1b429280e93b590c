# tls.py - the targets of tutti's own TCP (TUTTI_NET=tcp) and of TLS (TUTTI_TLS=all), compared with UCX's TCP, alternately
# (bench/tls.py). Hosts are network namespaces, which need root.
# SPDX-License-Identifier: BSD-3-Clause
import os

import tls
from measure import Failed, bytes_name
from verdict import Cannot, at_most, limit

TITLE = "time by TCP and TLS / time by UCX's TCP, sums of two ranks (the hosts need root)"
WANTED = {"TCP": (1.15, 1.15), "TLS": (1.5, 2.0)}  # allowed time relative to UCX's TCP: up to 1 KiB, and for longer vectors
STORED = {}


def bars(build, quick):
    found, rows, columns = {}, {size: [bytes_name(size) + (" B" if size < 1024 else "B")] for size in tls.SIZES}, [""]
    for place in tls.PLACES:
        why = "no figures"
        try:
            found = tls.measured(place, os.path.abspath(build), 1 if quick else 5)
        except Failed as e:
            found, why = {}, Cannot(e) if e.status == 77 else str(e)
        columns += ["%s: UCX's TCP" % place]
        for size in tls.SIZES:
            rows[size] += [tls.shown(size, found["UCX"][size]) if found else None]
        for side, wanted in WANTED.items():
            ratio = tls.ratios(found, side) if found else {}
            for name, want, sizes in (("up to 1 KiB", wanted[0], [s for s in ratio if s <= 1024]),
                                      ("64 KiB and more", wanted[1], [s for s in ratio if s > 1024])):
                worst = max(sizes, key=ratio.get) if sizes else None
                yield at_most("%s, %s: %s, most%s" % (place, side, name, " (at %s)" % bytes_name(worst) if worst else ""), want,
                              ratio.get(worst), why)
            columns += [side, "time by %s / UCX" % side]
            for size in tls.SIZES:
                rows[size] += [tls.shown(size, found[side][size]) if found else None, ratio.get(size)]
    yield limit("AES-128-GCM on one core, GB/s", tls.aes())
    STORED["tls"] = ("TCP and TLS between ranks compared with UCX's TCP", columns, [rows[size] for size in tls.SIZES])
