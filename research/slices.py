"""slices.py - how few sends of one block an allreduce on P ranks in T rounds can do, by what fits between two rounds.

Idea       After t rounds rank r knows the operands of K(r) ranks, and what it has then will get to R(r) ranks. Each
           operand gets to each rank, and on its way it is somewhere after t rounds: the sum of K(r) * R(r) over the
           ranks is at least P * P. This is so for every t from 0 to T.
           With one port a rank hears from one rank in a round, which knows 2^(i-1) operands at most before round i. So
           a rank that receives the block in the rounds A knows at most 1 + the sum of 2^(i-1) over those i in A that
           are at most t. In the same way a rank that sends it in the rounds B reaches at most 1 + the sum of 2^(T-i)
           over those i in B that are more than t. Neither is more than P.
Result     The least number of messages for which P ranks fulfil all these inequalities. A round's messages are counted
           where they are received, where they are sent, or half at either end: each way is a bound, and the best one
           counts. It holds for every allreduce with one port, whatever the order of its sums.
SPDX-License-Identifier: BSD-3-Clause"""
import itertools


def dominated(x, y):
    """Does y, a price and what it buys, do as much as x for no more?"""
    return y[0] <= x[0] and all(b >= a for a, b in zip(x[1], y[1]))


def best_of(found):
    """Leaves out what is dominated; each thing bought comes with its lowest price."""
    kept = []
    for bought, price in sorted(found.items(), key=lambda item: (item[1], [-v for v in item[0]])):
        if not any(dominated((price, bought), k) for k in kept):
            kept.append((price, bought))
    return kept


def patterns(ranks, rounds, weights):
    """What a rank contributes to the sum after each round, by the price of its receives and sends: halves of messages. A
    receive in round i costs weights[i - 1], a send the rest of 2."""
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
    """The bound, and at least 2 (P - 1), which holds for any number of rounds. Ways to count are the same backwards."""
    half = rounds // 2
    ways = [w + (1,) * (rounds % 2) + tuple(2 - x for x in reversed(w)) for w in itertools.product((1, 2, 0), repeat=half)]
    return max([2 * (ranks - 1)] + [bound(ranks, rounds, w) for w in ways])
