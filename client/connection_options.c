/* Whoever names certificates expects that the connection is encrypted, so they are not ignored where it is not. */
#include "connection_options.h"

#include <stddef.h>

#include "cli/base/messages.h"

bool connection_options_are_valid(const struct connection_options *options, bool tls)
{
    const char *given = options->ca_file            ? "--cacert"
                        : options->certificate_file ? "--cert"
                        : options->key_file         ? "--key"
                        : options->insecure         ? "--insecure"
                                                    : NULL;
    if (given && !tls)
        return complain(given, "only for servers with rediss://, whose connections are encrypted");
    if (options->key_file && !options->certificate_file)
        return complain("--key", "needs --cert, the certificate that it belongs to");
    return true;
}
