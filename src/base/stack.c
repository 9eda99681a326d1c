#include "base/stack.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRIM 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRIM 0
#endif
#endif
#ifndef TRIM
#define TRIM 1
#endif

#define OWN_FRAME 512 /* bytes below its caller's frame that stack_trim needs itself, and more */

/* The lowest address of the calling thread's stack; NULL where it is not known. */
static char *
stack_low(void)
{
	static _Thread_local char *low;
	pthread_attr_t attr;
	void *at;
	size_t size;

	if (low || gettid() == getpid() || pthread_getattr_np(pthread_self(), &attr) != 0)
		return low;
	if (pthread_attr_getstack(&attr, &at, &size) == 0)
		low = at;
	pthread_attr_destroy(&attr);
	return low;
}

__attribute__((noinline)) void
stack_trim(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	char *low = TRIM ? stack_low() : NULL;
	char *here = __builtin_frame_address(0);
	uintptr_t end = ((uintptr_t)here - OWN_FRAME) & ~(page - 1);

	if (low && end > (uintptr_t)low)
		madvise(low, end - (uintptr_t)low, MADV_DONTNEED);
}
