/*
 * stack: the memory of a thread's stack.
 */
#ifndef BASE_STACK_H
#define BASE_STACK_H

/*
 * For a thread that is about to sleep for seconds: gives the pages of its stack below the caller's frame back to the system, which its
 * deepest call has touched once and which nobody reads any more. Costs a system call, and a page fault for each page when the thread goes
 * on. Any thread but the first of a process, whose stack grows by itself; there, and under sanitizers, nothing happens.
 */
void stack_trim(void);

#endif
