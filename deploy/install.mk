# make install: programs, manual pages, completion, documents, the systemd unit
# and its user, under DESTDIR and PREFIX; the configuration under SYSCONFDIR,
# unless there is one already.

SYSCONFDIR  := /etc
BINDIR      := $(PREFIX)/bin
MANDIR      := $(PREFIX)/share/man
DOCDIR      := $(PREFIX)/share/doc/rematd
UNITDIR     := $(PREFIX)/lib/systemd/system
SYSUSERSDIR := $(PREFIX)/lib/sysusers.d
BASHDIR     := $(PREFIX)/share/bash-completion/completions
ZSHDIR      := $(PREFIX)/share/zsh/site-functions
FISHDIR     := $(PREFIX)/share/fish/vendor_completions.d
CONFDIR     := $(SYSCONFDIR)/rematd
DOCS        := README.md ARCHITECTURE.md CHANGELOG.md LICENSE deploy/runbook.md
MONITORING  := deploy/prometheus/rematd.rules.yml deploy/grafana/rematd.json
MAN_PAGES   := build/man/rematd.8 build/man/remat.1 build/man/rematd.conf.5

install_paths = sed 's|@BINDIR@|$(BINDIR)|g; s|@DOCDIR@|$(DOCDIR)|g; \
  s|@SYSCONFDIR@|$(SYSCONFDIR)|g'

# The pages list the settings that the program itself lists.
.PHONY: man
man: $(MAN_PAGES) ## build the manual pages, in build/man
build/man/rematd.8: man_form = flags
build/man/rematd.conf.5: man_form = keys
build/man/rematd.%: deploy/man/rematd.%.in deploy/man/settings.awk build/rematd
	@mkdir -p $(@D)
	build/rematd --help >$@.help
	awk -v form=$(man_form) -f deploy/man/settings.awk $< $@.help >$@.part
	@rm $@.help
	@mv $@.part $@
build/man/remat.1: deploy/man/remat.1
	@mkdir -p $(@D)
	cp $< $@

# What uninstall removes: everything but a configuration that was changed.
INSTALLED = $(BINDIR)/rematd $(BINDIR)/remat $(UNITDIR)/rematd.service \
  $(SYSUSERSDIR)/rematd.conf $(BASHDIR)/rematd $(BASHDIR)/remat \
  $(ZSHDIR)/_rematd $(FISHDIR)/rematd.fish $(FISHDIR)/remat.fish \
  $(foreach page,$(notdir $(MAN_PAGES)),$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(page)) \
  $(addprefix $(DOCDIR)/,$(notdir $(DOCS) $(MONITORING)) rematd.conf)

.PHONY: install uninstall
install: build/rematd build/remat $(MAN_PAGES) ## install under DESTDIR and PREFIX
	install -d $(addprefix "$(DESTDIR)",$(sort $(dir $(INSTALLED))) $(CONFDIR))
	install -m 755 build/rematd build/remat "$(DESTDIR)$(BINDIR)"
	install -m 644 $(DOCS) $(MONITORING) deploy/rematd.conf "$(DESTDIR)$(DOCDIR)"
	set -e; for page in $(MAN_PAGES); do \
	  $(install_paths) $$page >"$(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/}"; \
	done
	install -m 644 deploy/completion/rematd.bash "$(DESTDIR)$(BASHDIR)/rematd"
	ln -sf rematd "$(DESTDIR)$(BASHDIR)/remat"
	install -m 644 deploy/completion/_rematd "$(DESTDIR)$(ZSHDIR)"
	install -m 644 deploy/completion/rematd.fish "$(DESTDIR)$(FISHDIR)"
	ln -sf rematd.fish "$(DESTDIR)$(FISHDIR)/remat.fish"
	install -m 644 deploy/systemd/rematd.sysusers \
	  "$(DESTDIR)$(SYSUSERSDIR)/rematd.conf"
	$(install_paths) deploy/systemd/rematd.service \
	  >"$(DESTDIR)$(UNITDIR)/rematd.service"
	chmod 644 "$(DESTDIR)$(UNITDIR)/rematd.service" "$(DESTDIR)$(MANDIR)"/man?/remat*
	[ -e "$(DESTDIR)$(CONFDIR)/rematd.conf" ] || \
	  install -m 644 deploy/rematd.conf "$(DESTDIR)$(CONFDIR)"
uninstall: ## remove what install put there, but no changed configuration
	if cmp -s deploy/rematd.conf "$(DESTDIR)$(CONFDIR)/rematd.conf"; then \
	  rm -f "$(DESTDIR)$(CONFDIR)/rematd.conf"; fi
	rm -f $(addprefix "$(DESTDIR)",$(INSTALLED))
	-rmdir "$(DESTDIR)$(DOCDIR)" "$(DESTDIR)$(CONFDIR)"
