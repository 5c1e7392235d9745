# Line-by-line programs of the budget and frontier suites.

BUDGET_TOOLS := $(B)/tests/budget/knapsack_lines $(B)/tests/budget/flops_lines \
  $(B)/tests/frontier/frontier_lines
tests: $(BUDGET_TOOLS)

$(B)/tests/budget/knapsack_lines.o: tests/budget/knapsack_lines.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(CORE_INC) $(call pkgcfg,--cflags,$(PKGS)) $(CFLAGS) -MMD -MP -c -o $@ $<
$(BUDGET_TOOLS): %: %.o $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS))
