#!/usr/bin/python3
"""unhide.py - makes the hidden symbols of an object file visible, for the library that tests link.

Idea       libtutti's objects are compiled with -fvisibility=hidden, and linkers cannot export hidden symbols. `ld -r` joins all
           objects, and this script changes the visibility in the symbol table of the result. Tests can then use the same
           objects.
Usage      tools/unhide.py FILE.o      changes the file in place; 64-bit little-endian ELF
SPDX-License-Identifier: BSD-3-Clause"""
import struct
import sys

SYMTAB, LOCAL, HIDDEN, SECTION, SYMBOL = 2, 0, 2, struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def main(path):
    with open(path, "rb") as f:
        elf = bytearray(f.read())
    if elf[:6] != b"\x7fELF\2\1":
        sys.exit(f"unhide: {path} is not an ELF of 64 bits, little-endian")
    sections, = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    for k in range(count):
        _, kind, _, _, at, length, _, _, _, _ = SECTION.unpack_from(elf, sections + k * size)
        for symbol in range(at, at + length, SYMBOL.size) if kind == SYMTAB else ():
            _, info, other, _, _, _ = SYMBOL.unpack_from(elf, symbol)
            if info >> 4 != LOCAL and other & 3 == HIDDEN:
                elf[symbol + 5] = other & ~3
    with open(path, "wb") as f:
        f.write(elf)


main(sys.argv[1])
