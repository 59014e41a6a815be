/*
 * Fences and exclusion over nodes that remember. By default nothing is assumed about time: a lock key may end at any
 * moment, even the one after it was set. With TIMED a key outlives the validity of the attempt that planted it.
 */
#define MAY_GRANT(n) true
#include "lock.pml"

init {
    byte a, b;

    atomic {
        start();
        a = 0; b = 0
    }
}
