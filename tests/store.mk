# The suites of the store that need more than their own file.

$(B)/tests/server/test_store_faults: $(B)/tests/server/faulty_vfs.o

KILLS ?= 1000
.PHONY: kill-loop
kill-loop: all ## kill -9 under load, 1,000 times and at every fail point; half an hour
	python3 tests/server/kill_loop.py --kills $(KILLS)
	python3 tests/server/kill_loop.py --points

# Preloaded by test_disk_full.py.
tests: $(B)/tests/server/disk_full.so
$(B)/tests/server/disk_full.so: tests/server/disk_full.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -O1 -g $(WARNINGS) -fPIC -shared -o $@ $< -ldl

# Its allocations, and the store's, go through the test.
$(B)/tests/server/test_store_memory: LDFLAGS += -Wl,--wrap=malloc \
  -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup
