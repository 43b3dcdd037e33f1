#!/usr/bin/env python3
"""Writes tiny data sets in the formats of MNIST and CIFAR-10, independently of collbench.

write_datasets.py mnist|cifar FOLDER

Every class is a bright bar at a place of its own over noise from a fixed generator, so that a model
learns it within a few steps. Formats: http://yann.lecun.com/exdb/mnist/ (IDX, big-endian) and
https://www.cs.toronto.edu/~kriz/cifar.html (binary version).
"""
import os
import struct
import sys


def noise(seed):
    """A linear congruential generator's high bytes."""
    while True:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        yield seed >> 58  # 0 to 63


def image(label, side, channels, values):
    rows = []
    for _ in range(channels):
        for y in range(side):
            bar = y * 10 // side == label
            rows.extend(200 if bar else next(values) for _ in range(side))
    return bytes(rows)


def mnist(folder):
    values = noise(1)
    for name, count in (("train", 240), ("t10k", 60)):
        labels = [i * 7 % 10 for i in range(count)]
        with open(f"{folder}/{name}-images-idx3-ubyte", "wb") as out:
            out.write(struct.pack(">IIII", 0x00000803, count, 28, 28))
            for label in labels:
                out.write(image(label, 28, 1, values))
        with open(f"{folder}/{name}-labels-idx1-ubyte", "wb") as out:
            out.write(struct.pack(">II", 0x00000801, count) + bytes(labels))


def cifar(folder):
    values = noise(2)
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        with open(f"{folder}/{name}", "wb") as out:
            for i in range(40):
                label = i * 3 % 10
                out.write(bytes([label]) + image(label, 32, 3, values))


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    {"mnist": mnist, "cifar": cifar}[sys.argv[1]](sys.argv[2])
