noinst_LIBRARIES += libjob.a
libjob_a_SOURCES = src/job/job.h src/job/kinds.c src/job/kinds.h src/job/queue.c src/job/runner.c src/job/runner.h src/job/sweep.c src/job/sweep.h \
	src/job/transfer.c src/job/transfer.h src/job/words.c src/job/words.h
EXTRA_DIST += src/job/README.md

sbin_PROGRAMS += tavern-jobd
tavern_jobd_SOURCES = src/tavern-jobd.c
tavern_jobd_LDADD = libjob.a libchat.a libdaemon.a libturn.a libevent.a libprompt.a libcard.a liblore.a libregex.a libmacro.a libtoken.a libllm.a libpeer.a libstream.a libloop.a \
	libstore.a $(DB_LIBS) $(CURL_LIBS) $(PCRE2_LIBS) $(ARCHIVE_LIBS) $(Z_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/job_runner.t tests/unit/job_backoff.t
tests_unit_job_runner_t_SOURCES = tests/unit/job_runner.c $(PG_TEST)
tests_unit_job_runner_t_LDADD = libjob.a $(DB_LIBS) $(CMOCKA_LIBS)
tests_unit_job_backoff_t_SOURCES = tests/unit/job_backoff.c
tests_unit_job_backoff_t_LDADD = libjob.a $(DB_LIBS) $(CMOCKA_LIBS)
endif
