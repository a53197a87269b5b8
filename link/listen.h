/* Receives what the primaries of a region hold, by commands that wait at the server until something changes. */
#ifndef LINK_LISTEN_H
#define LINK_LISTEN_H

#include "region.h"

/* A primary is up, or down; listener_start returns NULL without memory. */
struct listener *listener_start(struct region *region, struct node *node);
void listener_stop(struct listener *listener);

/* Begins a new listing of all keys of all primaries. */
void region_relist(struct region *region);
void region_forget_change_cursors(struct region *region);

#endif
