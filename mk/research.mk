# research.mk - questions behind the design (research/README.md). SPDX-License-Identifier: BSD-3-Clause
#   make search LIMIT=60     looks for better schedules on few ranks, and for proofs that there are none (research/search.py)
#   make bench-entropy       how few bits a code without loss can leave of gradients
#   make build/research/lines    what a small sum of two ranks costs, by how data and flag lie in cache lines

# Schedules on few ranks: LIMIT seconds for each number of RANKS ("5 6") and rounds, or less. Each that is found, from
# src/algo/algo_searched.def too, is written out and proven.
search: all
	@tools/deps.sh search
	@$(PYTHON) research/search.py --limit $(or $(LIMIT),60) $(if $(RANKS),--ranks $(RANKS)) --out $(BUILD)/search
	@for f in $(BUILD)/search/*.txt; do $(BUILD)/tutti plan check $$f >$(BUILD)/search/verdict || { cat $(BUILD)/search/verdict; exit 1; }; done
# Also of a code that knows the step before.
bench-entropy: bench-gradients
	@$(PYTHON) bench/gradients.py --dump $(BUILD)/gradients/before --after 99
	@for net in demo conv; do $(PYTHON) research/entropy.py $(BUILD)/gradients/$$net.f32 $(BUILD)/gradients/before/$$net.f32; done
$(BUILD)/research/lines: research/lines.c mk/research.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@
.PHONY: search bench-entropy
