/* Hears what the primaries of a region hold, by waiting commands: nothing is asked where nothing changes. */
#ifndef LINK_LISTEN_H
#define LINK_LISTEN_H

#include "region.h"

/* A primary came, or went; listener_start gives NULL without memory. */
struct listener *listener_start(struct region *region, struct node *node);
void listener_stop(struct listener *listener);

/* Everything from the beginning, by all primaries, in a new listing. */
void region_relist(struct region *region);
void region_forget_change_cursors(struct region *region);

#endif
