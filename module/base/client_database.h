/*
 * Keeps clients in their database where the server does not.
 *
 * From 8.1 on, Valkey calls a module about an event with the client that caused it, switched to the database of the
 * event. Releases before the middle of 2026 do not switch it back (pull request 4024 of valkey-io/valkey). So after
 * MOVE and COPY ... DB the client goes on in the other database. The client may be the primary of a replica, whose next
 * changes would then go there. DEBUG RELOAD leaves it in the database of the last key that is loaded. A module cannot
 * ask for the database from before; here it is found out.
 *
 * MOVE sends `move_from` in the database of the client first. COPY sends `copy_to` alone: the database is the one that
 * the client has when the command filter sees its COPY, EXEC or script. It is not known if a transaction has more than
 * one SELECT or a script has any, and while the server loads an AOF, which commands reach without the filter. Then the
 * client is left where the server leaves it.
 */
#ifndef MODULE_BASE_CLIENT_DATABASE_H
#define MODULE_BASE_CLIENT_DATABASE_H

#include "server.h"

/* From the command filter. */
void client_database_note_command(RedisModuleCommandFilterCtx *filter, const RedisModuleString *name);
/* At the end of an event. */
void client_database_restore(RedisModuleCtx *ctx, const char *event);

#endif
