"""slices.py - a lower bound for the number of sends of one block in an allreduce on P ranks in T rounds.

Idea       After t rounds, rank r has sums of the operands of K(r) ranks, and R(r) ranks will receive something that depends
           on them. Each operand reaches each rank along a path, which is at some rank after t rounds. Therefore the sum of
           K(r) * R(r) over the ranks is at least P * P, for every t from 0 to T.
           With one port a rank receives from one rank in a round, which has at most 2^(i-1) operands before round i. If a
           rank receives the block in the rounds A, K(r) is at most 1 + the sum of 2^(i-1) over the i in A with i <= t. In
           the same way, if it sends the block in the rounds B, R(r) is at most 1 + the sum of 2^(T-i) over the i in B with
           i > t. Neither exceeds P.
Result     The least number of messages for which P ranks can fulfill all these inequalities. The messages of a round are
           counted at the receiver, at the sender, or half at each. Each count gives a bound; the best bound is used. It
           holds for every allreduce with one port, for any order of sums.
SPDX-License-Identifier: BSD-3-Clause"""
import itertools


def dominated(x, y):
    """x and y are pairs of a cost and its gains. Does y gain at least as much as x, at no higher cost?"""
    return y[0] <= x[0] and all(b >= a for a, b in zip(x[1], y[1]))


def best_of(found):
    """Remove dominated pairs. Each gain is listed with its lowest cost."""
    kept = []
    for bought, price in sorted(found.items(), key=lambda item: (item[1], [-v for v in item[0]])):
        if not any(dominated((price, bought), k) for k in kept):
            kept.append((price, bought))
    return kept


def patterns(ranks, rounds, weights):
    """The contributions of a rank to the sum after each round, by the cost of its receives and sends in halves of messages. A
    receive in round i costs weights[i - 1], and a send 2 - weights[i - 1]."""
    found = {}
    subsets = [s for n in range(rounds + 1) for s in itertools.combinations(range(1, rounds + 1), n)]
    knows = {s: [min(ranks, 1 + sum(2 ** (i - 1) for i in s if i <= t)) for t in range(rounds + 1)] for s in subsets}
    reaches = {s: [min(ranks, 1 + sum(2 ** (rounds - i) for i in s if i > t)) for t in range(rounds + 1)] for s in subsets}
    for a in subsets:
        for b in subsets:
            if knows[a][rounds] == ranks and reaches[b][0] == ranks:
                bought = tuple(knows[a][t] * reaches[b][t] for t in range(1, rounds))
                price = sum(weights[i - 1] for i in a) + sum(2 - weights[i - 1] for i in b)
                found[bought] = min(price, found.get(bought, 2 * rounds))
    return best_of(found)


def bound(ranks, rounds, weights):
    each, sums = patterns(ranks, rounds, weights), [(0, (0,) * (rounds - 1))]
    for _ in range(ranks):
        found = {}
        for price, have in sums:
            for more, bought in each:
                now = tuple(min(ranks * ranks, a + b) for a, b in zip(have, bought))
                found[now] = min(price + more, found.get(now, 2 * ranks * rounds))
        sums = best_of(found)
    price = min(price for price, have in sums if all(v == ranks * ranks for v in have))
    return (price + 1) // 2


def least_sends(ranks, rounds):
    """The bound, which is at least 2 (P - 1) for any number of rounds. Reversed ways to count have the same result."""
    half = rounds // 2
    ways = [w + (1,) * (rounds % 2) + tuple(2 - x for x in reversed(w)) for w in itertools.product((1, 2, 0), repeat=half)]
    return max([2 * (ranks - 1)] + [bound(ranks, rounds, w) for w in ways])
