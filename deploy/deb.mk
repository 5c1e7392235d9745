# The Debian package: built, looked at, and tried in a scratch root.

.PHONY: deb deb-check
deb: deps-deb ## build the Debian package, in build/deb
	@sh deploy/deb/build.sh
deb-check: deb ## install, upgrade and purge the package in a scratch root
	lintian --allow-root --fail-on error,warning,info,pedantic build/deb/*.changes
	/usr/bin/python3 deploy/check_deb.py
