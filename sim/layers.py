# layers.py - the tensors of three networks, and the work of each: sim/layers-*.tsv.
#
#   layers.py            writes the tables again
#
# Form       a comment with the source, and the totals; then a line per tensor, in the order of the forward pass: name, floats,
#            multiply-adds of the forward pass for one sample (an image, a token).
# Time       the backward pass takes two multiply-adds for each of the forward pass's (one for the weights' gradient, one for
#            the input's), so a step is one third forward, and its layers take their shares of that. Normalisation, activations
#            and the optimizer are left out.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os

HERE = os.path.dirname(os.path.abspath(__file__))
Tensor = collections.namedtuple("Tensor", "name floats work")

SOURCES = {
    "resnet50": "ResNet-50 on 224 x 224 images: He, Zhang, Ren, Sun, Deep Residual Learning, CVPR 2016, table 1 (a stride is in the "
                "first 1 x 1 convolution of a stage)",
    "bert-large": "BERT-large, 24 layers of width 1024, 16 heads, a vocabulary of 30,522, 512 positions: Devlin, Chang, Lee, Toutanova, "
                  "NAACL 2019; the work is that of sequences of 128 tokens",
    "lstm": "A language model of 300 million parameters, as in Gibiansky 2017, which gives no shapes. These are ours: a vocabulary "
            "of 91,000, width 1024, three LSTM layers of 4096 cells with a projection to 1024 (Jozefowicz et al., Exploring the "
            "Limits of Language Modeling, 2016, has such layers); a gradient of a recurrent weight is complete at the end",
}  # fmt: skip


def resnet50():
    size, out = 112, []

    def conv(name, k, cin, cout, at):
        out.append(Tensor(name, k * k * cin * cout, k * k * cin * cout * at * at))
        out.append(Tensor(name + ".scale", cout, 0))
        out.append(Tensor(name + ".shift", cout, 0))

    conv("conv1", 7, 3, 64, size)
    size, cin = 56, 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        size = size if stage == 0 else size // 2
        for block in range(blocks):
            name = "stage%d.%d." % (stage + 1, block)
            if block == 0:
                conv(name + "shortcut", 1, cin, 4 * width, size)
            conv(name + "a", 1, cin, width, size)
            conv(name + "b", 3, width, width, size)
            conv(name + "c", 1, width, 4 * width, size)
            cin = 4 * width
    return out + [Tensor("fc.weight", 2048 * 1000, 2048 * 1000), Tensor("fc.bias", 1000, 0)]


def bert_large(width=1024, layers=24, words=30522, positions=512, sequence=128):
    out = [Tensor("words", words * width, 0), Tensor("positions", positions * width, 0), Tensor("segments", 2 * width, 0)]

    def norm(name):
        out.extend([Tensor(name + ".scale", width, 0), Tensor(name + ".shift", width, 0)])

    def linear(name, n, m, more=0):
        out.extend([Tensor(name + ".weight", n * m, n * m + more), Tensor(name + ".bias", m, 0)])

    norm("embedding.norm")
    for i in range(layers):
        name = "layer%d." % i
        for what in ("query", "key", "value"):
            linear(name + what, width, width)
        linear(name + "attention", width, width, 2 * sequence * width)  # and the scores, and what they weigh
        norm(name + "attention.norm")
        linear(name + "inner", width, 4 * width)
        linear(name + "outer", 4 * width, width)
        norm(name + "norm")
    linear("head", width, width)
    norm("head.norm")
    # the output's weights are the words': their gradient is complete at the end
    return out + [Tensor("head.words", 0, words * width), Tensor("head.words.bias", words, 0)]


def lstm(words=91000, width=1024, layers=3, cells=4096):
    out = [Tensor("words", words * width, 0)]
    recurrent = []
    for i in range(layers):
        floats = 4 * cells * (width + width) + cells * width
        recurrent.append(Tensor("lstm%d.time" % i, 0, floats))
        out += [Tensor("lstm%d.gates" % i, 4 * cells * 2 * width, 0), Tensor("lstm%d.bias" % i, 4 * cells, 0),
                Tensor("lstm%d.projection" % i, cells * width, 0)]  # fmt: skip
    # backwards: the output first, then all time steps, and only then the recurrent weights
    return out + recurrent + [Tensor("output.weight", words * width, words * width), Tensor("output.bias", words, 0)]


MAKERS = {"resnet50": resnet50, "bert-large": bert_large, "lstm": lstm}


def path(name):
    return os.path.join(HERE, "layers-%s.tsv" % name)


def text(name):
    tensors = MAKERS[name]()
    head = "# %s. %d tensors, %d floats, %d multiply-adds; sim/layers.py\n# name floats multiply-adds; SPDX-License-Identifier: BSD-3-Clause\n"
    lines = ["%s\t%d\t%d\n" % t for t in tensors]
    real = sum(1 for t in tensors if t.floats)
    return head % (SOURCES[name], real, sum(t.floats for t in tensors), sum(t.work for t in tensors)) + "".join(lines)


def read(name):
    with open(path(name)) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return [Tensor(r[0], int(r[1]), int(r[2])) for r in rows]


def floats(name):
    return sum(t.floats for t in read(name))


def step(name, seconds, part=1.0):
    """(forward seconds, table of training.c) of a step that takes one rank this time. Tensors are ready in the order of the
    backward pass. part: of the floats that a gradient has, as 0.5 for 16 bits."""
    tensors = read(name)
    rate = 2 / 3 * seconds / sum(t.work for t in tensors)
    lines = ["%d %.9f\n" % (round(part * t.floats), rate * t.work) for t in reversed(tensors)]
    return seconds / 3, "".join(lines)


if __name__ == "__main__":
    for each in MAKERS:
        with open(path(each), "w") as out:
            out.write(text(each))
