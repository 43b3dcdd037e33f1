#!/usr/bin/env python3
"""Writes 60 networks that are in no list: random ones, and damaged, uneven and larger kin of those in tests; the last four are large.

    networks.py FOLDER [SEED]

The records of 2026-11-28 are of seed 7.
"""
import itertools
import math
import pathlib
import random
import sys

OUT = pathlib.Path(sys.argv[1])


def write(name, links):
    rows = "".join(f"{a},{b},{rate:g},link\n" for (a, b), rate in links.items())
    (OUT / f"{name}.csv").write_text("from,to,bandwidth_GBps,kind\n" + rows)


def join(links, a, b, rate):
    links[(a, b)] = links[(b, a)] = rate


def chain(ranks, rate, closed):
    links = {}
    for i in range(ranks if closed else ranks - 1):
        join(links, f"g{i}", f"g{(i + 1) % ranks}", rate)
    return links


def grid(dims, closed, rates):
    links = {}
    number = lambda place: sum(x * math.prod(dims[i + 1:]) for i, x in enumerate(place))
    for place in itertools.product(*[range(d) for d in dims]):
        for axis, length in enumerate(dims):
            other = list(place)
            other[axis] += 1
            if other[axis] == length:
                if not closed[axis] or length == 2:
                    continue
                other[axis] = 0
            join(links, f"g{number(place)}", f"g{number(other)}", rates[axis])
    return links


def torus(*dims):
    return grid(dims, [1] * len(dims), [50] * len(dims))


def mesh(*dims):
    return grid(dims, [0] * len(dims), [50] * len(dims))


def cylinder(open_axis, closed_axis):
    return grid((open_axis, closed_axis), (0, 1), (50, 50))


def cut(links, rng, count=1):
    links = dict(links)
    for _ in range(count):
        a, b = rng.choice(list(links))
        links.pop((a, b))
        links.pop((b, a), None)
    return links


def half(links, rng, count=1):
    links = dict(links)
    for _ in range(count):
        a, b = rng.choice(list(links))
        halve(links, a, b)
    return links


def halve(links, a, b):
    links[(a, b)] /= 2
    if (b, a) in links:
        links[(b, a)] /= 2
    return links


def boxes(count, gpus, nvlink, nic, by_rail=True):
    links = {}
    for box in range(count):
        for i in range(gpus):
            join(links, f"g{box * gpus + i}", f"s_nv{box}", nvlink)
            join(links, f"g{box * gpus + i}", f"s_rail{i}" if by_rail else "s_net", nic)
    return links


def fat_tree(leaves, hosts, spines, nic, up):
    links = {}
    for leaf in range(leaves):
        for host in range(hosts):
            join(links, f"g{leaf * hosts + host}", f"s_l{leaf}", nic)
        for spine in range(spines):
            join(links, f"s_l{leaf}", f"s_s{spine}", up)
    return links


def full(ranks, rate):
    return {(f"g{a}", f"g{b}"): rate for a, b in itertools.permutations(range(ranks), 2)}


def cube(axes):
    return {(f"g{a}", f"g{a ^ (1 << i)}"): 25 for a in range(1 << axes) for i in range(axes)}


def boxes_of_meshes(count, rate, nic):
    links = {}
    for box in range(count):
        for (a, b), each in full(8, rate).items():
            links[(f"g{box * 8 + int(a[1:])}", f"g{box * 8 + int(b[1:])}")] = each
        for i in range(8):
            join(links, f"g{box * 8 + i}", "s_net", nic)
    return links


def bridged(links, ranks, bridges, rate):
    both = {(f"g{int(a[1:]) + base}", f"g{int(b[1:]) + base}"): each
            for base in (0, ranks) for (a, b), each in links.items()}
    for i in bridges:
        join(both, f"g{i}", f"g{i + ranks}", rate)
    return both


def random_cables(rng, ranks, switches):
    links = {}
    nodes = [f"g{i}" for i in range(ranks)] + [f"s_{i}" for i in range(switches)]
    ring = rng.sample(nodes, len(nodes))
    for a, b in zip(ring, ring[1:] + ring[:1]):
        join(links, a, b, rng.randint(1, 40))
    for a, b in itertools.combinations(nodes, 2):
        if rng.random() < 0.3 and (a, b) not in links:
            join(links, a, b, rng.randint(1, 40))
    return links


def random_one_way(rng, ranks):
    nodes = [f"g{i}" for i in range(ranks)]
    ring = rng.sample(nodes, ranks)
    links = {pair: rng.randint(1, 20) for pair in zip(ring, ring[1:] + ring[:1])}
    for pair in itertools.permutations(nodes, 2):
        if rng.random() < 0.25 and pair not in links:
            links[pair] = rng.randint(1, 20)
    return links


