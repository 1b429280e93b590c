# heard_keys.py - does captured traffic (sniff.py) contain the key of an aggregator's session?
#
#   heard_keys.py FILE TUTTI_KEY     prints "SESSIONS sessions, KEYS keys" for the captured hellos
#
# Idea       A hello to an aggregator contains the session's number in clear text. The key follows from it and TUTTI_KEY
#            (src/aggregator/aggregator_key.c). The search covers hexadecimal digits, raw bytes, and the TUTTI_KEY itself.
# SPDX-License-Identifier: BSD-3-Clause
import hashlib
import hmac
import sys

HELLO, NUMBER = b"tuttiag\0", 16  # the magic; where the session's number is, in bytes from it


def sessions(heard):
    at, found = heard.find(HELLO), set()
    while at >= 0:
        # the aggregator's challenge has the same magic, and a nonce in the position of the number: one more key to search for
        found.add(heard[at + NUMBER:at + NUMBER + 8])
        at = heard.find(HELLO, at + 1)
    return {number for number in found if len(number) == 8}


def main():
    with open(sys.argv[1], "rb") as file:
        heard = file.read()
    text = sys.argv[2].encode()
    of_job = hashlib.sha256(b"tutti aggregator\0" + text).hexdigest()[:32].encode()
    numbers = sessions(heard)
    words = [text, of_job]
    for number in numbers:
        words.append(hmac.new(of_job, b"tutti session 1\0" + number, hashlib.sha256).hexdigest()[:32].encode())
    keys = sum(word in heard or (word != text and bytes.fromhex(word.decode()) in heard) for word in words)
    print("%d sessions, %d keys" % (len(numbers), keys))


if __name__ == "__main__":
    main()
