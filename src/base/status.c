#include "roost/status.h"
#include "roost/version.h"

static const char *const texts[] = {
    [ROOST_OK] = "fine",
    [ROOST_INVALID] = "invalid argument or configuration",
    [ROOST_NO_MEMORY] = "out of memory",
    [ROOST_TOO_LARGE] = "larger than the memory limit",
    [ROOST_FULL] = "the filter is full",
    [ROOST_MISMATCH] = "the filters have different configurations",
    [ROOST_UNSUPPORTED] = "not supported by this kind of filter",
    [ROOST_NOT_FRAME] = "not a Roost filter",
    [ROOST_UNSUPPORTED_VERSION] = "made by a later version of Roost",
    [ROOST_TRUNCATED] = "truncated",
    [ROOST_CORRUPT] = "corrupt",
    [ROOST_EXHAUSTED] = "no actor left for one more addition",
    [ROOST_PROTOCOL] = "the peer does not speak this version of the sync protocol",
    [ROOST_CLOCK] = "the time is out of the window, or too far ahead",
    [ROOST_OVERFLOW] = "out of the range of 64 bits",
    [ROOST_SYSTEM] = "the operating system refused it",
    [ROOST_BUSY] = "locked by another process",
    [ROOST_INTERRUPTED] = "interrupted",
};

const char *roost_status_text(roost_status status)
{
    unsigned index = (unsigned)status;
    return index < sizeof texts / sizeof *texts && texts[index] ? texts[index] : "unknown status";
}

#define TEXT_OF(number)             #number
#define DOTTED(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *roost_version(void)
{
    return DOTTED(ROOST_VERSION_MAJOR, ROOST_VERSION_MINOR, ROOST_VERSION_PATCH);
}
