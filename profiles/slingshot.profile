# slingshot.profile - made of `tutti info --network slingshot -n 10240` by make pages; docs/scale.md says how to use it. SPDX-License-Identifier: BSD-3-Clause
# TUTTI_TOPO='group:20 router:32 node:16', 10240 ranks
# HPE Slingshot: a dragonfly of switches with 64 ports.
# Sources: alcf.anl.gov/support-center/aurora/interconnect, glennklockwood.com/garden/slingshot.
#   200 Gbit/s  stated: a port of a Rosetta switch, which has 64 of them.
#   32 x 16     stated: switches of a group, and nodes of a switch; of its other ports 31 lead into the group, 17 out.
#   544 links   32 x 17: all links of a group to others, spread evenly; stated: 545 groups at most.
#   350 ns      assumed, of a link with its share of switches.
#   1 us        assumed, of software and adapters at both ends.
# Routes are minimal here; the machine's adapt to the load.
gamma = 0.05ns
beta = 200Gbit/s
node.alpha = 1700ns
router.alpha = 2050ns
group.alpha = 2750ns
router.pairs = 1
router.beta = 200Gbit/s
group.pairs = 1
group.beta = 5600Gbit/s
