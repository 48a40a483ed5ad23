// A probe without a semaphore: any number of tracers may look at it at once, also
// those that raise semaphores in different ways.
#include <sys/sdt.h>

void value_fire(int small, unsigned long large) { STAP_PROBE2(seed, value, small, large); }
