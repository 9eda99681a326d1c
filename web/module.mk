# The page /docs. Its viewer is a pinned npm package, fetched into the build tree by `make viewer`; without it the
# page is a plain one.
web_page = web/docs/index.html web/docs/docs.css web/docs/docs.js
web_npm = web/package.json web/package-lock.json web/.npmrc
web_viewer = swagger-ui-bundle.js swagger-ui.css LICENSE NOTICE

viewer: web/viewer.stamp
web/viewer.stamp: $(web_npm)
	$(AM_V_GEN)$(MKDIR_P) web && for f in $(web_npm); do cp $(srcdir)/$$f web/ || exit 1; done
	$(AM_V_at)cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
	$(AM_V_at)touch $@

install-web:
	$(AM_V_at)$(MKDIR_P) '$(DESTDIR)$(pkgdatadir)/web/docs'
	$(AM_V_at)for f in $(web_page); do $(INSTALL_DATA) $(srcdir)/$$f '$(DESTDIR)$(pkgdatadir)/web/docs' || exit 1; done
	$(AM_V_at)if test -f web/viewer.stamp; then \
		cd web/node_modules/swagger-ui-dist && $(INSTALL_DATA) $(web_viewer) '$(DESTDIR)$(pkgdatadir)/web/docs'; fi
uninstall-web:
	rm -rf '$(DESTDIR)$(pkgdatadir)/web'
INSTALL_HOOKS += install-web
UNINSTALL_HOOKS += uninstall-web
.PHONY: viewer install-web uninstall-web
clean-web:
	rm -rf web/node_modules web/viewer.stamp
CLEAN_HOOKS += clean-web
