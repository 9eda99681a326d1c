/* tavernd: the application server. Everything is in master.c, worker.c and the application (api/app.c). */
#include "master.h"

int
main(int argc, char **argv)
{
	return master_main(argc, argv);
}
