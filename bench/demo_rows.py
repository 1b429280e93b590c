# demo_rows.py - stores the results of `make demo-hosts` as rows for the manual (docs/hosts.md); demo_hosts.sh calls it.
#
#   demo_rows.py FILE WAYS LINKS HOSTS CODE
#
# WAYS: a file with a line for each variant: name, seconds, accuracy. The first variant is the reference of the others. CODE:
# the compression of the variant `coded`. Rows with the same links and hosts are replaced.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

import record


def main():
    path, ways, links, hosts, code = sys.argv[1:]
    rows = record.load(path)["rows"] if os.path.exists(path) else []
    rows = [r for r in rows if (r["links"], r["hosts"]) != (links, hosts)]
    with open(ways) as f:
        found = [line.split() for line in f]
    for way, seconds, accuracy in found:
        rows.append({"links": links, "hosts": hosts, "messages": {"coded": code}.get(way, way),
                     "seconds": float(seconds), "times as fast": round(float(found[0][1]) / float(seconds), 2),
                     "accuracy": accuracy})
    record.store(path, record.about("the training of make demo on hosts; times as fast: as the first of the same hosts and links",
                                    "make demo-hosts RATE=%s HOSTS=%s PER_HOST=%s" % (links, *hosts.split(" x "))), rows)


if __name__ == "__main__":
    main()
