#include "entropy.h"

#include <unistd.h>

static bool draw_from_system(void *context, void *bytes, size_t size)
{
    (void)context;
    return getentropy(bytes, size) == 0;
}

roost_entropy entropy_or_default(roost_entropy entropy)
{
    return entropy.draw ? entropy : (roost_entropy){.draw = draw_from_system};
}

/* A source that keeps returning 0 is broken. */
bool entropy_number(const roost_entropy *entropy, uint64_t *number)
{
    *number = 0;
    for (int attempt = 0; attempt < 8 && *number == 0; attempt++)
        if (!entropy->draw(entropy->context, number, sizeof *number))
            return false;
    return *number != 0;
}
