/* The version of the library: of these headers, and of the library that is linked. */
#ifndef ROOST_VERSION_H
#define ROOST_VERSION_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers is MAJOR.MINOR.PATCH; docs/api.md says which changes raise which number. */
#define ROOST_VERSION_MAJOR 0
/* The second number of the version. */
#define ROOST_VERSION_MINOR 2
/* The third number of the version. */
#define ROOST_VERSION_PATCH 0

/* The version as one number that grows with every version, for comparisons by the preprocessor. */
#define ROOST_VERSION_NUMBER (ROOST_VERSION_MAJOR * 10000 + ROOST_VERSION_MINOR * 100 + ROOST_VERSION_PATCH)

/* Returns the version of the library that is running, as "MAJOR.MINOR.PATCH": a constant that is never freed. */
ROOST_API const char *roost_version(void);

#ifdef __cplusplus
}
#endif
#endif
