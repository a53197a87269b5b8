/* Metrics of a link for Prometheus: http://127.0.0.1:PORT/metrics */
#ifndef LINK_METRICS_H
#define LINK_METRICS_H

#include "engine_state.h"

struct metrics;

/* NULL, with a message, if it cannot listen on the port. */
struct metrics *metrics_open(struct engine *engine, uint16_t port);
void metrics_close(struct metrics *metrics); /* NULL is fine */

#endif
