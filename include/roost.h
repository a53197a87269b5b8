/* Roost: mergeable Bloom and cuckoo filters (CRDTs). This header includes all others. */
#ifndef ROOST_H
#define ROOST_H

#include "roost/status.h"
#include "roost/types.h"
#include "roost/version.h"
#include "roost/filter.h"
#include "roost/file.h"
#include "roost/gossip.h"
#include "roost/imported.h"
#include "roost/multiset.h"
#include "roost/shared.h"
#include "roost/incremental.h"
#include "roost/sync.h"
#include "roost/reconcile.h"
#include "roost/window.h"

#endif
