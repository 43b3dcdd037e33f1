"""Reads a TensorBoard event file without any code of collbench, and prints its scalars.

TFRecords (length, masked CRC-32C, data, masked CRC-32C) of Event messages; see
tensorboard/compat/proto/event.proto and summary.proto. Fails on any checksum that is wrong.
"""
import struct
import sys


def crc32c(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


def checked(data, stored):
    crc = crc32c(data)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    if struct.pack("<I", masked) != stored:
        sys.exit("wrong checksum")
    return data


def fields(data):
    """Yields (field number, value) of a protocol-buffer message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        yield key >> 3, data[at:at + size]
        at += size


def main(path):
    data = open(path, "rb").read()
    at = 0
    first = True
    while at < len(data):
        (length,) = struct.unpack("<Q", checked(data[at:at + 8], data[at + 8:at + 12]))
        event = checked(data[at + 12:at + 12 + length], data[at + 12 + length:at + 16 + length])
        at += 16 + length
        content = dict(fields(event))
        if first:
            assert content[3] == b"brain.Event:2", content
            first = False
            continue
        for number, value in fields(content[5]):
            assert number == 1
            scalar = dict(fields(value))
            print(content[2], scalar[1].decode(), "%.9g" % struct.unpack("<f", scalar[2])[0])


main(sys.argv[1])
