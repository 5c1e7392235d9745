# The line-by-line program of the memory suites.

MEMORY_TOOLS := $(B)/tests/memory/memory_lines
tests: $(MEMORY_TOOLS)

$(MEMORY_TOOLS): %: %.o $(B)/libproto.a $(B)/libremat.a
	$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(call pkgcfg,--libs,$(PKGS))
