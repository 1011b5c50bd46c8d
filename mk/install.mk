# make install, uninstall and deb: what leaves this folder.  docs/design/package.md has the reasons.

LIBDIR ?= $(PREFIX)/lib
# Debian's zsh looks for packages' functions in vendor-completions
ZSH_FUNCTIONS ?= site-functions
SHARE = $(DESTDIR)$(PREFIX)/share
MAN1 := $(wildcard docs/man/*.1)
MAN3 := $(wildcard docs/man/*.3)
HEADERS := $(wildcard include/anyperf/*.h)
DOCS := README.md CHANGELOG.md SECURITY.md LICENSE $(wildcard docs/*.md)

# from cmake's folder to the prefix: as many steps as LIBDIR has folders below it, and two
UP = $(subst $() ,/,$(patsubst %,..,$(subst /, ,$(patsubst $(PREFIX)/%,%,$(LIBDIR))) . .))
# fill FILE FOLDER: a template, with the names of this installation
define fill
	@mkdir -p $(DESTDIR)$(2)
	$(Q)sed -e 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),; s,@UP@,$(UP),' \
		packaging/$(1).in >$(DESTDIR)$(2)/$(1)
	@chmod 644 $(DESTDIR)$(2)/$(1)
endef

.PHONY: install uninstall deb
install: all $(COMPLETIONS)
	install -D -m 755 $(ANYPERF) $(DESTDIR)$(PREFIX)/bin/anyperf
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(LIBANYPERF)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include/anyperf $(HEADERS)
	install -D -m 644 -t $(SHARE)/man/man1 $(MAN1)
	install -D -m 644 -t $(SHARE)/man/man3 $(MAN3)
	install -D -m 644 -t $(SHARE)/doc/anyperf $(DOCS)
	install -D -m 644 $(B)/completions/anyperf.bash $(SHARE)/bash-completion/completions/anyperf
	install -D -m 644 $(B)/completions/anyperf.zsh $(SHARE)/zsh/$(ZSH_FUNCTIONS)/_anyperf
	install -D -m 644 -t $(SHARE)/fish/vendor_completions.d $(B)/completions/anyperf.fish
	$(call fill,anyperf.pc,$(LIBDIR)/pkgconfig)
	$(call fill,anyperf-config.cmake,$(LIBDIR)/cmake/anyperf)
	$(call fill,anyperf-config-version.cmake,$(LIBDIR)/cmake/anyperf)
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/anyperf
	rm -f $(DESTDIR)$(LIBDIR)/$(notdir $(LIBANYPERF)) $(DESTDIR)$(LIBDIR)/pkgconfig/anyperf.pc
	rm -rf $(DESTDIR)$(LIBDIR)/cmake/anyperf $(DESTDIR)$(PREFIX)/include/anyperf
	rm -f $(addprefix $(SHARE)/man/man1/,$(notdir $(MAN1)))
	rm -f $(addprefix $(SHARE)/man/man3/,$(notdir $(MAN3)))
	rm -f $(SHARE)/bash-completion/completions/anyperf $(SHARE)/zsh/$(ZSH_FUNCTIONS)/_anyperf
	rm -f $(SHARE)/fish/vendor_completions.d/anyperf.fish
	rm -rf $(SHARE)/doc/anyperf

# Packages of Debian, in the folder above, where dpkg-buildpackage leaves them.
.PHONY: deps-deb
deps-deb:
	@tools/deps.sh install $(PKG_BUILD) $(PKG_DEB)
deb: deps-deb
	dpkg-buildpackage -us -uc -b
