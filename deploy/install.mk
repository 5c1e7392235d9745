# make install: programs, documents and the systemd unit, under DESTDIR and
# PREFIX. Installs nothing into the system's configuration.

BINDIR  := $(PREFIX)/bin
DOCDIR  := $(PREFIX)/share/doc/rematd
UNITDIR := $(PREFIX)/lib/systemd/system
DOCS    := README.md ARCHITECTURE.md CHANGELOG.md LICENSE

.PHONY: install uninstall
install: build/rematd build/remat ## install under DESTDIR and PREFIX
	install -d "$(DESTDIR)$(BINDIR)" "$(DESTDIR)$(DOCDIR)" \
	  "$(DESTDIR)$(UNITDIR)"
	install -m 755 build/rematd build/remat "$(DESTDIR)$(BINDIR)"
	install -m 644 $(DOCS) "$(DESTDIR)$(DOCDIR)"
	sed 's|@BINDIR@|$(BINDIR)|; s|@DOCDIR@|$(DOCDIR)|' deploy/rematd.service \
	  >"$(DESTDIR)$(UNITDIR)/rematd.service"
	chmod 644 "$(DESTDIR)$(UNITDIR)/rematd.service"
uninstall: ## remove what install put there
	rm -f "$(DESTDIR)$(BINDIR)/rematd" "$(DESTDIR)$(BINDIR)/remat" \
	  $(patsubst %,"$(DESTDIR)$(DOCDIR)/%",$(DOCS)) \
	  "$(DESTDIR)$(UNITDIR)/rematd.service"
	-rmdir "$(DESTDIR)$(DOCDIR)"
