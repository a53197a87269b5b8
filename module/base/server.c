/* See server.h. */
#include "server.h"

struct newer_calls newer;

void find_newer_calls(void)
{
    newer = (struct newer_calls){0};
    RedisModule_GetApi("RedisModule_AddACLCategory", (void *)&newer.add_acl_category);
    RedisModule_GetApi("RedisModule_SetCommandACLCategories", (void *)&newer.set_command_acl_categories);
    RedisModule_GetApi("RedisModule_TryCalloc", (void *)&newer.try_calloc);
    RedisModule_GetApi("RedisModule_AddPostNotificationJob", (void *)&newer.add_post_notification_job);
    RedisModule_GetApi("ValkeyModule_ACLCheckPermissions", (void *)&newer.acl_check_permissions);
    RedisModule_GetApi("ValkeyModule_CommandFilterGetClientId", (void *)&newer.command_filter_client);
}
