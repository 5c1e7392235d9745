# make bench: one table of measurements, side by side (tests/bench).

BENCH_C   := bench_main bench_flow chain
BENCH_OBJ := $(BENCH_C:%=$(B)/tests/bench/%.o) $(B)/tests/bench/peer.o
CXX       ?= g++

.PHONY: bench
bench: deps-bench ## measure flow against Boost, and where the time goes
	@$(MAKE) --no-print-directory -s VARIANT=release all \
	  build/release/tests/bench/bench build/release/tests/bench/static_http
	@/usr/bin/python3 tests/bench/run.py
	@/usr/bin/python3 tests/bench/cached.py

$(B)/tests/bench/%.o: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(CORE_INC) -Iproto/include -Itests/bench $(CFLAGS) -MMD -MP -c -o $@ $<
# The peer gets the same optimisation, and none of our warnings in its headers.
$(B)/tests/bench/peer.o: tests/bench/peer.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++14 -g $(OPT) -DNDEBUG -fPIE -Wall -Wextra -Itests/bench -MMD -MP -c -o $@ $<
$(B)/tests/bench/bench: $(BENCH_OBJ) $(B)/libproto.a $(B)/libremat.a
	$(CXX) $(LINK) $(LDFLAGS) -Wl,--wrap=remat_residual_build -o $@ $^ $(call pkgcfg,--libs,$(PKGS)) -lpthread
$(B)/tests/bench/static_http: tests/bench/static_http.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(call pkgcfg,--cflags,libmicrohttpd) $(CFLAGS) $(LINK) $(LDFLAGS) -o $@ $< $(call pkgcfg,--libs,libmicrohttpd)
