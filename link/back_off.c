#include "back_off.h"

#include <stdbool.h>

#define LONG_AGO 600000 /* milliseconds */

uint64_t doubled(uint64_t pause, uint32_t times, uint64_t most)
{
    pause <<= times < 12 ? times : 12;
    return pause < most ? pause : most;
}

void back_off_next(struct back_off *back_off, uint64_t now, uint64_t first, uint64_t last)
{
    bool long_ago = now > back_off->at + LONG_AGO;
    back_off->pause = long_ago || !back_off->pause ? first : doubled(back_off->pause, 1, last);
    back_off->at = now + back_off->pause;
}
