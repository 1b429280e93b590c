"""terminal.py - runs a command on a new terminal, and types Ctrl-C after TIMES lines that say that a rank waits.

    terminal.py TIMES COMMAND...    prints the command's output, then: ended N ms after Ctrl-C, status S

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import pty
import sys
import time


def main():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    said, typed = b"", 0.0
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:  # no process is left
            some = b""
        if not some:
            break
        said += some
        if not typed and said.count(b" waits") >= int(sys.argv[1]):
            time.sleep(0.3)
            typed = time.monotonic()
            os.write(terminal, b"\x03")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.write(said.decode().replace("\r", ""))
    print(f"ended {1000 * (time.monotonic() - typed):.0f} ms after Ctrl-C, status {status}")


main()
