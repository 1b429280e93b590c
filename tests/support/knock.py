# knock.py - connects to all listening ports of a test's processes, and sends data that no rank would send: nothing, another
# protocol's data, the beginning of an opening, an opening with a wrong proof.
#
#   knock.py TOKEN N      the token of tap.bash; ends when N connections were closed by the other end, or after 60 s; prints the
#                         number of closed connections
# SPDX-License-Identifier: BSD-3-Clause
import glob
import os
import re
import socket
import sys
import time

OPENING = b"tutti t1" + 24 * b"n"
WORDS = [b"", b"GET / HTTP/1.0\r\n\r\n", b"tutti", OPENING + 32 * b"p"]


def ports(token):
    """The ports on which processes with this token listen."""
    mine, found = set(), set()
    for environ in glob.glob("/proc/[0-9]*/environ"):
        try:
            if b"TOKEN=" + token not in open(environ, "rb").read().split(b"\0"):
                continue
            for fd in glob.glob(os.path.dirname(environ) + "/fd/*"):
                mine.update(re.findall(r"socket:\[(\d+)\]", os.readlink(fd)))
        except OSError:
            continue
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(table).readlines()[1:]:
            row = line.split()
            if row[3] == "0A" and row[9] in mine:
                found.add(int(row[1].rsplit(":", 1)[1], 16))
    return found


token, wanted, until, closed = sys.argv[1].encode(), int(sys.argv[2]), time.monotonic() + 60, 0
while closed < wanted and time.monotonic() < until:
    calls = []
    for port in ports(token):
        for word in WORDS:
            try:
                s = socket.create_connection(("127.0.0.1", port), 1)
                s.settimeout(0.05)
                s.sendall(word)
                calls.append(s)
            except OSError:
                continue
    for s in calls:
        try:
            while s.recv(4096):
                pass
            closed += 1
        except ConnectionResetError:
            closed += 1
        except OSError:
            pass
        s.close()
print(closed)
