# Stand-ins and load tools of the tests and of bench/: a mock model server, a client of many streams.
# Built on demand: `make test-tools`. They are programs for one purpose on one machine, and keep the sign
# conversions that the product must not have.
test_tools = tests/tools/mockllm tests/tools/sseload
EXTRA_PROGRAMS += $(test_tools)
tests_tools_mockllm_CFLAGS = $(SAFE_CFLAGS) -Wall -Wextra -O2
tests_tools_sseload_CFLAGS = $(SAFE_CFLAGS) -Wall -Wextra -O2
test-tools: $(test_tools)
.PHONY: test-tools
