# sniff.py - captures traffic on a network device: the payload of every TCP packet from or to a port; 0: any.
#
#   sniff.py DEVICE PORT FILE      until it is killed; the file exists once it listens
# SPDX-License-Identifier: BSD-3-Clause
import socket
import sys

ALL = 3  # ETH_P_ALL
IPV4, IPV6, TCP = 0x0800, 0x86DD, 6


def payload(frame, port):
    kind = int.from_bytes(frame[12:14], "big")
    if kind == IPV4 and frame[23] == TCP:
        segment = frame[14 + 4 * (frame[14] & 15):14 + int.from_bytes(frame[16:18], "big")]
    elif kind == IPV6 and frame[20] == TCP:
        segment = frame[54:54 + int.from_bytes(frame[18:20], "big")]
    else:
        return b""
    ends = int.from_bytes(segment[0:2], "big"), int.from_bytes(segment[2:4], "big")
    return segment[4 * (segment[12] >> 4):] if not port or port in ends else b""


def main():
    device, port, name = sys.argv[1:]
    ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    ear.bind((device, 0))
    with open(name, "wb", buffering=0) as file:
        while True:
            file.write(payload(ear.recv(65536), int(port)))


if __name__ == "__main__":
    main()
