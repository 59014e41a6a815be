/* Fence order and exclusion over nodes that remember. */
#ifndef MAY_GRANT
#define MAY_GRANT(n) true
#endif
#include "lock.pml"

init {
    byte a, b;

    atomic {
        start();
        a = 0; b = 0
    }
}
