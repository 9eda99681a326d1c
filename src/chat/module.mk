noinst_LIBRARIES += libchat.a
libchat_a_SOURCES = src/chat/batch.c src/chat/chat.h src/chat/chat_private.h src/chat/export.c src/chat/import.c src/chat/plan.c
EXTRA_DIST += src/chat/README.md
