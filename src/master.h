/*
 * master: the parent of the workers. It holds the listen sockets, so a web server finds them open
 * whatever happens to a worker; it starts, replaces and stops workers; it stays single-threaded and
 * opens neither database nor network, so that fork is safe.
 */
#ifndef MASTER_H
#define MASTER_H

/*
 * The whole program: `tavernd [-t] [-p] -c FILE [-o KEY=VALUE]…`. Exit status: 0, 1 = failed, 2 = usage or
 * faulty settings.
 */
int master_main(int argc, char **argv);

#endif
