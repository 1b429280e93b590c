# research.mk - questions behind the design (research/README.md). SPDX-License-Identifier: BSD-3-Clause
#   make search LIMIT=60     searches better schedules on few ranks, and proofs that none exist (research/search.py)
#   make bench-entropy       a lower bound for the size of losslessly compressed gradients
#   make build/research/lines    times small sums of two ranks, for different layouts of data and flag in cache lines

# Schedules on few ranks: at most LIMIT seconds for each number of RANKS ("5 6") and rounds. Each schedule that is found, or
# that is in src/algo/algo_searched.def, is written out and proven.
search: all
	@tools/deps.sh search
	@$(PYTHON) research/search.py --limit $(or $(LIMIT),60) $(if $(RANKS),--ranks $(RANKS)) --out $(BUILD)/search
	@for f in $(BUILD)/search/*.txt; do $(BUILD)/tutti plan check $$f >$(BUILD)/search/verdict || { cat $(BUILD)/search/verdict; exit 1; }; done
# Also for a code that knows the previous step.
bench-entropy: bench-gradients
	@$(PYTHON) bench/gradients.py --dump $(BUILD)/gradients/before --after 99
	@for net in demo conv; do $(PYTHON) research/entropy.py $(BUILD)/gradients/$$net.f32 $(BUILD)/gradients/before/$$net.f32; done
$(BUILD)/research/lines: research/lines.c mk/research.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(BASE) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $< $(LDLIBS) -o $@
.PHONY: search bench-entropy
