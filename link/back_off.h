/* Pauses that double. */
#ifndef LINK_BACK_OFF_H
#define LINK_BACK_OFF_H

#include <stdint.h>

/* Something that is done not before a time, and less and less often. All zero: at once. */
struct back_off {
    uint64_t at, pause;
};

/* The next time: after `first`, then twice as much, up to `last`. Begins with `first` again if the last pause ended
   more than ten minutes ago. */
void back_off_next(struct back_off *back_off, uint64_t now, uint64_t first, uint64_t last);

/* A pause doubled so many times, but at most 12 times and at most `most`. */
uint64_t doubled(uint64_t pause, uint32_t times, uint64_t most);

#endif
