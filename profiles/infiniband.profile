# infiniband.profile - made of `tutti info --network infiniband -n 10240` by make pages; docs/scale.md says how to use it. SPDX-License-Identifier: BSD-3-Clause
# TUTTI_TOPO='pod:10 leaf:32 node:32', 10240 ranks
# InfiniBand NDR: a fat tree of switches with 64 ports, as many links up as nodes below.
#   400 Gbit/s  stated: a port of NVIDIA's Quantum-2 switch QM9700, which has 64 of them.
#   32 nodes    half of a leaf's ports, so that nothing is oversubscribed; 64 such leaves are 2048 nodes.
#   1024 links  of a pod: beyond 2048 nodes 32 leaves are a pod, which has a link up for each of its nodes;
#               beyond 64 pods the core needs switches with more ports, or another tier.
#   230 ns      assumed, of a link with its share of switches; resellers state 150 to 330 ns for a QM9700.
#   900 ns      assumed, of software and adapters at both ends.
gamma = 0.05ns
beta = 400Gbit/s
node.alpha = 1360ns
leaf.alpha = 1820ns
leaf.beta = 400Gbit/s
leaf.paths = 32
pod.alpha = 2280ns
pod.beta = 400Gbit/s
pod.paths = 1024
