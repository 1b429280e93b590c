# leaf-spine.profile - made of `tutti info --network leaf-spine -n 9600` by make pages; docs/scale.md says how to use it. SPDX-License-Identifier: BSD-3-Clause
# TUTTI_TOPO='pod:5 leaf:40 node:48', 9600 ranks
# Ethernet in racks: leaves of 48 hosts, 2:1 oversubscribed, and six spines; TCP.
#   25 Gbit/s   stated: a rate of Ethernet (IEEE 802.3by).
#   100 Gbit/s  stated: a rate of Ethernet (IEEE 802.3bj).
#   48 hosts    assumed: a leaf has 48 ports of 25 Gbit/s, and 6 uplinks of 100 Gbit/s with half that rate in total.
#   144 links   assumed, of a pod: six spines of 64 ports hold 64 leaves; beyond 3072 hosts 40 leaves are a pod, and
#               the spines' other 24 ports lead up, 5:3 oversubscribed once more.
#   500 ns      assumed, of a link with its share of switches.
#   12 us       assumed, of TCP, the system and adapters at both ends.
gamma = 0.05ns
beta = 25Gbit/s
node.alpha = 13000ns
leaf.alpha = 14000ns
leaf.beta = 100Gbit/s
leaf.paths = 6
pod.alpha = 15000ns
pod.beta = 100Gbit/s
pod.paths = 144
