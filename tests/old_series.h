/* Cuckoo filters that grow were series of tables once. What was written then is read; here it is made. */
#ifndef TESTS_OLD_SERIES_H
#define TESTS_OLD_SERIES_H

#include "filter/configuration.h"
#include "filter/kind.h"

static inline roost_status old_series_new(roost_filter **filter, const roost_config *config,
                                          const roost_environment *given)
{
    const struct filter_kind *kind = config->kind == ROOST_CUCKOO     ? &series_gcuckoo_kind
                                     : config->kind == ROOST_ORCUCKOO ? &series_orcuckoo_kind
                                                                      : &series_bloom_kind;
    roost_config resolved = *config;
    roost_environment environment = environment_or_default(given);
    *filter = NULL;
    roost_status status = kind->lifecycle.resolve(&resolved);
    return status == ROOST_OK ? kind->lifecycle.open(filter, &resolved, &environment, NULL) : status;
}

#endif
