# Units, sysusers.d, tmpfiles.d and nginx's files, with the installation's directories filled in.
unit_DATA = systemd/tavernd.service systemd/tavern-jobd.service systemd/tavern-eventd.service systemd/tavern-eventd.socket systemd/tavernd.socket systemd/tavernd-migrate.service
sysusers_DATA = systemd/sysusers/tavernd.conf
tmpfiles_DATA = systemd/tmpfiles/tavernd.conf
confdir = $(sysconfdir)/tavernd
conf_DATA += nginx/nginx-routes.conf
nginxsitedir = $(pkgdatadir)/nginx
nginxsite_DATA = nginx/site/tavernd.conf
CLEANFILES += $(unit_DATA) $(sysusers_DATA) $(tmpfiles_DATA) $(conf_DATA) $(nginxsite_DATA)

fill_in = $(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|@bindir[@]|$(bindir)|g' -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	-e 's|@docdir[@]|$(docdir)|g' -e 's|@webdir[@]|$(pkgdatadir)/web|g'
systemd/tavernd.service: systemd/tavernd.service.in Makefile
	$(fill_in) $(srcdir)/systemd/tavernd.service.in >$@
systemd/tavern-jobd.service: systemd/tavern-jobd.service.in Makefile
	$(fill_in) $(srcdir)/systemd/tavern-jobd.service.in >$@
systemd/tavern-eventd.service: systemd/tavern-eventd.service.in Makefile
	$(fill_in) $(srcdir)/systemd/tavern-eventd.service.in >$@
systemd/tavern-eventd.socket: systemd/tavern-eventd.socket.in Makefile
	$(fill_in) $(srcdir)/systemd/tavern-eventd.socket.in >$@
systemd/tavernd.socket: systemd/tavernd.socket.in Makefile
	$(fill_in) $(srcdir)/systemd/tavernd.socket.in >$@
systemd/tavernd-migrate.service: systemd/tavernd-migrate.service.in Makefile
	$(fill_in) $(srcdir)/systemd/tavernd-migrate.service.in >$@
systemd/sysusers/tavernd.conf: systemd/tavernd.sysusers Makefile
	$(fill_in) $(srcdir)/systemd/tavernd.sysusers >$@
systemd/tmpfiles/tavernd.conf: systemd/tavernd.tmpfiles Makefile
	$(fill_in) $(srcdir)/systemd/tavernd.tmpfiles >$@
nginx/nginx-routes.conf: nginx/routes.conf Makefile
	$(fill_in) $(srcdir)/nginx/routes.conf >$@
nginx/site/tavernd.conf: nginx/tavernd.conf Makefile
	$(fill_in) $(srcdir)/nginx/tavernd.conf >$@