def random_clusters(rng, count):
    links = {}
    groups = []
    for cluster in range(count):
        first = sum(map(len, groups))
        groups.append([f"g{first + i}" for i in range(rng.randint(2, 5))])
        for rank in groups[-1]:
            join(links, rank, f"s_c{cluster}", rng.randint(20, 40))
        for a, b in itertools.combinations(groups[-1], 2):
            if rng.random() < 0.5:
                join(links, a, b, rng.randint(20, 80))
    for cluster in range(count):
        for _ in range(rng.randint(1, 3)):
            other = rng.choice([x for x in range(count) if x != cluster])
            join(links, rng.choice(groups[cluster]), rng.choice(groups[other]), rng.randint(2, 12))
        join(links, groups[cluster][0], groups[(cluster + 1) % count][-1], rng.randint(2, 12))
    return links


def rings(rng, ranks):
    """Two random rings through all ranks, each cable of one of three rates."""
    links = {}
    for _ in range(2):
        order = rng.sample(range(ranks), ranks)
        for a, b in zip(order, order[1:] + order[:1]):
            join(links, f"g{a}", f"g{b}", links.get((f"g{a}", f"g{b}"), 0) + rng.choice([25, 50, 100]))
    return links


def uneven_rails(rng, count):
    """Boxes of 8 GPUs, of which no two adapters need be alike."""
    links = {}
    for box in range(count):
        for i in range(8):
            join(links, f"g{box * 8 + i}", f"s_nv{box}", 450)
            join(links, f"g{box * 8 + i}", f"s_rail{i}", rng.choice([20, 25, 37.5, 50]))
    return links


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 7)
    star = {}
    for i in range(10):
        join(star, f"g{i}", "s_0", rng.choice([10, 20, 25, 40, 50]))
    a100 = boxes(4, 8, 300, 25, by_rail=False)
    fat = fat_tree(3, 6, 3, 25, 25)
    mi300x = boxes_of_meshes(3, 64, 50)
    networks = {
        "torus_3x4_cut": cut(torus(3, 4), rng), "torus_3x4_half": half(torus(3, 4), rng),
        "torus_4x6_cut2": cut(torus(4, 6), rng, 2), "torus_3x5_hetero": grid((3, 5), (1, 1), (50, 30)),
        "torus_3x3x4_cut": cut(torus(3, 3, 4), rng), "torus_4x4x4_cut": cut(torus(4, 4, 4), rng),
        "torus_4x4x4_half": half(torus(4, 4, 4), rng), "torus_8x8_cut": cut(torus(8, 8), rng),
        "mesh_2x4": mesh(2, 4), "mesh_5x5": mesh(5, 5), "mesh_8x8": mesh(8, 8), "mesh_4x8": mesh(4, 8),
        "mesh_2x2x4": mesh(2, 2, 4), "mesh_3x4x4": mesh(3, 4, 4), "mesh_4x4_cut": cut(mesh(4, 4), rng),
        "mesh_3x4_hetero": grid((3, 4), (0, 0), (50, 20)), "cyl_4x8": cylinder(4, 8), "cyl_8x4": cylinder(8, 4),
        "cyl_8x8": cylinder(8, 8), "cyl_3x5": cylinder(3, 5), "v5e_4x16": cylinder(4, 16),
        "h100_3_rail": boxes(3, 8, 450, 50), "h100_3_half": halve(boxes(3, 8, 450, 50), "g3", "s_rail3"),
        "h100_8_half": halve(boxes(8, 8, 450, 50), "g3", "s_rail3"),
        "a100_4_one_cut": {pair: rate for pair, rate in a100.items() if {"g13", "s_net"} != set(pair)},
        "a100_2x4_halfnv": halve(boxes(2, 4, 300, 25), "g1", "s_nv0"), "fat_3x4_3to1": fat_tree(3, 4, 2, 50, 33),
        "fat_6x4_half": halve(fat_tree(6, 4, 2, 50, 50), "s_l2", "s_s0"),
        "fat_3x6_cut": {pair: rate for pair, rate in fat.items() if {"s_l1", "s_s2"} != set(pair)},
        "full_6_cut": cut(full(6, 25), rng), "full_8_half2": half(full(8, 64), rng, 2),
        "full_12_cut3": cut(full(12, 10), rng, 3), "cube_3_cut": cut(cube(3), rng), "cube_4_half": half(cube(4), rng),
        "cube_5": cube(5), "cube_5_cut": cut(cube(5), rng), "ring_12_cut": cut(chain(12, 25, True), rng),
        "ring_12_half2": half(chain(12, 25, True), rng, 2), "line_9": chain(9, 20, False),
        "line_9_half": half(chain(9, 20, False), rng), "star_hetero_10": star, "mi300x_3": mi300x,
        "mi300x_3_cut": {pair: rate for pair, rate in mi300x.items() if {"g1", "g5"} != set(pair)},
        "two_torus_bridge": bridged(torus(3, 4), 12, (0, 5, 9), 25),
    }
    for i in range(4):
        networks[f"rand_clus_{i}"] = random_clusters(rng, 3 + i // 2)
        networks[f"rand_und_{i}"] = random_cables(rng, 7 + 2 * i, i)
        networks[f"rand_dir_{i}"] = random_one_way(rng, 5 + 2 * i)
    for ranks in (250, 500, 1000):
        networks[f"rings_{ranks}"] = rings(rng, ranks)
    networks["rails_1024_uneven"] = uneven_rails(rng, 128)
    for name, links in networks.items():
        write(name, links)


if __name__ == "__main__":
    main()
